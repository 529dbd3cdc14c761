#!/usr/bin/env bash
# TMA copies and reductions on a GPU, byte by byte: scripts/gpu/tensor_copies.sh OUT writes OUT/tensor_copies.txt. With CUTEGEN set to a
# cutegen binary the same program runs under its `sim` instead; the two files must be equal. Needs nvcc.
set -euo pipefail
out=${1:?usage: scripts/gpu/tensor_copies.sh OUT}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvcc -std=c++17 -arch=sm_90a -cudart shared -o "$work/tensor_copies" "$here/tensor_copies.cu"
if [ -n "${CUTEGEN:-}" ]; then
  "$CUTEGEN" sim -- "$work/tensor_copies" > "$out/tensor_copies.txt"
else
  "$work/tensor_copies" > "$out/tensor_copies.txt"
fi
grep -c . "$out/tensor_copies.txt"
