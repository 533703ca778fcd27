#!/usr/bin/env bash
# The main job: random .npy inputs, matmul and attention on the CPU, .npy outputs checked against numpy.
set -euo pipefail
cd "$(dirname "$0")/.."
exec /usr/bin/python3 scripts/demo.py "$1" build/demo
