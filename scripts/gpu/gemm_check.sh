#!/usr/bin/env bash
# Checks and times the gemm family on a GPU, each candidate against PyTorch's fp32 result and float64.
#
#   scripts/gpu/gemm_check.sh render [DIR]    write the candidates; DIR is build/gemm_check by default
#   scripts/gpu/gemm_check.sh compile [DIR]   compile those that are new (nvcc and the CuTe headers, no GPU); $JOBS at once, 2 by default
#   scripts/gpu/gemm_check.sh build [DIR]     both of these
#   scripts/gpu/gemm_check.sh run [DIR] [gemm_check.py options]   run those that are compiled (a Python with a CUDA torch: $PYTHON or python3)
#   scripts/gpu/gemm_check.sh                 everything
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
step=${1:-all}
dir=${2:-$root/build/gemm_check}
cutlass=${CUTEGEN_CUTLASS:-$root/.toolchain/cutlass/include}
cxx=${CXX:-g++}

render() {
  mkdir -p "$dir"
  local objects=("$root"/src/propose/playbook/{gemm,gemm_match,pointwise,layout,render}.cc "$root"/src/task/*.cc "$root"/src/base/{json,fs,hash}.cc)
  "$cxx" -std=c++20 -O1 -I"$root/src" "$root/scripts/gpu/gemm_check_render.cc" "${objects[@]}" -lfmt -lsodium -o "$dir/render"
  "$dir/render" "$root/kernels" "$dir"
}

compile_one() {  # PTX, cubin and ptxas' report
  local source=$1 stem=${1%.cu}
  [[ $stem.cubin -nt $source && $stem.cubin -nt $newest ]] && return 0
  nvcc -ptx -arch=compute_90a -std=c++20 -O3 --expt-relaxed-constexpr -I"$root/kernels/include" -I"$cutlass" -I"$(dirname "$source")" "$source" -o "$stem.ptx" &&
    ptxas -arch=sm_90a -v "$stem.ptx" -o "$stem.cubin" 2> "$stem.ptxas" || { echo "FAILED $source"; return 1; }
}

compile_all() {
  newest=$(ls -t "$root"/kernels/include/cutegen/*.cuh | head -1)
  export -f compile_one
  export root cutlass newest
  find "$dir" -name '*.cu' | sort | xargs -P "${JOBS:-2}" -I{} bash -c 'compile_one {}'
}

run() { "${PYTHON:-python3}" "$root/scripts/gpu/gemm_check.py" "$dir" "${@:3}"; }

case $step in
  render) render ;;
  compile) compile_all ;;
  build) render && compile_all ;;
  run) run "$@" ;;
  all) render && compile_all && run run "$dir" ;;
  *) sed -n 2,10p "$0"; exit 2 ;;
esac
