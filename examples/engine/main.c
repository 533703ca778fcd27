/* An engine without plait: a product, attention and RMSNorm of the bundle `engine_kernels`, launched and compared with
 * plain loops. `engine [FOLDER]`: where the bundle is, else engine_kernels beside the working directory. Exit codes: 0
 * all results are right, 1 one is wrong, 2 the command line is wrong, 3 there is no driver or no GPU here, 4 a call
 * failed. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine_kernels.h"

enum { RIGHT, WRONG, USAGE, NO_GPU, FAILED };

/* ---- The driver, as far as an engine needs it besides launches ---- */

typedef unsigned long long address;
typedef struct CUstream_st* stream;

static struct {
  int (*init)(unsigned);
  int (*device)(int*, int);
  int (*retain)(void**, int);
  int (*set_current)(void*);
  int (*allocate)(address*, size_t);
  int (*to_device)(address, const void*, size_t);
  int (*to_host)(void*, address, size_t);
  int (*create_stream)(stream*, unsigned);
  int (*synchronize)(stream);
  int (*synchronize_all)(void);
  int (*begin_capture)(stream, int);
  int (*end_capture)(stream, void**);
  int (*instantiate)(void**, void*, unsigned long long);
  int (*launch_graph)(void*, stream);
} driver;

static int open_driver(void) {
  static const char* const names[] = {"cuInit",
                                      "cuDeviceGet",
                                      "cuDevicePrimaryCtxRetain",
                                      "cuCtxSetCurrent",
                                      "cuMemAlloc_v2",
                                      "cuMemcpyHtoD_v2",
                                      "cuMemcpyDtoH_v2",
                                      "cuStreamCreate",
                                      "cuStreamSynchronize",
                                      "cuCtxSynchronize",
                                      "cuStreamBeginCapture_v2",
                                      "cuStreamEndCapture",
                                      "cuGraphInstantiateWithFlags",
                                      "cuGraphLaunch"};
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *symbols[sizeof names / sizeof names[0]], *context;
  int device, status;
  if (library == NULL) return 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) symbols[i] = dlsym(library, names[i]);
  memcpy(&driver, symbols, sizeof symbols);
  status = driver.init(0);
  if (status == 0) status = driver.device(&device, 0);
  if (status == 0) status = driver.retain(&context, device);
  if (status == 0) status = driver.set_current(context);
  return status == 0;
}

static void must(int status, const char* what) {
  if (status == 0) return;
  fprintf(stderr, "engine: %s: the driver says %d\n", what, status);
  exit(FAILED);
}

/* ---- Tensors of bf16, and what they hold ---- */

static float float_of(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

static uint16_t bf16_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

struct tensor {
  int64_t elements;
  uint16_t* host;
  address device;
};

static struct tensor make(int64_t elements) {
  struct tensor t = {elements, calloc((size_t)elements, sizeof(uint16_t)), 0};
  if (t.host == NULL) exit(FAILED);
  must(driver.allocate(&t.device, (size_t)elements * sizeof(uint16_t)), "reserving a tensor");
  return t;
}

static void upload(const struct tensor* t) {
  must(driver.to_device(t->device, t->host, (size_t)t->elements * sizeof(uint16_t)), "copying a tensor");
  /* The stream of the launches does not wait for copies by itself. */
  must(driver.synchronize_all(), "copying a tensor");
}

static struct tensor draw(int64_t elements) {
  static uint32_t state = 1;
  struct tensor t = make(elements);
  for (int64_t i = 0; i < elements; ++i) {
    state = state * 1664525u + 1013904223u;
    t.host[i] = bf16_of((float)(state >> 8) / 8388608.0f - 1.0f);
  }
  upload(&t);
  return t;
}

static const void* in(const struct tensor* t) { return (const void*)(uintptr_t)t->device; }
static void* out(const struct tensor* t) { return (void*)(uintptr_t)t->device; }

/* ---- A kernel, and how it is tried ---- */

static engine_kernels_bundle* bundle;
static stream work;

struct trial {
  const char* name;
  int (*launch)(const void* args);
  const void* args;
  struct tensor result;
  const float* wanted;
  float tolerance; /* absolute, besides what rounding to bf16 makes */
};

static int launched(const struct trial* t, int code) {
  if (code == ENGINE_KERNELS_OK) return 1;
  fprintf(stderr, "engine: %s: %s: %s\n", t->name, engine_kernels_error_string(code), engine_kernels_last_error());
  return 0;
}

/* The largest deviation in units of what is allowed; the result is cleared for the next launch. */
static double deviation(const struct trial* t) {
  double worst = 0;
  must(driver.synchronize(work), "running a kernel");
  must(driver.to_host(t->result.host, t->result.device, (size_t)t->result.elements * sizeof(uint16_t)), "copying back");
  for (int64_t i = 0; i < t->result.elements; ++i) {
    double got = float_of(t->result.host[i]), wanted = t->wanted[i];
    double part = fabs(got - wanted) / (t->tolerance + fabs(wanted) / 128);
    if (!(part <= worst)) worst = part;
    t->result.host[i] = 0xffff;
  }
  upload(&t->result);
  return worst;
}

static int by_value(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Nanoseconds of the CPU for a launch, the median of batches that the GPU has no part in. */
static double launch_cost(const struct trial* t) {
  enum { BATCHES = 31, LAUNCHES = 50 };
  double costs[BATCHES];
  struct timespec start, stop;
  for (int batch = 0; batch < BATCHES; ++batch) {
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 0; i < LAUNCHES; ++i) t->launch(t->args);
    clock_gettime(CLOCK_MONOTONIC, &stop);
    must(driver.synchronize(work), "running a kernel");
    costs[batch] = ((double)(stop.tv_sec - start.tv_sec) * 1e9 + (double)(stop.tv_nsec - start.tv_nsec)) / LAUNCHES;
  }
  qsort(costs, BATCHES, sizeof costs[0], by_value);
  return costs[BATCHES / 2];
}

/* In a graph, whose capture is the first to need the kernel, then by itself. */
static int try_kernel(const struct trial* t) {
  void *graph, *replay;
  double captured, direct;
  int code;
  must(driver.begin_capture(work, 0), "beginning a capture");
  code = t->launch(t->args);
  must(driver.end_capture(work, &graph), "ending a capture");
  if (!launched(t, code)) return FAILED;
  must(driver.instantiate(&replay, graph, 0), "making a graph");
  must(driver.launch_graph(replay, work), "launching a graph");
  captured = deviation(t);
  if (!launched(t, t->launch(t->args))) return FAILED;
  direct = deviation(t);
  printf("%s: %s, deviation %.3f of what is allowed (in a graph %.3f), %.0f ns of the CPU a launch\n", t->name,
         captured <= 1 && direct <= 1 ? "right" : "WRONG", direct, captured, launch_cost(t));
  return captured <= 1 && direct <= 1 ? RIGHT : WRONG;
}

/* ---- C = A·Bᵀ ---- */

static int launch_product(const void* args) { return engine_kernels_matmul_nt_launch(bundle, args, NULL, 0, work); }

static int product(int64_t m, int64_t n, int64_t k) {
  struct tensor a = draw(m * k), b = draw(n * k), c = make(m * n);
  float* wanted = malloc((size_t)(m * n) * sizeof(float));
  engine_kernels_matmul_nt_args args = {.A = in(&a), .B = in(&b), .C = out(&c), .M = m, .N = n, .K = k};
  struct trial t = {"matmul_nt", launch_product, &args, c, wanted, 0.01f};
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += float_of(a.host[i * k + l]) * float_of(b.host[j * k + l]);
      wanted[i * n + j] = sum;
    }
  }
  return try_kernel(&t);
}

/* ---- Attention of heads with 64 channels ---- */

static int launch_attention(const void* args) { return engine_kernels_attention_launch(bundle, args, NULL, 0, work); }

static int attention(int64_t heads, int64_t kv_heads, int64_t queries, int64_t keys) {
  enum { D = 64 };
  struct tensor q = draw(heads * queries * D), k = draw(kv_heads * keys * D), v = draw(kv_heads * keys * D),
                o = make(heads * queries * D);
  float *wanted = calloc((size_t)(heads * queries * D), sizeof(float)), *p = malloc((size_t)keys * sizeof(float));
  engine_kernels_attention_args args = {.Q = in(&q),
                                        .K = in(&k),
                                        .V = in(&v),
                                        .O = out(&o),
                                        .B = 1,
                                        .H = heads,
                                        .Hkv = kv_heads,
                                        .Sq = queries,
                                        .Sk = keys};
  struct trial t = {"attention", launch_attention, &args, o, wanted, 0.01f};
  for (int64_t row = 0; row < heads * queries; ++row) {
    int64_t kv = row / queries / (heads / kv_heads) * keys;
    float most = -INFINITY, sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      float s = 0;
      for (int d = 0; d < D; ++d) s += float_of(q.host[row * D + d]) * float_of(k.host[(kv + j) * D + d]);
      p[j] = s / 8;
      most = fmaxf(most, p[j]);
    }
    for (int64_t j = 0; j < keys; ++j) sum += p[j] = expf(p[j] - most);
    for (int64_t j = 0; j < keys; ++j)
      for (int d = 0; d < D; ++d) wanted[row * D + d] += p[j] / sum * float_of(v.host[(kv + j) * D + d]);
  }
  free(p);
  return try_kernel(&t);
}

/* ---- RMSNorm of rows ---- */

static int launch_rmsnorm(const void* args) { return engine_kernels_rmsnorm_launch(bundle, args, NULL, 0, work); }

static int rmsnorm(int64_t m, int64_t n) {
  struct tensor x = draw(m * n), w = draw(n), y = make(m * n);
  float* wanted = malloc((size_t)(m * n) * sizeof(float));
  engine_kernels_rmsnorm_args args = {.X = in(&x), .W = in(&w), .Y = out(&y), .eps = 1e-5f, .M = m, .N = n};
  struct trial t = {"rmsnorm", launch_rmsnorm, &args, y, wanted, 0.01f};
  for (int64_t i = 0; i < m; ++i) {
    float squares = 0;
    for (int64_t j = 0; j < n; ++j) squares += float_of(x.host[i * n + j]) * float_of(x.host[i * n + j]);
    for (int64_t j = 0; j < n; ++j)
      wanted[i * n + j] = float_of(x.host[i * n + j]) / sqrtf(squares / (float)n + args.eps) * float_of(w.host[j]);
  }
  return try_kernel(&t);
}

int main(int count, char** values) {
  int code, worst = RIGHT, results[5];
  if (count > 2) {
    fprintf(stderr, "usage: engine [FOLDER]\n");
    return USAGE;
  }
  code = engine_kernels_create(count == 2 ? values[1] : "engine_kernels", &bundle);
  if (code != ENGINE_KERNELS_OK) {
    fprintf(stderr, "engine: %s: %s\n", engine_kernels_error_string(code), engine_kernels_last_error());
    return code == ENGINE_KERNELS_NO_DRIVER || code == ENGINE_KERNELS_DRIVER ? NO_GPU : FAILED;
  }
  if (!open_driver()) {
    fprintf(stderr, "engine: the driver finds no GPU\n");
    return NO_GPU;
  }
  must(driver.create_stream(&work, 1), "creating a stream");
  results[0] = product(256, 384, 512);
  /* Rows that do not start at multiples of 16 bytes: another kernel of the bundle. */
  results[1] = product(200, 333, 251);
  results[2] = attention(4, 2, 256, 320);
  results[3] = rmsnorm(100, 4096);
  results[4] = rmsnorm(7, 1001);
  for (int i = 0; i < 5; ++i) worst = results[i] > worst ? results[i] : worst;
  engine_kernels_destroy(bundle);
  return worst;
}
