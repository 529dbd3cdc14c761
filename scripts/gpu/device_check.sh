#!/usr/bin/env bash
# Checks the CUDA device on a real GPU: right kernels, every kind of fault, recovery, timing. One line a case; exit 0 only when all passed.
#
#   scripts/gpu/device_check.sh [DEVICE_GPU_TEST]
#
# DEVICE_GPU_TEST: the test program, when it was built elsewhere (it needs no library but glibc); else it is built here, in build/gpu.
# Needs nvcc and ptxas 12.4 or newer on PATH, and an NVIDIA GPU of compute capability 9.0 or newer. Exit 77: there is no GPU.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PATH="$PATH:/usr/local/cuda/bin"

program=${1:-}
if [[ -z $program ]]; then
  cmake -S . -B build/gpu -G Ninja -DCMAKE_BUILD_TYPE=Release -DCUTEGEN_BENCH=OFF >/dev/null
  cmake --build build/gpu --target device_gpu_test >/dev/null
  program=build/gpu/tests/device/device_gpu_test
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! arch=$("$program" arch); then
  echo "$arch"
  exit 77
fi
"$program" task-header >"$work/task.h"
for source in tests/device/gpu/*.cu; do
  name=$(basename "$source" .cu)
  nvcc -ptx -std=c++20 -O3 --expt-relaxed-constexpr -arch="compute_${arch#sm_}" -I "$work" -I kernels/include "$source" -o "$work/$name.ptx"
  ptxas -arch="$arch" "$work/$name.ptx" -o "$work/$name.cubin"
done
"$program" run "$work"
