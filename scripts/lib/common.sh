# Shared by the scripts: where the project is, how they talk. Sourced, never run.
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
TOOLCHAIN=$ROOT/.toolchain
cd "$ROOT"

say() { printf '%-10s %s\n' "$1" "$2"; }          # one fact a line: WHAT  HOW
note() { printf '           %s\n' "$*"; }
die() { printf 'error: %s\n' "$1" >&2; [ $# -lt 2 ] || printf '       %s\n' "$2" >&2; exit 3; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo -n "$@"; else return 1; fi; }

# Build jobs: one a core, but no more than one for each 2 GB of memory.
jobs_for_build() {
  local cores mem
  cores=$(nproc)
  mem=$(awk '/MemAvailable/ {print int($2 / 2000000)}' /proc/meminfo)
  [ "$mem" -ge 1 ] || mem=1
  [ "$cores" -le "$mem" ] && echo "$cores" || echo "$mem"
}

# configure_and_build PRESET [TARGET...]: builds with the compiler cache in .cache when ccache is there.
configure_and_build() {
  local preset=$1
  shift
  export CCACHE_DIR=${CCACHE_DIR:-$ROOT/.cache/ccache}
  mkdir -p build
  cmake --preset "$preset" >"build/$preset.configure.log" 2>&1 || { tail -n 30 "build/$preset.configure.log" >&2; die "cmake --preset $preset failed"; }
  if ! cmake --build --preset "$preset" -j "$(jobs_for_build)" ${1:+--target "$@"} >"build/$preset.build.log" 2>&1; then
    grep -E -A 8 'error|FAILED' "build/$preset.build.log" | head -n 60 >&2
    die "the $preset build failed" "whole log: build/$preset.build.log"
  fi
}
