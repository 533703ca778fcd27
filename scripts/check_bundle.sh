#!/usr/bin/env bash
# `check_bundle.sh ARCHIVE`: unpacks a bundle into an empty folder and uses it there with an empty environment: the CLI, and the C ABI from Python.
set -euo pipefail
archive=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
tar -xf "$archive"
cd plait

outside=$(env -i ldd bin/plait lib/libplait.so | awk '$2 == "=>" {print $3}' | grep -v "^$folder/" | grep -vE '/(libc|libm|libmvec)\.so' || true)
if [ -n "$outside" ]; then
  echo "error: the bundle loads libraries from outside: $outside" >&2
  exit 1
fi
env -i bin/plait --version
env -i bin/plait run share/plait/kernels/matmul.tile --dim M=256 --dim N=256 --dim K=256 --verify
env -i bin/plait run share/plait/kernels/softmax.tile --dim M=65 --dim N=100 --verify
env -i /usr/bin/python3 - lib/libplait.so share/plait/kernels/matmul.tile <<'PYTHON'
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
library.plait_version.restype = ctypes.c_char_p
print("libplait", library.plait_version().decode(), "ABI", library.plait_abi_version())
program = ctypes.c_void_p()
kernel = ctypes.c_void_p()
parameters = ctypes.c_size_t()
assert library.plait_program_parse_file(sys.argv[2].encode(), ctypes.byref(program), None) == 0
assert library.plait_kernel_compile(program, None, None, ctypes.c_size_t(0), None, ctypes.byref(kernel), None) == 0
assert library.plait_kernel_parameter_count(kernel, ctypes.byref(parameters)) == 0
print("compiled a kernel of", parameters.value, "parameters")
library.plait_kernel_destroy(kernel)
library.plait_program_destroy(program)
PYTHON
