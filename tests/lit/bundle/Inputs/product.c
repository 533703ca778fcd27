/* `product FOLDER M N K BYTES`: launches matmul_nt of the bundle `calls` on tensors that start BYTES behind a multiple
 * of 256, with a workspace where it takes one, and tells what it returns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

static char* tensor(long long elements, int bytes) {
  char* memory = aligned_alloc(256, ((size_t)elements * 2 + 511) / 256 * 256);
  return memory + bytes;
}

int main(int count, char** values) {
  calls_bundle* bundle = NULL;
  calls_matmul_nt_args args;
  size_t size = 0;
  int code;
  if (count != 6) return 2;
  memset(&args, 0, sizeof args);
  args.M = atoll(values[2]);
  args.N = atoll(values[3]);
  args.K = atoll(values[4]);
  args.A = tensor(args.M * args.K, atoi(values[5]));
  args.B = tensor(args.N * args.K, atoi(values[5]));
  args.C = tensor(args.M * args.N, atoi(values[5]));
  code = calls_create(values[1], &bundle);
  if (code == 0) code = calls_matmul_nt_workspace(bundle, &args, &size);
  if (code == 0) {
    void* workspace = size == 0 ? NULL : aligned_alloc(256, size);
    printf("workspace %zu\n", size);
    code = calls_matmul_nt_launch(bundle, &args, workspace, size, NULL);
    if (size > 0 && code == 0 && calls_matmul_nt_launch(bundle, &args, workspace, size - 1, NULL) == CALLS_WORKSPACE &&
        calls_matmul_nt_launch(bundle, &args, NULL, size, NULL) == CALLS_WORKSPACE)
      printf("%s\n", calls_last_error());
  }
  if (code != 0) printf("%d %s: %s\n", code, calls_error_string(code), calls_last_error());
  calls_destroy(bundle);
  return code != 0;
}
