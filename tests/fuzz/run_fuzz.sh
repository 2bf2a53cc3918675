#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs all fuzz targets side by side and prints what each did. Exits 1 if one found something.
# Usage: run_fuzz.sh SECONDS WORKERS OUT [PROGRAMS [CORPUS]]
#   WORKERS   processes for each target
#   OUT       gets the grown corpora, logs and findings of each target
#   PROGRAMS  folder of the programs, CORPUS that of the seeds; else those beside this script
set -euo pipefail
[ $# -ge 3 ] || { sed -n '3,7s/^# //p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
seconds=$1 workers=$2
mkdir -p "$3"
out=$(cd "$3" && pwd)
programs=$(cd "${4:-$here}" && pwd)
corpus=$(cd "${5:-$here/corpus}" && pwd)
targets=$(ls "$corpus")

# Memory that stays in the processor's caches.
export ASAN_OPTIONS=quarantine_size_mb=1:thread_local_quarantine_size_kb=64:malloc_context_size=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

for target in $targets; do
  mkdir -p "$out/$target/corpus" "$out/$target/findings"
  nice -n 10 "$programs/${target}_fuzz" -fork="$workers" -max_total_time="$seconds" \
    -ignore_crashes=1 -ignore_ooms=1 -ignore_timeouts=1 -rss_limit_mb=600 -timeout=10 \
    -max_len=8192 -dict="$here/words.dict" -artifact_prefix="$out/$target/findings/" \
    "$out/$target/corpus" "$corpus/$target" >"$out/$target/log" 2>&1 &
done
wait

found=0
printf '%-12s %14s %8s %9s %7s %9s\n' target execs exec/s coverage inputs findings
for target in $targets; do
  # "#4194304: cov: 1234 ft: 5678 corp: 90 exec/s: 1000 oom/timeout/crash: 0/0/0 time: 60s ..."
  last=$(grep -E '^#[0-9]+: cov:' "$out/$target/log" | tail -n 1 || true)
  execs=$(sed -E 's/^#([0-9]+):.*/\1/' <<<"$last")
  coverage=$(sed -E 's/.*cov: ([0-9]+).*/\1/' <<<"$last")
  findings=$(find "$out/$target/findings" -type f | wc -l)
  inputs=$(find "$out/$target/corpus" -type f | wc -l)
  printf '%-12s %14s %8s %9s %7s %9s\n' "$target" "${execs:-none}" \
    "$((${execs:-0} / (seconds > 0 ? seconds : 1)))" "${coverage:-none}" "$inputs" "$findings"
  [ -n "$last" ] && [ "$findings" -eq 0 ] || found=1
done
exit $found
