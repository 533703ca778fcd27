#!/usr/bin/env bash
# Measures plait against its peers on this machine. `bench.sh BUILD` records bench/results/cpu.json; with --compare it measures again
# and fails where a ratio fell below the record. The peer libraries choose their own kernels: overrides of their choice are lifted.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
cmake -S . -B "$build" >/dev/null   # finds the peers if they were installed after the first configuration
cmake --build "$build" --target plait-bench >/dev/null
if [ "${1:-}" = --compare ]; then
  "$build/bench/plait-bench" --output "$build/bench/cpu.json"
  exec /usr/bin/python3 bench/compare.py bench/results/cpu.json "$build/bench/cpu.json"
fi
exec "$build/bench/plait-bench" --output bench/results/cpu.json
