#!/usr/bin/env bash
# Checks and times the map and row families on a GPU: each candidate against PyTorch and float64.
#
#   scripts/gpu/kernels_check.sh build [DIR] [FILE.py...]   trace, write and compile the default candidate of each case (no GPU needed); DIR is
#                                                           build/kernels_check by default; FILE.py: more tasks beside tests/kernels/cases
#   scripts/gpu/kernels_check.sh run [DIR] [gpu_harness.py options]   run them (a Python with a CUDA torch as $PYTHON, or python3)
#
# build needs playbook_dump (cmake --build ... --target playbook_dump; $PLAYBOOK_DUMP names it), and a Python with torch; MOVES=1 also builds
# every configuration one factor away from the default.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
step=${1:-help}
dir=${2:-$root/build/kernels_check}
cutlass=${CUTEGEN_CUTLASS:-$root/.toolchain/cutlass/include}
dump=${PLAYBOOK_DUMP:-$root/build/bin/playbook_dump}

compile() {  # one candidate: PTX, cubin and ptxas' report
  local source=$1 stem=${1%.cu}
  [[ $stem.cubin -nt $source && $stem.cubin -nt $newest ]] && return 0
  nvcc -ptx -arch=compute_90a -std=c++20 -O3 --expt-relaxed-constexpr -I"$root/kernels/include" -I"$cutlass" -I"$(dirname "$source")" "$source" \
    -o "$stem.ptx" > "$stem.nvcc" 2>&1 && ptxas -arch=sm_90a -v "$stem.ptx" -o "$stem.cubin" 2> "$stem.ptxas" || { echo "FAILED $source"; return 1; }
  if grep -E '[1-9][0-9]* bytes (stack|spill)' "$stem.ptxas"; then echo "SPILLS $source"; fi
}

build() {
  "${PYTHON:-python3}" "$root/tests/kernels/trace.py" "$root"/tests/kernels/cases/*.py "$@" "$dir"
  for task in "$dir"/*/task.json; do
    "$dump" "$task" "$(dirname "$task")" ${MOVES:+--all}
  done
  newest=$(ls -t "$root"/kernels/include/cutegen/*.cuh | head -1)
  export -f compile
  export root cutlass newest
  find "$dir" -name '*.cu' | sort | xargs -P "${JOBS:-2}" -I{} bash -c 'compile {}'
}

case $step in
  build) build "${@:3}" ;;
  run) "${PYTHON:-python3}" "$root/tests/kernels/gpu_harness.py" "$dir" "${@:3}" ;;
  *) sed -n 2,11p "$0"; exit 2 ;;
esac
