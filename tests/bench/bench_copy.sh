#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs all of `hiptool bench-copy` on a GPU machine and keeps what it says in a folder.
# Usage: bench_copy.sh HIPTOOL OUT [DEVICES]
#   HIPTOOL  the program; OUT gets JSON, tables and logs; DEVICES as for --device (default: all)
# Exits 1 if a run ended with wrong data, a failed call or a wrong document.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '3,6s/^# //p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
hiptool=$1 out=$2 devices=${3:-all}
mkdir -p "$out"
schema=$here/../schema
bad=0

# bench NAME EXPECTED WORDS...: one run, its table in NAME.txt and document in NAME.json
bench() {
  local name=$1 expected=$2
  shift 2
  local start=$SECONDS
  "$hiptool" bench-copy "$@" --export json="$out/$name.json" > "$out/$name.txt" 2> "$out/$name.log"
  local code=$?
  local verdict=ok
  [ "$code" = "$expected" ] || { verdict="EXIT $code, not $expected"; bad=1; }
  if [ -s "$out/$name.json" ]; then
    python3 "$schema/validate.py" "$schema/bench-copy.schema.json" < "$out/$name.json" ||
      { verdict="$verdict, WRONG DOCUMENT"; bad=1; }
  fi
  echo "$name: $verdict, $((SECONDS - start)) s: $(head -1 "$out/$name.txt")"
}

"$hiptool" devices --format json > "$out/devices.json" 2> "$out/devices.log"
first=$(python3 -c 'import json, sys
print(next(d["id"] for d in json.load(open(sys.argv[1]))["devices"] if d["platform"] != "cpu"))' \
  "$out/devices.json") || { echo "no GPU"; exit 1; }

bench quick 0 --device "$first"
bench again 0 --device "$first"
bench ci 0 --device "$first" --level ci
bench sweep 0 --device "$first" --kind h2d,d2h,d2d --size 4KiB..1GiB
bench memories 0 --device "$first" --kind h2d,d2h --memory pinned,pageable,registered
bench kernel 0 --device "$first" --kind h2d,d2h,d2d,bidir --engine kernel
bench latency 0 --device "$first" --testcase host_device_latency_sm
bench torch 0 --device "$first" --kind h2d,d2h,d2d --size 256MiB --samples 50
bench peers 0 --device "$devices" --kind p2p-read,p2p-write,p2p-bidir --engine copy,kernel
bench everyone 0 --device "$devices" --kind h2d-all,d2h-all,one-to-all,all-to-one,all-to-all
bench threshold-met 0 --device "$first" --kind h2d --fail-below 'h2d.pinned>=1GB/s'
bench threshold-missed 1 --device "$first" --kind h2d --fail-below 'h2d>=900GB/s' --retry 1/2
bench share 0 --device "$first" --kind h2d --fail-below 'h2d.pinned>=50%'
# What the machine does twice in a row should not be told as slower.
bench baseline 0 --device "$first" --baseline "$out/quick.json"

number=${first##*:}
python3 "$here/plain_copy.py" --device "$number" --size 256 --hiptool "$out/torch.json" \
  > "$out/plain_copy.txt" 2>&1
code=$?
sed 's/^/plain copy: /' "$out/plain_copy.txt"
[ "$code" = 0 ] || [ "$code" = 77 ] || bad=1
exit "$bad"
