#!/usr/bin/env bash
# Writes anew the emitted CUDA that tests/lit/emit_cuda compares with: scripts/golden.sh build/release/tools/plait/plait
set -euo pipefail
cd "$(dirname "$0")/.."
plait=${1:-build/release/tools/plait/plait}
golden=tests/lit/emit_cuda/golden
emit() { "$plait" compile "tests/roles/$1.roles" --emit source "${@:3}" >"$golden/$2.cu"; }
for name in matmul_coop matmul_multicast matmul_pingpong matmul_sm80 attention_fwd softmax_rows copy_bulk copy_rows; do
  emit "$name" "$name"
done
emit attention_fwd attention_causal -D causal=true -D paired=true
for name in wgmma tma vector barriers; do emit "micro/micro_$name" "micro_$name"; done
