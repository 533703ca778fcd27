/* `rows FOLDER`: launches of role programs, which have no variants: what their kernels need of tensors is an error. */
#include <stdio.h>
#include <stdlib.h>

#include "rows.h"

static void tell(const char* what, int code) {
  printf("%s: %d %s%s%s\n", what, code, rows_error_string(code), code ? ": " : "", code ? rows_last_error() : "");
}

int main(int count, char** values) {
  static _Alignas(256) char memory[3][65536];
  rows_bundle* bundle;
  rows_copy_bulk_args bulk = {.X = memory[0], .Y = memory[1] + 4, .N = 64};
  rows_odd_args odd = {.X = memory[0], .Y = memory[1], .s = 2, .d = 3, .k = 200, .M = 3, .N = 128};
  rows_matmul_coop_args coop = {.A = memory[0] + 2, .B = memory[1], .C = memory[2], .M = 64, .N = 64, .K = 64};
  if (count != 2 || rows_create(values[1], &bundle) != ROWS_OK) return 2;
  tell("bulk", rows_copy_bulk_launch(bundle, &bulk, NULL, 0, NULL));
  tell("negative", rows_odd_launch(bundle, &odd, NULL, 0, NULL));
  odd.M = 7;
  tell("cluster", rows_odd_launch(bundle, &odd, NULL, 0, NULL));
  odd.M = 8;
  odd.N = 126;
  tell("pieces", rows_odd_launch(bundle, &odd, NULL, 0, NULL));
  odd.N = 128;
  tell("right", rows_odd_launch(bundle, &odd, NULL, 0, NULL));
  tell("map", rows_matmul_coop_launch(bundle, &coop, NULL, 0, NULL));
  rows_destroy(bundle);
  return 0;
}
