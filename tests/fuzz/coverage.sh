#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Prints how much of each file of src/model the seeds alone reach, and fails below 90 % of the
# parsers' lines. Needs clang 14 and its llvm-cov.
# Usage: coverage.sh BUILD_FOLDER [CORPUS]
#   BUILD_FOLDER  is set up when it is not there yet; CORPUS: else that beside this script
set -euo pipefail
[ $# -ge 1 ] || { sed -n '3,7s/^# //p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$1
corpus=${2:-$here/corpus}
least=90
# Not parsers: what writes models and what looks for them in folders.
others='(model_writer|output_file|pattern|writer_[a-z]+|folder)\.cpp'

if [ ! -f "$build/build.ninja" ]; then
  CXX=clang++-14 CXXFLAGS='-fprofile-instr-generate -fcoverage-mapping' \
    meson setup "$build" "$top" --buildtype=plain -Dfuzzing=true -Damd_kernels=disabled \
    -Dnvidia_kernels=disabled >/dev/null
fi
programs=()
for target in $(ls "$corpus"); do programs+=("tests/fuzz/${target}_fuzz"); done
# The build runs programs too; what they reach does not count.
LLVM_PROFILE_FILE=/dev/null ninja -C "$build" "${programs[@]}" >/dev/null
cd "$build"
objects=()
rm -f ./*.profraw
for program in "${programs[@]}"; do
  LLVM_PROFILE_FILE=$(basename "$program").profraw \
    "$program" -runs=0 "$corpus/$(basename "${program%_fuzz}")" 2>/dev/null
  objects+=(-object "$program")
done
llvm-profdata-14 merge -o all.profdata ./*.profraw
llvm-cov-14 export -summary-only -instr-profile=all.profdata "${objects[@]}" |
  python3 -c '
import json, pathlib, re, sys
least, others = float(sys.argv[1]), re.compile(sys.argv[2])
covered = count = 0
print("| file | lines | reached | % |\n|---|---|---|---|")
for file in sorted(json.load(sys.stdin)["data"][0]["files"], key=lambda file: file["filename"]):
    path, lines = pathlib.PurePath(file["filename"]), file["summary"]["lines"]
    is_parser = path.parent.name == "model" or path.name.startswith("lowered_")
    if not is_parser or others.fullmatch(path.name) or not path.suffix == ".cpp":
        continue
    covered, count = covered + lines["covered"], count + lines["count"]
    print("| {} | {} | {} | {:.1f} |".format(path.name.replace("lowered_", ""), lines["count"],
                                         lines["covered"], lines["percent"]))
percent = 100 * covered / count if count else 0
print(f"| all | {count} | {covered} | {percent:.1f} |")
sys.exit(0 if percent >= least else f"below {least} %")
' "$least" "$others"
