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
run=("$work/tensor_copies")
[ -z "${CUTEGEN:-}" ] || run=("$CUTEGEN" sim -- "$work/tensor_copies")
for ((i = 0, n = $("${run[@]}"); i < n; ++i)); do "${run[@]}" "$i" || true; done > "$out/tensor_copies.txt"
grep -c . "$out/tensor_copies.txt"
