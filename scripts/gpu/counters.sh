#!/usr/bin/env bash
# Times the corpus (bench/corpus/) on a GPU and reads its hardware counters, so that the virtual GPU's can be compared with them.
#
#   scripts/gpu/counters.sh build [DIR]     render, compile and list every case into DIR (build/corpus); needs nvcc and the CuTe headers
#   scripts/gpu/counters.sh run OUT [DIR]   on a machine with a GPU: OUT/times.json, and with Nsight Compute OUT/ncu.csv
#
# The times stay when the counters cannot be read. Clocks are left as they are and recorded. $JOBS compiles run at once, 2 by default.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
corpus=$root/bench/corpus
cutlass=${CUTEGEN_CUTLASS:-$root/.toolchain/cutlass/include}
cxx=${CXX:-g++}
step=${1:-}

compile_one() {  # PTX, cubin and ptxas' report beside the source's place in DIR
  local source=$1 stem=$2
  [[ $stem.cubin -nt $source ]] && return 0
  nvcc -ptx -arch=compute_90a -std=c++20 -O3 --expt-relaxed-constexpr -lineinfo -DNDEBUG -I"$root/kernels/include" -I"$(dirname "$source")" \
    -isystem "$cutlass" "$source" -o "$stem.ptx" && ptxas -arch=sm_90a -v -lineinfo "$stem.ptx" -o "$stem.cubin" 2> "$stem.ptxas" ||
    { echo "FAILED $source"; return 1; }
}

build() {
  local dir=${1:-$root/build/corpus}
  mkdir -p "$dir"
  local objects=("$root"/src/propose/playbook/*.cc "$root"/src/candidate/*.cc "$root"/src/task/*.cc "$root"/src/base/{json,fs,hash}.cc)
  [[ -x $dir/corpus_playbook ]] || "$cxx" -std=c++20 -O1 -I"$root/src" "$corpus/playbook.cc" "${objects[@]}" -lfmt -lsodium -o "$dir/corpus_playbook"
  [[ $dir/corpus_run -nt $corpus/run.cc ]] || "$cxx" -std=c++20 -O2 -static-libstdc++ -static-libgcc "$corpus/run.cc" -ldl -o "$dir/corpus_run"
  "$dir/corpus_playbook" render "$root/kernels" "$dir"
  export -f compile_one
  export root cutlass
  { for f in "$corpus"/*.cu; do echo "$f $dir/$(basename "$f" .cu)"; done
    for f in "$dir"/*/candidate.cu; do echo "$f ${f%.cu}"; done; } | xargs -P "${JOBS:-2}" -L1 bash -c 'compile_one "$0" "$1"'
  { grep -v '^#' "$corpus/cases.txt"; "$dir/corpus_playbook" cases "$dir"; } > "$dir/all_cases.txt"
}

# Counters to compare, by ncu's names; those that this version or chip lacks are left out.
wanted="
smsp__inst_executed smsp__thread_inst_executed smsp__inst_issued sm__cycles_elapsed sm__cycles_active gpu__time_duration smsp__cycles_elapsed
smsp__inst_executed_pipe_alu smsp__inst_executed_pipe_fma smsp__inst_executed_pipe_fmaheavy smsp__inst_executed_pipe_fp16 smsp__inst_executed_pipe_fp64
smsp__inst_executed_pipe_lsu smsp__inst_executed_pipe_xu smsp__inst_executed_pipe_uniform smsp__inst_executed_pipe_cbu smsp__inst_executed_pipe_adu
sm__inst_executed_pipe_alu sm__inst_executed_pipe_fma sm__inst_executed_pipe_fp16 sm__inst_executed_pipe_fp64 sm__inst_executed_pipe_lsu sm__inst_executed_pipe_xu
sm__inst_executed_pipe_tensor sm__inst_executed_pipe_tensor_op_hmma sm__inst_executed_pipe_tensor_op_gmma sm__inst_executed_pipe_tensor_op_dmma
smsp__inst_executed_pipe_tensor_op_hmma smsp__inst_executed_pipe_tensor_op_gmma sm__ops_path_tensor_src_bf16_dst_fp32 sm__ops_path_tensor_src_tf32_dst_fp32
sm__ops_path_tensor_src_fp16_dst_fp32 sm__pipe_tensor_cycles_active sm__pipe_tensor_op_hmma_cycles_active sm__pipe_tensor_op_gmma_cycles_active
l1tex__t_requests_pipe_lsu_mem_global_op_ld l1tex__t_requests_pipe_lsu_mem_global_op_st l1tex__t_requests_pipe_lsu_mem_global_op_atom
l1tex__t_requests_pipe_lsu_mem_global_op_red l1tex__t_requests_pipe_lsu_mem_local_op_ld l1tex__t_requests_pipe_lsu_mem_local_op_st
l1tex__t_sectors_pipe_lsu_mem_global_op_ld l1tex__t_sectors_pipe_lsu_mem_global_op_st l1tex__t_sectors_pipe_lsu_mem_global_op_atom
l1tex__t_sectors_pipe_lsu_mem_global_op_red l1tex__t_sectors_pipe_lsu_mem_local_op_ld l1tex__t_sectors_pipe_lsu_mem_local_op_st
l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_hit
l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts
l1tex__data_bank_conflicts_pipe_lsu_mem_shared l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom
l1tex__data_pipe_lsu_wavefronts_mem_shared l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st
l1tex__data_pipe_lsu_wavefronts l1tex__data_bank_conflicts_pipe_lsu smsp__inst_executed_op_shared_ld smsp__inst_executed_op_shared_st
smsp__sass_inst_executed_op_shared_ld smsp__sass_inst_executed_op_shared_st smsp__sass_inst_executed_op_ldsm smsp__inst_executed_op_ldsm
smsp__sass_inst_executed_op_shared smsp__sass_inst_executed_op_global_ld smsp__sass_inst_executed_op_global_st
l1tex__m_xbar2l1tex_read_bytes l1tex__m_l1tex2xbar_write_bytes l1tex__m_xbar2l1tex_read_sectors
lts__t_sectors lts__t_sectors_op_read lts__t_sectors_op_write lts__t_sectors_op_atom lts__t_sectors_op_red lts__t_sectors_lookup_hit lts__t_sectors_lookup_miss
lts__t_sectors_srcunit_tex lts__t_sectors_srcunit_tex_lookup_hit lts__t_sectors_srcunit_tex_lookup_miss lts__t_sectors_srcunit_tex_op_read lts__t_sectors_srcunit_tex_op_write
lts__t_requests_srcunit_tex lts__t_sectors_srcunit_ltcfabric lts__t_requests_srcunit_ltcfabric
dram__bytes_read dram__bytes_write dram__sectors_read dram__sectors_write
sm__warps_active smsp__warps_active smsp__warps_eligible smsp__average_warps_issue_stalled_barrier smsp__average_warp_latency_issue_stalled_barrier
smsp__warps_issue_stalled_barrier smsp__warps_issue_stalled_long_scoreboard smsp__warps_issue_stalled_short_scoreboard smsp__warps_issue_stalled_wait
smsp__warps_issue_stalled_math_pipe_throttle smsp__warps_issue_stalled_mio_throttle smsp__warps_issue_stalled_lg_throttle smsp__warps_issue_stalled_membar
"

profile() {
  local out=$1 dir=$2 base metrics=() name
  command -v ncu > /dev/null || { echo "no Nsight Compute: no counters"; return 0; }
  ncu --version > "$out/ncu_version.txt"
  ncu --query-metrics --chip gh100 > "$out/ncu_metrics.txt" 2>&1 || true
  for name in $wanted; do
    grep -qE "^$name " "$out/ncu_metrics.txt" && metrics+=("$name.sum")
  done
  metrics+=(sm__cycles_elapsed.max sm__warps_active.avg.pct_of_peak_sustained_active launch__registers_per_thread launch__occupancy_limit_registers
            launch__occupancy_limit_shared_mem launch__occupancy_limit_warps launch__occupancy_limit_blocks launch__waves_per_multiprocessor)
  base=$(IFS=,; echo "${metrics[*]}")
  (cd "$dir" && timeout "${NCU_SECONDS:-330}" ncu --csv --page raw --print-units base --clock-control none --metrics "$base" \
    --log-file "$out/ncu.csv" ./corpus_run once all_cases.txt > "$out/ncu_cases.txt" 2> "$out/ncu_errors.txt") || echo "ncu stopped early: see ncu_errors.txt"
  gzip -f "$out/ncu_metrics.txt" "$out/ncu.csv" || true
}

run() {
  local out=$1 dir=${2:-$root/build/corpus}
  mkdir -p "$out"
  out=$(cd "$out" && pwd)
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.draw,temperature.gpu --format=csv > "$out/gpu_before.csv" 2>&1 || true
  (cd "$dir" && timeout 200 ./corpus_run time all_cases.txt) > "$out/times.json" || echo "timing stopped early"
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.draw,temperature.gpu --format=csv > "$out/gpu_after.csv" 2>&1 || true
  profile "$out" "$dir"
  ls -la "$out"
}

case $step in
  build) build "${@:2}" ;;
  run) run "${@:2}" ;;
  *) sed -n 2,8p "$0"; exit 2 ;;
esac
