#!/usr/bin/env bash
# Formatting and clang-tidy over every C++ file of the tree; fails on the first kind of finding.
set -euo pipefail
cd "$(dirname "$0")/.."
git ls-files '*.cpp' '*.h' '*.hpp' '*.c' | xargs clang-format-22 --dry-run -Werror
[ -f build/dev/compile_commands.json ] || cmake --preset dev >/dev/null
git ls-files 'src/*.cpp' 'tools/*.cpp' | xargs -P "$(nproc)" -n 4 clang-tidy-22 -p build/dev --quiet --warnings-as-errors='*'
echo "lint: clean"
