#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Loads one model onto one, two and four GPUs, by bytes and as copies, and prints each rate with its
# ratio to the smaller limit of the same run: all links at once, or reads without copies.
# Usage: load_multi.sh BUILD OUT [FILE]
#   BUILD  folder of a build
#   OUT    gets a JSON log of each run
#   FILE   a model; without it one of SIZE is made in /dev/shm or the temporary folder
# DEVICES="cpu:0 cpu:1" takes these instead of all GPUs, SIZE=8GiB, REPEAT=5, READERS="0 24" too.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '3,9s/^# //p' "$0"; exit 2; }
build=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
tool=$build/src/cli/hiptool
bench=$build/tests/bench/multi_bench

"$tool" devices --format json > "$out/devices.json"
if [ -z "${DEVICES:-}" ]; then
  DEVICES=$(python3 -c '
import json, sys
print(*[device["id"] for device in json.load(sys.stdin)["devices"]
        if device["platform"] != "cpu"])' < "$out/devices.json")
fi
read -ra devices <<< "$DEVICES"
[ ${#devices[@]} -gt 0 ] || { echo "no GPU is here" >&2; exit 77; }

file=${3:-}
if [ -z "$file" ]; then
  folder=/dev/shm
  [ -w $folder ] || folder=${TMPDIR:-/tmp}
  file=$(mktemp -u -p "$folder" hiptool-multi-XXXXXX.gguf)
  trap 'rm -f "$file"' EXIT
  "$tool" make-model "$file" --size "${SIZE:-8GiB}" --tensor-count 300 --quiet
fi

show() {
  python3 - "$1" <<'EOF'
import json, sys
log = json.load(open(sys.argv[1], encoding="utf-8"))
load, links, reads = (log[name + "_bytes_per_s"]["median"] / 1e9
                      for name in ("load", "link_limit", "read_limit"))
ratio = log["ratio"]
print(f"{len(log['devices'])} {log['split']:9} verify {log['verify']:4} {log['readers']:3} readers"
      f"  load {load:6.1f} GB/s  links {links:6.1f}  reads {reads:6.1f}"
      f"  ratio {ratio['median']:.3f} ({min(ratio['each']):.3f} to {max(ratio['each']):.3f})")
EOF
}

for count in 1 2 4 8; do
  [ $count -le ${#devices[@]} ] || break
  ids=$(IFS=,; echo "${devices[*]:0:count}")
  for split in bytes replicate; do
    [ $count -gt 1 ] || [ $split = bytes ] || continue
    for verify in none full; do
      for readers in ${READERS:-0}; do
        log=$out/$count-$split-$verify-$readers.json
        "$bench" --split $split --verify $verify --readers "$readers" --repeat "${REPEAT:-5}" \
          ${OPTIONS:-} "$ids" "$file" > "$log"
        show "$log"
      done
    done
  done
done
