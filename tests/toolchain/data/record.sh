#!/bin/sh
# Records compiler output for diagnostics_test.cc anew: record.sh NVCC_BIN_DIR CUTLASS_INCLUDE. Needed only when a candidate here changes.
set -eu
bin=$1
cutlass=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/task.h" <<'H'
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdint>
namespace task {
inline constexpr int num_inputs = 1, num_params = 0, num_outputs = 1;
struct in0 { using type = float; static constexpr int64_t elements = 32768, bytes = 131072; };
struct out0 { using type = float; static constexpr int64_t elements = 32768, bytes = 131072; };
template <class... Tensors> struct tensors {};
using inputs = tensors<in0>;
using params = tensors<>;
using outputs = tensors<out0>;
}
H
neutral() { sed -e "s#$cutlass#/opt/cutlass/include#g; s#$root/kernels/include#/opt/cutegen/kernels/include#g; s#$work/##g" -e 's#"/[^"]*/include/#"/opt/include/#'; }
record() { # name, source, whether to keep the PTX
  cp "$2" "$work/candidate.cu"
  (cd "$work" && LC_ALL=C "$bin/nvcc" -ptx -lineinfo -DNDEBUG -arch=sm_90a -std=c++20 -O3 --expt-relaxed-constexpr -I . -I "$root/kernels/include" -isystem "$cutlass" \
    candidate.cu -o candidate.ptx 2>&1 && LC_ALL=C "$bin/ptxas" -v -arch=sm_90a -lineinfo candidate.ptx -o candidate.cubin 2>&1) | neutral > "$here/$1.log" || true
  if [ "$3" = ptx ]; then neutral < "$work/candidate.ptx" > "$here/$1.ptx"; fi
}
for name in layout_mismatch infinite_recursion scalar_for_pointer unknown_header wrong_mma_operands static_smem_too_large syntax_error; do
  record $name "$here/../bad_candidates/$name.cu" log
done
record unknown_instruction "$here/../bad_candidates/unknown_instruction.cu" ptx
record tiled_copy "$here/tiled_copy.cu" log
record wgmma_wait "$here/wgmma_wait.cu" ptx
