#!/usr/bin/env bash
# The differential suite of the virtual GPU on a real one: each instruction form over rows of operands, and the approximations over whole
# binades. See tests/vgpu/differential/README.md for what the results look like.
#
#   scripts/gpu/differential.sh render DIR     write the kernels (needs build/release/vgpu_test) and assemble them with ptxas; no GPU
#   scripts/gpu/differential.sh run DIR OUT    run them on the GPU; OUT gets MODULE.bin.xz, MODULE.index and SWEEP.planes.xz ($JOBS at once)
#   scripts/gpu/differential.sh record OUT     write tests/vgpu/differential/h200.bin from OUT (needs build/release/vgpu_test); no GPU
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)

render() {
  CUTEGEN_DIFFERENTIAL_RENDER=$1 "$root/build/release/vgpu_test" --gtest_filter=Differential.Render
  python3 "$root/scripts/gpu/differential_assemble.py" "$1"
}

compress() {  # FILE to FILE.xz, or .gz where there is no xz
  if command -v xz > /dev/null; then xz -3 -c "$work/$1" > "$out/$1.xz"; else gzip -9 -c "$work/$1" > "$out/$1.gz"; fi
}

run_module() {  # several processes share the GPU; an index without its results means that the process died
  "$work/run" "$dir" "$work" "$1"
  cp "$work/$1.index" "$out/" && compress "$1.bin" && rm "$work/$1.bin"
}

run() {
  dir=$1 out=$2 work=$(mktemp -d)
  export dir out work
  export -f run_module compress
  mkdir -p "$out"
  g++ -std=c++20 -O2 -I"$root/tests" "$root/scripts/gpu/differential_run.cc" -ldl -o "$work/run"
  { nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || true; date -u; } > "$out/device"
  cp "$dir/manifest" "$dir/rejected" "$out/"
  awk '$1 == "module" {print $2}' "$dir/manifest" | xargs -P "${JOBS:-8}" -I{} bash -c 'run_module {} || echo "module {} failed"'
  find "$work" -name '*.planes' -printf '%f\n' | xargs -r -P "${JOBS:-8}" -I{} bash -c 'compress {}'
  grep -h ^failed "$out"/*.index || echo "no kernel failed"
  du -sh "$out"
  rm -rf "$work"
}

record() {
  work=$(mktemp -d)
  cp "$1"/*.index "$work/"
  for packed in "$1"/*.bin.xz; do xz -dc "$packed" > "$work/$(basename "$packed" .xz)"; done
  CUTEGEN_DIFFERENTIAL_RECORD=$work "$root/build/release/vgpu_test" --gtest_filter=Differential.Record
  rm -rf "$work"
}

case ${1:-} in
  render) render "$2" ;;
  run) run "$2" "$3" ;;
  record) record "$2" ;;
  *) sed -n 2,8p "$0"; exit 2 ;;
esac
