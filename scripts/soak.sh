#!/usr/bin/env bash
# Long sweeps that do not fit the suite: many random programs on the CPU target against the interpreter, many random schedules in the simulator, each
# fuzzer, then clang's static analyzer over what changed since it was clean. PLAIT_SOAK_SECONDS (default 600) is the time for each part but the
# schedules and the analyzer; with PLAIT_SOAK_ANALYZE=0 the latter is left out (it takes hours the first time).
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
seconds=${PLAIT_SOAK_SECONDS:-600}
echo "random programs for ${seconds} s"
PLAIT_RANDOM_SECONDS=$seconds PLAIT_RANDOM_SEED=$RANDOM "$build"/tests/random/random_programs_test
echo "analysis and mutation sweeps"
PLAIT_SOAK=50 "$build"/tests/unit/analysis/analysis_test
PLAIT_SOAK=50 "$build"/tests/unit/plan/plan_test --gtest_filter='Play*'
echo "intervals and makespans of 2000 random problems each against brute force"
PLAIT_SOAK=10 "$build"/tests/unit/plan/plan_test --gtest_filter='Modulo*'
PLAIT_SOAK=50 "$build"/tests/unit/lang/lang_test --gtest_filter='*utation*'
echo "random schedules, and every kernel with every number of stages"
PLAIT_SOAK=20 PLAIT_RANDOM_SEED=$RANDOM "$build"/tests/random/schedules/random_schedules_test
CC=clang-22 CXX=clang++-22 cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPLAIT_FUZZ=ON -DPLAIT_BENCH=OFF -DPLAIT_UNITY=4 \
  -DPLAIT_SANITIZE=address,undefined >/dev/null
cmake --build build/fuzz --target plait_fuzzers
for fuzzer in build/fuzz/tests/fuzz/*_fuzz; do
  name=$(basename "$fuzzer")
  echo "$name for ${seconds} s"
  mkdir -p "build/fuzz/corpus/$name"
  cp kernels/*.tile "build/fuzz/corpus/$name/"
  "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 "build/fuzz/corpus/$name"
done
if [ "${PLAIT_SOAK_ANALYZE:-1}" != 0 ]; then
  echo "static analyzer"
  scripts/lint.sh --deep
fi
echo "soak: clean"
