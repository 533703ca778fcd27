#!/usr/bin/env bash
# Formatting and clang-tidy over the C++ files of the tree, as errors. `lint.sh --deep` runs clang's static analyzer instead (long).
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset lint >/dev/null
if [ "${1:-}" = --deep ]; then
  exec /usr/bin/python3 scripts/tidy.py build/lint --checks='-*,clang-analyzer-*'
fi
git ls-files '*.cpp' '*.h' '*.hpp' '*.c' | xargs clang-format-22 --dry-run -Werror
/usr/bin/python3 scripts/tidy.py build/lint
echo "lint: clean"
