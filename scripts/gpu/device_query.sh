#!/usr/bin/env bash
# What the CUDA runtime reports about this machine's GPU and about wrong calls, for src/sim/ to report the same. Needs a GPU and nvcc; about 10 s.
#
#   scripts/gpu/device_query.sh FOLDER      writes FOLDER/device.json
set -euo pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvcc -std=c++17 -arch=sm_90 -o "$work/query" device_query.cu
"$work/query" >"$out/device.json"
echo "written: $out/device.json"
