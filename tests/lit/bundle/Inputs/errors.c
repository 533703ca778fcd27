/* `errors FOLDER`: one launch that is right, then one for each thing that is wrong with a call, and what they return.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"

static errors_bundle* bundle;

static void tell(const char* what, int code) {
  printf("%s: %d %s%s%s\n", what, code, errors_error_string(code), code ? ": " : "", code ? errors_last_error() : "");
}

static void scaled(const char* what, const errors_scaled_args* args) {
  tell(what, errors_scaled_launch(bundle, args, NULL, 0, NULL));
}

int main(int count, char** values) {
  static _Alignas(256) char memory[65536];
  size_t bytes;
  const errors_scaled_args good = {.X = memory, .Y = memory + 32768, .s = 2, .twice = 1, .least = 0, .M = 3, .N = 8};
  errors_scaled_args a = good;
  errors_halves_args h = {.X = memory, .Y = memory + 32768, .M = 5, .N = 8, .S = 8};
  int code;
  if (count != 2) return 2;
  tell("no folder", errors_create(NULL, &bundle));
  tell("no place", errors_create(values[1], NULL));
  code = errors_create(values[1], &bundle);
  tell("create", code);
  if (code != 0) return 1;
  tell("load", errors_load(bundle));
  scaled("right", &good);
  tell("size", errors_scaled_workspace(bundle, &good, &bytes));
  tell("no size", errors_scaled_workspace(bundle, &good, NULL));
  tell("no bundle", errors_scaled_launch(NULL, &good, NULL, 0, NULL));
  scaled("no arguments", NULL);
  a.M = -1;
  scaled("negative", &a);
  a.M = (int64_t)1 << 47;
  scaled("large", &a);
  a.M = a.N = (int64_t)1 << 24;
  scaled("product", &a);
  a = good;
  a.N = 6;
  scaled("condition", &a);
  a = good;
  a.least = -1;
  scaled("scalar condition", &a);
  a = good;
  a.twice = 7;
  scaled("bool", &a);
  a = good;
  a.X = NULL;
  scaled("null", &a);
  a.N = 0;
  scaled("null and empty", &a);
  a = good;
  a.X = memory + 2;
  scaled("element", &a);
  a = good;
  a.Y = memory + 16;
  scaled("overlap", &a);
  a = good;
  a.Y = (char*)4096;
  scaled("reach", &a);
  a = good;
  a.X = memory + 4;
  scaled("anywhere", &a);
  a = good;
  a.M = (int64_t)1 << 31;
  a.X = (char*)((uintptr_t)1 << 40);
  a.Y = (char*)((uintptr_t)1 << 50);
  scaled("blocks", &a);
  tell("strides", errors_halves_launch(bundle, &h, NULL, 0, NULL));
  h.N = 3;
  tell("zero", errors_halves_launch(bundle, &h, NULL, 0, NULL));
  h.N = 2;
  tell("computed", errors_halves_launch(bundle, &h, NULL, 0, NULL));
  errors_destroy(NULL);
  errors_destroy(bundle);
  return 0;
}
