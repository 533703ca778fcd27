/* plait: the C interface of the tile compiler.
 *
 * Text in, callable out: plait_program_parse, plait_kernel_compile, plait_kernel_run. Every function that can fail
 * returns a plait_status and never throws; whatever it has to say about a program or a call comes as diagnostics.
 * Out-parameters are set on every return (to NULL on failure). NULL is a PLAIT_BAD_ARGUMENT where it is not said to be
 * allowed. Any function may be called from any thread; one handle may be used by several threads at once, but for its
 * own destruction. Strings that a function hands out live as long as the handle they come from. */
#ifndef PLAIT_PLAIT_H
#define PLAIT_PLAIT_H

#include <stddef.h>
#include <stdint.h>

#define PLAIT_VERSION "0.1.0"
/* Grows when a program compiled against an older header would break. */
#define PLAIT_ABI_VERSION 1

#define PLAIT_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum plait_status {
  PLAIT_OK = 0,
  PLAIT_REJECTED = 1,     /* the program, the call or a file is wrong: the diagnostics say how */
  PLAIT_BAD_ARGUMENT = 2, /* this interface was used wrongly: a NULL, a number outside its enum, an index too large */
  PLAIT_OUT_OF_MEMORY = 3,
  PLAIT_INTERNAL_ERROR = 4 /* a fault of plait: please report it with the diagnostics and the program */
} plait_status;

typedef struct plait_program plait_program;
typedef struct plait_kernel plait_kernel;
typedef struct plait_diagnostics plait_diagnostics;

/* Version of the library at hand, as PLAIT_VERSION and PLAIT_ABI_VERSION give that of the header. */
PLAIT_API const char* plait_version(void);
PLAIT_API int32_t plait_abi_version(void);
PLAIT_API const char* plait_status_text(plait_status status);

/* ---- Diagnostics
 * ---------------------------------------------------------------------------------------------------------------------
 * A `plait_diagnostics**` parameter may be NULL. Else it is set to NULL when there is nothing to tell, or to a handle
 * that the caller destroys. */

/* For people: file:line:column, message, rule, the line, what to do. */
PLAIT_API plait_status plait_diagnostics_text(const plait_diagnostics* diagnostics, const char** text);
/* The same as a JSON array of {file, line, column, severity, rule, message, fix, notes}. */
PLAIT_API plait_status plait_diagnostics_json(const plait_diagnostics* diagnostics, const char** json);
PLAIT_API plait_status plait_diagnostics_count(const plait_diagnostics* diagnostics, size_t* count);
/* NULL is allowed, here and in the other destroy functions. */
PLAIT_API plait_status plait_diagnostics_destroy(plait_diagnostics* diagnostics);

/* ---- Programs
 * -----------------------------------------------------------------------------------------------------------------------
 */

/* Parses `length` bytes of text. `name` stands for the file in diagnostics; NULL is allowed. */
PLAIT_API plait_status plait_program_parse(const char* name, const char* text, size_t length, plait_program** program,
                                           plait_diagnostics** diagnostics);
PLAIT_API plait_status plait_program_parse_file(const char* path, plait_program** program,
                                                plait_diagnostics** diagnostics);
PLAIT_API plait_status plait_program_kernel_count(const plait_program* program, size_t* count);
PLAIT_API plait_status plait_program_kernel_name(const plait_program* program, size_t index, const char** name);
PLAIT_API plait_status plait_program_destroy(plait_program* program);

/* The value of a compile-time parameter: a literal or a type name, as behind -D. */
typedef struct plait_binding {
  const char* name;
  const char* value;
} plait_binding;

/* Checks every rule of the language for one kernel. `kernel` NULL: the program's only one. `bindings` NULL is allowed
 * when the count is 0. */
PLAIT_API plait_status plait_program_verify(const plait_program* program, const char* kernel,
                                            const plait_binding* bindings, size_t binding_count,
                                            plait_diagnostics** diagnostics);

/* ---- Kernels
 * ------------------------------------------------------------------------------------------------------------------------
 */

/* Set `size` to sizeof(plait_compile_options); members that later versions add are then known to be absent. */
typedef struct plait_compile_options {
  size_t size;
  const char* device; /* "host" (NULL too) or "interp" */
  int32_t no_checks;  /* not 0: leave out the run-time checks of element accesses that are not proved */
} plait_compile_options;

/* Verifies and compiles one kernel; one compilation serves all values of symbolic dims. `options` NULL: the defaults.
 */
PLAIT_API plait_status plait_kernel_compile(const plait_program* program, const char* kernel,
                                            const plait_binding* bindings, size_t binding_count,
                                            const plait_compile_options* options, plait_kernel** compiled,
                                            plait_diagnostics** diagnostics);
PLAIT_API plait_status plait_kernel_destroy(plait_kernel* kernel);

/* Element types. Types narrower than a byte are packed, lowest bits first. */
typedef enum plait_dtype {
  PLAIT_BOOL = 0,
  PLAIT_I1 = 1,
  PLAIT_I2 = 2,
  PLAIT_I4 = 3,
  PLAIT_I8 = 4,
  PLAIT_I16 = 5,
  PLAIT_I32 = 6,
  PLAIT_I64 = 7,
  PLAIT_U1 = 8,
  PLAIT_U2 = 9,
  PLAIT_U4 = 10,
  PLAIT_U8 = 11,
  PLAIT_U16 = 12,
  PLAIT_U32 = 13,
  PLAIT_U64 = 14,
  PLAIT_E2M1 = 15,
  PLAIT_E4M3 = 16,
  PLAIT_E5M2 = 17,
  PLAIT_F16 = 18,
  PLAIT_BF16 = 19,
  PLAIT_TF32 = 20,
  PLAIT_F32 = 21,
  PLAIT_F64 = 22
} plait_dtype;

typedef enum plait_parameter_kind {
  PLAIT_PARAMETER_IN = 0,
  PLAIT_PARAMETER_OUT = 1,
  PLAIT_PARAMETER_INOUT = 2,
  PLAIT_PARAMETER_SCALAR = 3
} plait_parameter_kind;

typedef struct plait_parameter {
  const char* name;
  int32_t kind;        /* plait_parameter_kind */
  int32_t dtype;       /* plait_dtype */
  int32_t rank;        /* 0 for a scalar */
  int32_t has_default; /* scalars: the call may leave it out */
} plait_parameter;

PLAIT_API plait_status plait_kernel_name(const plait_kernel* kernel, const char** name);
PLAIT_API plait_status plait_kernel_parameter_count(const plait_kernel* kernel, size_t* count);
PLAIT_API plait_status plait_kernel_parameter(const plait_kernel* kernel, size_t index, plait_parameter* parameter);

/* ---- Calls
 * --------------------------------------------------------------------------------------------------------------------------
 */

/* A tensor in the caller's memory, as DLPack describes one. */
typedef struct plait_tensor {
  void* data;
  int32_t dtype; /* plait_dtype */
  int32_t rank;
  const int64_t* shape;
  const int64_t* strides; /* elements; NULL: contiguous, the last dimension fastest */
  int64_t bytes;          /* memory behind `data`, -1 where unknown: then it is not checked */
  const char* device;     /* where the memory is; NULL: "host" */
} plait_tensor;

typedef enum plait_argument_kind {
  PLAIT_ARGUMENT_TENSOR = 0,
  PLAIT_ARGUMENT_INTEGER = 1,
  PLAIT_ARGUMENT_FLOAT = 2
} plait_argument_kind;

/* One argument of a call: by `name`, or where that is NULL for the parameter at the argument's own place. Integers
 * serve integer and bool parameters, floats those of every float type, rounded to it. */
typedef struct plait_argument {
  const char* name;
  int32_t kind;        /* plait_argument_kind */
  plait_tensor tensor; /* of the three, the one that `kind` names is read */
  int64_t integer;
  double floating;
} plait_argument;

/* Set `size` to sizeof(plait_run_options). */
typedef struct plait_run_options {
  size_t size;
  int32_t threads; /* 0: all of the machine; never more than it has */
} plait_run_options;

/* Checks the call (shapes, strides, dtypes, alignment, overlap, `require`), then runs every block before it returns. On
 * PLAIT_REJECTED by the checks no tensor was touched; on a failed run-time check the outputs are undefined. `options`
 * NULL: the defaults. */
PLAIT_API plait_status plait_kernel_run(const plait_kernel* kernel, const plait_argument* arguments,
                                        size_t argument_count, const plait_run_options* options,
                                        plait_diagnostics** diagnostics);

/* ---- Programs on NVIDIA devices
 * ---------------------------------------------------------------------------------------------------------------------
 * Text of a tile program or a role program in, launch on a CUstream out. The driver and NVRTC are loaded when a call
 * first needs them. */

typedef struct plait_roles plait_roles;
typedef struct plait_launch plait_launch;

/* Set `size` to sizeof(plait_roles_options). */
typedef struct plait_roles_options {
  size_t size;
  const char* architecture; /* e.g. "sm_90a"; NULL: that of this thread's current device, or where there is no device
                             * that of the one that the program is written for */
  int32_t allow_serialized; /* not 0: wgmma instructions that the assembler serializes are a warning, not an error */
  int32_t source_only;      /* not 0: end with the CUDA C++, for which no NVRTC is needed */
  const char* cuda_source;  /* for experiments: CUDA C++ with the same entry and parameters, compiled in place of the
                             * emitted text; NULL: the emitted text */
  /* Of tile programs: */
  const char* kernel;        /* needed where the text has several */
  const char* device;        /* machine model that it is placed on; NULL: that of the schedule, else "h200" */
  const char* schedule;      /* text of a schedule, ended by a NUL; NULL: what the author wrote, else `planner`'s */
  const plait_binding* dims; /* extents of the calls, as far as they are known: a tensor whose rows are then no multiple
                              * of 16 bytes is moved without TMA. Calls whose tensors are aligned otherwise get a kernel
                              * of their own, see plait_roles_select */
  size_t dim_count;
  const char* planner; /* of the loops whose author says nothing: "rules", "greedy", "modulo" or "auto"; NULL: auto */
} plait_roles_options;

/* Parses, verifies, emits and compiles `length` bytes of text; a text that begins with `roles` is a role program, any
 * other a tile program, which is placed and pipelined first. `name` stands for the file in diagnostics; NULL is
 * allowed. `options` NULL: the defaults. Warnings come as diagnostics of a call that succeeds. What was compiled
 * before, by whatever process, is not compiled again, and with PLAIT_JIT=forbid nothing is (docs/cache.md). */
PLAIT_API plait_status plait_roles_compile(const char* name, const char* text, size_t length,
                                           const plait_binding* bindings, size_t binding_count,
                                           const plait_roles_options* options, plait_roles** compiled,
                                           plait_diagnostics** diagnostics);
PLAIT_API plait_status plait_roles_name(const plait_roles* roles, const char** name);
PLAIT_API plait_status plait_roles_parameter_count(const plait_roles* roles, size_t* count);
PLAIT_API plait_status plait_roles_parameter(const plait_roles* roles, size_t index, plait_parameter* parameter);
/* The CUDA C++ that was compiled. */
PLAIT_API plait_status plait_roles_source(const plait_roles* roles, const char** source);
/* Empty after source_only. */
PLAIT_API plait_status plait_roles_ptx(const plait_roles* roles, const char** ptx);
PLAIT_API plait_status plait_roles_cubin(const plait_roles* roles, const void** image, size_t* bytes);
/* A JSON object: name, entry, architecture, threads, cluster, smem_bytes, registers, stack_bytes, spill_store_bytes,
 * spill_load_bytes, cubin_bytes, compiler, ms (of each step: `cache` without `nvrtc` where the code was there already),
 * warnings, log. */
PLAIT_API plait_status plait_roles_report(const plait_roles* roles, const char** json);
PLAIT_API plait_status plait_roles_destroy(plait_roles* roles);

/* Loads the code into the context that is current in this thread (where there is none, the primary context of device 0
 * becomes current). plait_launch_prepare does so too where it was not done. */
PLAIT_API plait_status plait_roles_load(const plait_roles* roles, plait_diagnostics** diagnostics);

/* The kernel that serves a call with these arguments. A tile program becomes one kernel for each set of alignments that
 * calls come with (rows that start at multiples of 16 bytes or not, that start with lines of 128 bytes or not): the one
 * of plait_roles_compile, or another that is compiled when the first such call needs it, which this does, as
 * plait_launch_prepare does. `selected` belongs to `roles`, and is `roles` itself where nothing else is needed. */
PLAIT_API plait_status plait_roles_select(const plait_roles* roles, const plait_argument* arguments,
                                          size_t argument_count, const plait_roles** selected,
                                          plait_diagnostics** diagnostics);

/* Checks a call (shapes, strides, dtypes, alignment, overlap, `require`, the limits of TMA and of the device) and lays
 * out its arguments, for the context that is current in this thread. Tensors are in the device's memory: their `device`
 * is "cuda". The launch keeps what it needs of `roles`, but not the tensors. */
PLAIT_API plait_status plait_launch_prepare(const plait_roles* roles, const plait_argument* arguments,
                                            size_t argument_count, plait_launch** launch,
                                            plait_diagnostics** diagnostics);
/* Puts the kernel on `stream`, a CUstream or cudaStream_t of the same context (NULL: the default stream), and returns
 * without waiting: errors of the kernel show where the stream is waited for. It allocates nothing but the program's
 * workspaces, in the order of the stream, and may be captured into a graph. */
PLAIT_API plait_status plait_launch_run(const plait_launch* launch, void* stream, plait_diagnostics** diagnostics);
PLAIT_API plait_status plait_launch_destroy(plait_launch* launch);

#ifdef __cplusplus
}
#endif

#endif
