#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints which commit the sources are from. `git archive`, and so `meson dist` and downloads from
# GitHub, put it into the given file in place of two formats; else this is a repository, or a copy
# of its files, perhaps inside the repository of another project. The number of digits is fixed, as
# git's own choice depends on how much of the history a clone has.
{ read -r commit; read -r description; } <"$1"
case $commit in
*Format*)
  cd "$(dirname "$0")" && [ "$(git rev-parse --show-prefix 2>/dev/null)" = src/base/ ] &&
    exec git describe --always --long --dirty --abbrev=12 --tags --match 'v*'
  exit 1
  ;;
esac
short=$(printf '%.12s' "$commit")
case $description in
*-g*) printf '%s\n' "$description" ;;
v*) printf '%s\n' "$description-0-g$short" ;;
*) printf '%s\n' "$short" ;;
esac
