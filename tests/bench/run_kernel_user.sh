#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs one saxpy on a GPU from everything that run-kernel takes, and compares each result bit by
# bit: HIP source, CUDA source, and on NVIDIA PTX, cubin and fat binary, on AMD a code object and a
# bundle. What cannot be made here is skipped and said so. Exits 1 if a result is wrong or a run
# fails.
# Usage: run_kernel_user.sh BUILD [DEVICE]
#   BUILD   folder of a build
#   DEVICE  nvidia:0 if not given; cpu takes the sources only
set -euo pipefail
[ $# -ge 1 ] || { sed -n '3,9s/^# //p' "$0"; exit 2; }
tool=$(cd "$1" && pwd)/src/cli/hiptool
device=${2:-nvidia:0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
PATH=$PATH:/usr/local/cuda/bin:/opt/rocm/bin

cat > saxpy.cu <<'EOF'
extern "C" __global__ void saxpy(float a, const float* x, float* y, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
EOF
{ echo '#include <hip/hip_runtime.h>'; cat saxpy.cu; } > saxpy.hip

# Small whole numbers: exact with and without fused multiply-add.
count=1000003
python3 - $count <<'EOF'
import array, sys
count = int(sys.argv[1])
x = array.array("f", (i % 4093 for i in range(count)))
array.array("f", (2 * v + i % 8192 for i, v in enumerate(x))).tofile(open("want", "wb"))
array.array("f", (i % 8192 for i in range(count))).tofile(open("y", "wb"))
x.tofile(open("x", "wb"))
EOF

failed=0
run() {
  if "$tool" run-kernel --device "$device" --module "$1" --name saxpy --samples 20 \
      --grid $(((count + 255) / 256)) --block 256 --arg f32:2 \
      --arg buf:f32:$count:file:x --arg buf:f32:$count:file:y --arg u32:$count \
      --expect 2:want --format json > log; then
    python3 - "$1" <<'EOF'
import json, sys
result = json.load(open("log"))["measurements"][0]
print(f"{sys.argv[1]:14} {result['device']} {result['image']}: {result['checked']} exact, "
      f"median {result['median_s'] * 1e6:.1f} us")
EOF
  else
    echo "$1: FAILED"
    failed=1
  fi
}

# Compiles with the words that follow the file's name, and runs what came out.
make_and_run() {
  local file=$1
  shift
  if ! command -v "$1" > /dev/null; then
    echo "$file: skipped, $1 is not installed"
  elif ! "$@" > make.log 2>&1; then
    echo "$file: skipped, $1 does not make it: $(head -n 1 make.log)"
  else
    run "$file"
  fi
}

run saxpy.hip
run saxpy.cu
arch=$("$tool" devices "$device" --format json |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["devices"][0]["arch"])')
case $device in
  nvidia*)
    make_and_run saxpy.ptx nvcc -arch="$arch" -ptx saxpy.cu -o saxpy.ptx
    make_and_run saxpy.cubin nvcc -arch="$arch" -cubin saxpy.cu -o saxpy.cubin
    make_and_run saxpy.fatbin nvcc -arch="$arch" -fatbin saxpy.cu -o saxpy.fatbin
    ;;
  amd*)
    make_and_run saxpy.co hipcc --genco --no-gpu-bundle-output --offload-arch="${arch%%:*}" \
      saxpy.hip -o saxpy.co
    make_and_run saxpy.hipfb hipcc --genco --offload-arch="${arch%%:*}" saxpy.hip -o saxpy.hipfb
    ;;
esac
exit $failed
