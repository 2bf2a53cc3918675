#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the built-in kernels on a GPU: all of them, checked, on arrays of 1 GiB; their rates against
# the targets below; the time of a launch against a plain loop over the driver; the memory tests
# over 90 % of the memory; a sweep over grids; compute-sanitizer on small arrays. Needs a build and
# no compiler. Exits 0 only if all was right and every target was reached. On cpu there are no
# targets and small arrays, and what needs a GPU is skipped.
# Usage: run_kernel_builtin.sh BUILD [DEVICE [OUT [STEP...]]]
#   BUILD   folder of a build
#   DEVICE  nvidia:0 if not given
#   OUT     folder that gets what was printed; one that is removed, if not given
#   STEP    only these of families, sweep, memory, launch-loop, sanitizer-memcheck, -racecheck,
#           -initcheck, -synccheck; what an earlier run has left in OUT is judged with them
set -uo pipefail
[ $# -ge 1 ] || { sed -n '3,14s/^# //p' "$0"; exit 2; }
build=$(cd "$1" && pwd) || exit 2
device=${2:-nvidia:0}
bench=$build/tests/bench
if [ $# -ge 3 ]; then
  mkdir -p "$3"
  out=$(cd "$3" && pwd) || exit 2
else
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
[ -x "$bench/kernel_table" ] || { echo "$bench/kernel_table is not built"; exit 2; }

wanted=" ${*:4} "
size=$((1 << 30)) sweep_size=$((1 << 29)) share=0.9 few=()
blocks=2,4,8,16,32,all
if [ "$device" = cpu ] || [[ $device = cpu:* ]]; then
  size=$((1 << 20)) sweep_size=$((1 << 16)) share=0.0005 few=(--samples 3) blocks=2,4,all
fi

# step NAME SECONDS WORDS...: runs, keeps the output in NAME.txt, and a line for the last table
step() {
  local name=$1 limit=$2 start=$SECONDS
  shift 2
  [[ $wanted = "  " || $wanted = *" $name "* ]] || return 0
  sed -i "/^$name\t/d" "$out/steps.tsv"
  echo "== $name"
  timeout "$limit" "$@" > "$out/$name.txt" 2>&1
  local code=$?
  local verdict=ok
  [ $code = 0 ] || verdict="FAILED, exit $code"
  [ $code = 77 ] && verdict=skipped
  [ $code = 127 ] && verdict="NOT RUN, $1 is not installed"
  [ $code = 124 ] && verdict="FAILED, longer than $limit s"
  # Of a sanitizer the last lines count; of a table all.
  case $name in sanitizer*) tail -n 5 "$out/$name.txt" ;; *) cat "$out/$name.txt" ;; esac
  printf '%s\t%s\t%s s\n' "$name" "$verdict" $((SECONDS - start)) >> "$out/steps.tsv"
}

touch "$out/steps.tsv"
table=("$bench/kernel_table" --device "$device")
step families 1800 "${table[@]}" --size "$size" "${few[@]}" --tsv "$out/families.tsv"
step sweep 1800 "${table[@]}" --size "$sweep_size" "${few[@]}" --blocks "$blocks" \
  --tsv "$out/sweep.tsv" stream sum transpose fma shared-read
step memory 1800 "${table[@]}" --share "$share" --samples 1 --tsv "$out/memory.tsv" memtest
case $device in
  nvidia*)
    number=${device#nvidia}
    number=${number#:}
    # By turns: the time of a launch differs by a tenth from one process to the next.
    # shellcheck disable=SC2016
    step launch-loop 300 bash -c 'rm -f "$4"
      for _ in 1 2 3 4 5 6 7; do
        "$1/launch_loop" "$2" "$3" && "${@:5}" --tsv "$4.one" launch || exit
        cat "$4.one" >> "$4"
      done' -- "$bench" "${number:-0}" "$build/kernels/fill.ptx" "$out/launch.tsv" "${table[@]}"
    PATH=$PATH:/usr/local/cuda/bin
    for tool in memcheck racecheck initcheck synccheck; do
      # Not whole units, so that the ends of arrays are reached.
      step "sanitizer-$tool" 900 compute-sanitizer --tool "$tool" --error-exitcode 9 \
        "${table[@]}" --size 70000 --samples 1
    done
    ;;
esac

python3 - "$out" "$device" <<'EOF2'
import pathlib
import statistics
import sys

TARGETS = [("read", None, 0.88), ("stream-copy", None, 0.85), ("stream-triad", None, 0.85),
           ("sum", None, 0.85), ("stream-dot", None, 0.85), ("fma", "f32", 0.90)]
LAUNCH_SLOWER = 1.10  # than the plain loop with the same kernel, at most

out, device = pathlib.Path(sys.argv[1]), sys.argv[2]
is_cpu = device.startswith("cpu")
failed = []


def rows(name):
    path = out / (name + ".tsv")
    if not path.exists():
        return []
    keys = ["kernel", "dtype", "blocks", "status", "median_s", "bytes", "flops", "share", "size",
            "reason"]
    return [dict(zip(keys, line.split("\t"))) for line in path.read_text().splitlines()]


def number(text):
    return None if text == "-" else float(text)


families = rows("families")
print("\n== steps")
done = set()
for line in (out / "steps.tsv").read_text().splitlines():
    name, verdict, time = line.split("\t")
    print(f"{name:22} {verdict:40} {time}")
    done.add(name)
    if verdict not in ("ok", "skipped"):
        failed.append(name)

expected = ["families", "sweep", "memory"]
if device.startswith("nvidia"):
    expected += ["launch-loop"] + ["sanitizer-" + tool for tool in
                                   ("memcheck", "racecheck", "initcheck", "synccheck")]
failed += [name + " did not run" for name in expected if name not in done]

print("\n== wrong, failed or skipped")
for row in families + rows("sweep") + rows("memory"):
    if row["status"] != "ok":
        print(f"{row['kernel']} {row['dtype']} blocks {row['blocks']}: {row['status']}, "
              f"{row['reason']}")
        # The steps fail for what is wrong; here nothing may be left out for want of memory either.
        if row["status"] != "skipped" or row["kernel"].startswith("memtest"):
            failed.append(f"{row['kernel']} {row['dtype']} {row['status']}")

best = {}
for row in rows("sweep"):
    share = number(row["share"])
    rate = number(row["bytes"]) if row["bytes"] != "-" else number(row["flops"])
    if row["status"] == "ok" and rate is not None:
        key = (row["kernel"], row["dtype"])
        if key not in best or rate > best[key][0]:
            best[key] = (rate, row["blocks"], share)

print("\n== shares of the peak")
print(f"{'kernel':14} {'type':5} {'share':>6} {'target':>6}  {'best grid':>9} {'share':>6}")


def text(share):
    return "-" if share is None else f"{share:.3f}"


for name, dtype, target in TARGETS:
    found = [row for row in families if row["kernel"] == name and dtype in (None, row["dtype"])]
    if not found:
        failed.append(f"{name} did not run")
    for row in found:
        share = number(row["share"])
        reached = share is not None and share >= target
        _, blocks, best_share = best.get((name, row["dtype"]), (0, "-", None))
        verdict = "no target on cpu" if is_cpu else "reached" if reached else "NOT REACHED"
        print(f"{name:14} {row['dtype']:5} {text(share):>6} {target:6.2f}  {blocks:>9} "
              f"{text(best_share):>6}  {verdict}")
        if not is_cpu and not reached:
            failed.append(f"{name} {row['dtype']} {text(share)} < {target}")

loop = {}
if (out / "launch-loop.txt").exists():
    for line in (out / "launch-loop.txt").read_text().splitlines():
        if "\t" in line:
            name, value = line.split("\t")
            loop.setdefault(name, []).append(float(value))
ours = [number(row["median_s"]) * 1e6 for row in rows("launch")]
print("\n== time of a launch, us: median of processes by turns, and each")


def times(values):
    return f"{statistics.median(values):.3f} ({' '.join(f'{value:.3f}' for value in values)})"


print(f"run-kernel {times(ours)}" if ours else "run-kernel -")
for name, values in loop.items():
    print(f"driver, kernel '{name}' {times(values)}")
if device.startswith("nvidia"):
    if ours and "fill" in loop:
        factor = statistics.median(ours) / statistics.median(loop["fill"])
        print(f"{factor:.3f} times the driver with the same kernel, at most {LAUNCH_SLOWER}")
        if factor > LAUNCH_SLOWER:
            failed.append(f"launch {factor:.3f} > {LAUNCH_SLOWER}")
    else:
        failed.append("no time of a launch to compare")

reached = "all is right; cpu has no targets" if is_cpu else "all is right, every target is reached"
print("\n" + ("NOT REACHED: " + "; ".join(failed) if failed else reached))
sys.exit(1 if failed else 0)
EOF2
