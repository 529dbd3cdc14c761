#!/bin/sh
# The kernels as PTX, without folder names. Needs nvcc; the tests need only what it leaves here.
set -eu
cd "$(dirname "$0")"
for source in ${*:-*.cu}; do
  name=${source%.cu}
  nvcc -arch=sm_90a -std=c++17 -lineinfo -ptx -Wno-deprecated-gpu-targets "$source" -o "$name.ptx"
  sed -i -E 's|^(\s*\.file\s+[0-9]+ ").*/([^/"]+")|\1\2|; s|, [0-9]+, [0-9]+$||' "$name.ptx"
done
