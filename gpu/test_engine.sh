#!/usr/bin/env bash
# Compiles the bundle of examples/engine for the GPUs that plait knows, links the engine with it by cc alone, and runs it on the GPU here: each kernel in a
# graph and by itself, compared with a plain loop, and what a launch costs the CPU. Exit codes are those of the engine (examples/engine/main.c).
set -euo pipefail
cd "$(dirname "$0")/.."
plait=${PLAIT_PROGRAM:-bin/plait}
kernels=share/plait/kernels
[ -d "$kernels" ] || kernels=kernels
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$plait" compile "$kernels/matmul_nt.tile" "$kernels/attention.tile" "$kernels/rmsnorm.tile" -D dtype=bf16 --device sm_90a,sm_80 --emit bundle -o "$folder/engine_kernels"
"${CC:-cc}" -std=c11 -O2 -Wall -Wextra -Werror -I "$folder/engine_kernels" examples/engine/main.c "$folder/engine_kernels/engine_kernels.c" -o "$folder/engine" -ldl -lpthread -lm
"$folder/engine" "$folder/engine_kernels"
