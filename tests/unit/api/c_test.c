/* The C interface as a C11 program uses it: one kernel from text to result, and misuse of every function. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plait/plait.h"

static int failures = 0;
#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                     \
    }                                                                 \
  } while (0)

static const char* const scale_text =
    "kernel scale(X: in t[N], Y: out t[N], alpha: f32 = 2.0; t: type = f32):\n"
    "  grid b = N\n"
    "  Y[b] = t(f32(X[b]) * alpha)\n";

static plait_program* parse(const char* text) {
  plait_program* program = NULL;
  plait_diagnostics* diagnostics = NULL;
  plait_status status = plait_program_parse("scale.tile", text, strlen(text), &program, &diagnostics);
  const char* message = NULL;
  if (status != PLAIT_OK && plait_diagnostics_text(diagnostics, &message) == PLAIT_OK) fputs(message, stderr);
  plait_diagnostics_destroy(diagnostics);
  return program;
}

static plait_argument tensor_argument(void* data, int32_t dtype, const int64_t* shape) {
  plait_argument argument;
  memset(&argument, 0, sizeof argument);
  argument.kind = PLAIT_ARGUMENT_TENSOR;
  argument.tensor.data = data;
  argument.tensor.dtype = dtype;
  argument.tensor.rank = 1;
  argument.tensor.shape = shape;
  argument.tensor.bytes = -1;
  return argument;
}

static void test_run(const char* device) {
  plait_program* program = parse(scale_text);
  plait_compile_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.device = device;
  plait_kernel* kernel = NULL;
  plait_diagnostics* diagnostics = NULL;
  EXPECT(plait_kernel_compile(program, "scale", NULL, 0, &options, &kernel, &diagnostics) == PLAIT_OK);
  EXPECT(diagnostics == NULL);
  /* The kernel does not need the program any more. */
  plait_program_destroy(program);

  float x[5] = {1, 2, 3, 4, 5}, y[5] = {0};
  int64_t shape[1] = {5};
  plait_argument arguments[3];
  arguments[0] = tensor_argument(x, PLAIT_F32, shape);
  arguments[1] = tensor_argument(y, PLAIT_F32, shape);
  memset(&arguments[2], 0, sizeof arguments[2]);
  arguments[2].name = "alpha";
  arguments[2].kind = PLAIT_ARGUMENT_FLOAT;
  arguments[2].floating = 0.5;
  EXPECT(plait_kernel_run(kernel, arguments, 3, NULL, &diagnostics) == PLAIT_OK);
  for (int i = 0; i < 5; ++i) EXPECT(y[i] == x[i] * 0.5f);
  EXPECT(plait_kernel_run(kernel, arguments, 2, NULL, NULL) == PLAIT_OK);
  EXPECT(y[4] == 10);

  /* A wrong call: nothing is touched, and the reason is told. */
  arguments[1].tensor.data = x;
  EXPECT(plait_kernel_run(kernel, arguments, 2, NULL, &diagnostics) == PLAIT_REJECTED);
  const char* text = NULL;
  EXPECT(plait_diagnostics_text(diagnostics, &text) == PLAIT_OK);
  EXPECT(text != NULL && strstr(text, "[argument-overlap]") != NULL);
  EXPECT(plait_diagnostics_json(diagnostics, &text) == PLAIT_OK);
  EXPECT(text != NULL && strstr(text, "\"argument-overlap\"") != NULL);
  size_t count = 0;
  EXPECT(plait_diagnostics_count(diagnostics, &count) == PLAIT_OK && count == 1);
  EXPECT(x[0] == 1);
  plait_diagnostics_destroy(diagnostics);
  plait_kernel_destroy(kernel);
}

static void test_parameters(void) {
  plait_program* program = parse(scale_text);
  size_t count = 0;
  const char* name = NULL;
  EXPECT(plait_program_kernel_count(program, &count) == PLAIT_OK && count == 1);
  EXPECT(plait_program_kernel_name(program, 0, &name) == PLAIT_OK && strcmp(name, "scale") == 0);
  EXPECT(plait_program_kernel_name(program, 1, &name) == PLAIT_BAD_ARGUMENT && name == NULL);
  plait_binding binding = {"t", "bf16"};
  plait_compile_options options = {sizeof options, "interp", 0};
  plait_kernel* kernel = NULL;
  EXPECT(plait_kernel_compile(program, NULL, &binding, 1, &options, &kernel, NULL) == PLAIT_OK);
  EXPECT(plait_kernel_parameter_count(kernel, &count) == PLAIT_OK && count == 3);
  plait_parameter parameter;
  EXPECT(plait_kernel_parameter(kernel, 1, &parameter) == PLAIT_OK);
  EXPECT(strcmp(parameter.name, "Y") == 0 && parameter.kind == PLAIT_PARAMETER_OUT && parameter.dtype == PLAIT_BF16);
  EXPECT(parameter.rank == 1 && parameter.has_default == 0);
  EXPECT(plait_kernel_parameter(kernel, 2, &parameter) == PLAIT_OK);
  EXPECT(parameter.kind == PLAIT_PARAMETER_SCALAR && parameter.dtype == PLAIT_F32 && parameter.has_default == 1);
  EXPECT(plait_kernel_parameter(kernel, 3, &parameter) == PLAIT_BAD_ARGUMENT && parameter.name == NULL);
  EXPECT(plait_kernel_name(kernel, &name) == PLAIT_OK && strcmp(name, "scale") == 0);
  plait_kernel_destroy(kernel);
  plait_program_destroy(program);
}

static void test_rejections(void) {
  plait_program* program = (plait_program*)&failures;
  plait_diagnostics* diagnostics = NULL;
  EXPECT(plait_program_parse(NULL, "kernel (", 8, &program, &diagnostics) == PLAIT_REJECTED);
  EXPECT(program == NULL && diagnostics != NULL);
  plait_diagnostics_destroy(diagnostics);
  EXPECT(plait_program_parse_file("/absent.tile", &program, &diagnostics) == PLAIT_REJECTED);
  const char* text = NULL;
  EXPECT(plait_diagnostics_text(diagnostics, &text) == PLAIT_OK && strstr(text, "[file-access]") != NULL);
  plait_diagnostics_destroy(diagnostics);

  program = parse(scale_text);
  EXPECT(plait_program_verify(program, NULL, NULL, 0, &diagnostics) == PLAIT_OK && diagnostics == NULL);
  EXPECT(plait_program_verify(program, "absent", NULL, 0, NULL) == PLAIT_REJECTED);
  plait_binding bad = {"t", "7"};
  EXPECT(plait_program_verify(program, NULL, &bad, 1, &diagnostics) == PLAIT_REJECTED && diagnostics != NULL);
  plait_diagnostics_destroy(diagnostics);
  plait_kernel* kernel = NULL;
  plait_compile_options options = {sizeof options, "gpu", 0};
  EXPECT(plait_kernel_compile(program, NULL, NULL, 0, &options, &kernel, &diagnostics) == PLAIT_REJECTED);
  EXPECT(plait_diagnostics_text(diagnostics, &text) == PLAIT_OK && strstr(text, "[unknown-device]") != NULL);
  plait_diagnostics_destroy(diagnostics);
  plait_program_destroy(program);
}

static void test_misuse(void) {
  size_t count = 7;
  const char* text = "";
  plait_program* program = NULL;
  plait_kernel* kernel = NULL;
  plait_parameter parameter;
  EXPECT(plait_diagnostics_text(NULL, &text) == PLAIT_BAD_ARGUMENT && text == NULL);
  EXPECT(plait_diagnostics_json(NULL, &text) == PLAIT_BAD_ARGUMENT);
  EXPECT(plait_diagnostics_count(NULL, &count) == PLAIT_BAD_ARGUMENT && count == 0);
  EXPECT(plait_diagnostics_destroy(NULL) == PLAIT_OK);
  EXPECT(plait_program_parse(NULL, NULL, 5, &program, NULL) == PLAIT_BAD_ARGUMENT);
  EXPECT(plait_program_parse(NULL, "x", 1, NULL, NULL) == PLAIT_BAD_ARGUMENT);
  EXPECT(plait_program_parse_file(NULL, &program, NULL) == PLAIT_BAD_ARGUMENT);
  EXPECT(plait_program_kernel_count(NULL, &count) == PLAIT_BAD_ARGUMENT);
  EXPECT(plait_program_kernel_name(NULL, 0, &text) == PLAIT_BAD_ARGUMENT);
  EXPECT(plait_program_destroy(NULL) == PLAIT_OK);
  EXPECT(plait_program_verify(NULL, NULL, NULL, 0, NULL) == PLAIT_BAD_ARGUMENT);
  EXPECT(plait_kernel_compile(NULL, NULL, NULL, 0, NULL, &kernel, NULL) == PLAIT_BAD_ARGUMENT);
  EXPECT(plait_kernel_destroy(NULL) == PLAIT_OK);
  EXPECT(plait_kernel_name(NULL, &text) == PLAIT_BAD_ARGUMENT);
  EXPECT(plait_kernel_parameter_count(NULL, &count) == PLAIT_BAD_ARGUMENT);
  EXPECT(plait_kernel_parameter(NULL, 0, &parameter) == PLAIT_BAD_ARGUMENT);
  EXPECT(plait_kernel_run(NULL, NULL, 0, NULL, NULL) == PLAIT_BAD_ARGUMENT);

  program = parse(scale_text);
  EXPECT(plait_program_verify(program, NULL, NULL, 1, NULL) == PLAIT_BAD_ARGUMENT);
  plait_compile_options options = {1, NULL, 0};
  EXPECT(plait_kernel_compile(program, NULL, NULL, 0, &options, &kernel, NULL) == PLAIT_BAD_ARGUMENT && kernel == NULL);
  options.size = sizeof options;
  options.device = "interp";
  EXPECT(plait_kernel_compile(program, NULL, NULL, 0, &options, &kernel, NULL) == PLAIT_OK);
  EXPECT(plait_kernel_run(kernel, NULL, 2, NULL, NULL) == PLAIT_BAD_ARGUMENT);
  float x[1] = {1};
  int64_t shape[1] = {1};
  plait_argument argument = tensor_argument(x, 99, shape);
  EXPECT(plait_kernel_run(kernel, &argument, 1, NULL, NULL) == PLAIT_BAD_ARGUMENT);
  argument = tensor_argument(x, PLAIT_F32, NULL);
  EXPECT(plait_kernel_run(kernel, &argument, 1, NULL, NULL) == PLAIT_BAD_ARGUMENT);
  argument = tensor_argument(x, PLAIT_F32, shape);
  argument.kind = 9;
  EXPECT(plait_kernel_run(kernel, &argument, 1, NULL, NULL) == PLAIT_BAD_ARGUMENT);
  plait_run_options run = {sizeof run, -1};
  EXPECT(plait_kernel_run(kernel, NULL, 0, &run, NULL) == PLAIT_BAD_ARGUMENT);
  plait_argument twice[2];
  twice[0] = twice[1] = tensor_argument(x, PLAIT_F32, shape);
  twice[0].name = twice[1].name = "X";
  EXPECT(plait_kernel_run(kernel, twice, 2, NULL, NULL) == PLAIT_REJECTED);
  plait_kernel_destroy(kernel);
  plait_program_destroy(program);
}

int main(void) {
  EXPECT(strcmp(plait_version(), PLAIT_VERSION) == 0);
  EXPECT(plait_abi_version() == PLAIT_ABI_VERSION);
  EXPECT(strcmp(plait_status_text(PLAIT_OK), "success") == 0);
  test_run("host");
  test_run("interp");
  test_run(NULL);
  test_parameters();
  test_rejections();
  test_misuse();
  if (failures == 0) puts("all right");
  return failures == 0 ? 0 : 1;
}
