/* A libcuda.so.1 without a GPU: memory is the host's, kernels do nothing, and what reaches the driver is written to the
 * file FAKE_CUDA_TRACE. FAKE_CUDA_WORDS=INDEX:BYTES,… are kernel parameters whose values are written, too;
 * FAKE_CUDA_FAIL=FUNCTION fails; FAKE_CUDA_ARCH=90, FAKE_CUDA_GRID, FAKE_CUDA_SMEM and FAKE_CUDA_CONTEXT=none say what
 * device there is. Pointers in the first page above 4096 are no memory of the device. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID = 1, NO_DEVICE_MEMORY = 4096 * 2 };

static int number(const char* name, int otherwise) {
  const char* text = getenv(name);
  return text ? atoi(text) : otherwise;
}
static int answer(const char* function) {
  const char* failing = getenv("FAKE_CUDA_FAIL");
  return failing && strcmp(failing, function) == 0 ? INVALID : OK;
}
static FILE* trace(void) {
  static FILE* file;
  const char* name = getenv("FAKE_CUDA_TRACE");
  if (file == NULL) file = fopen(name ? name : "/dev/null", "a");
  setvbuf(file, NULL, _IOLBF, 0);
  return file;
}
static int handle(const char* function, void** made) {
  *made = (void*)0x1000;
  return answer(function);
}

int cuInit(unsigned flags) { return (void)flags, answer("cuInit"); }
int cuDriverGetVersion(int* version) { return *version = 13000, OK; }
int cuGetErrorName(int status, const char** name) { return (void)status, *name = "CUDA_ERROR_FAKE", OK; }
int cuGetErrorString(int status, const char** text) { return (void)status, *text = "a fake error", OK; }
int cuDeviceGetCount(int* count) { return *count = 1, OK; }
int cuDeviceGet(int* device, int index) { return *device = index, OK; }
int cuDeviceGetName(char* name, int size, int device) { return (void)device, snprintf(name, (size_t)size, "fake"), OK; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  int arch = number("FAKE_CUDA_ARCH", 90);
  (void)device;
  switch (attribute) {
    case 1:
      return *value = 1024, OK;
    case 5:
      return *value = number("FAKE_CUDA_GRID", 2147483647), OK;
    case 6:
    case 7:
      return *value = 65535, OK;
    case 16:
      return *value = 132, OK;
    case 38:
      return *value = 1 << 20, OK;
    case 75:
      return *value = arch / 10, OK;
    case 76:
      return *value = arch % 10, OK;
    case 97:
      return *value = number("FAKE_CUDA_SMEM", 232448), OK;
  }
  return *value = 0, OK;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  return (void)device, handle("cuDevicePrimaryCtxRetain", context);
}
int cuCtxGetCurrent(void** context) {
  *context = getenv("FAKE_CUDA_CONTEXT") ? NULL : (void*)0x1000;
  return OK;
}
int cuCtxSetCurrent(void* context) { return (void)context, OK; }
int cuCtxGetDevice(int* device) { return *device = 0, OK; }
int cuCtxGetId(void* context, unsigned long long* id) { return (void)context, *id = 1, OK; }
int cuCtxSynchronize(void) { return OK; }
int cuModuleLoadData(void** module, const void* image) {
  fprintf(trace(), "load %s\n", memcmp(image, "\177ELF", 4) == 0 ? "elf" : "other");
  return handle("cuModuleLoadData", module);
}
int cuModuleUnload(void* module) { return (void)module, fprintf(trace(), "unload\n"), OK; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  (void)module;
  fprintf(trace(), "function %s\n", name);
  return handle("cuModuleGetFunction", function);
}
int cuFuncGetAttribute(int* value, int attribute, void* function) {
  return (void)attribute, (void)function, *value = 1, OK;
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
  (void)function;
  fprintf(trace(), "attribute %d %d\n", attribute, value);
  return answer("cuFuncSetAttribute");
}
int cuPointerGetAttribute(void* value, int attribute, unsigned long long pointer) {
  (void)attribute;
  *(unsigned*)value = 2;
  return pointer < NO_DEVICE_MEMORY ? INVALID : answer("cuPointerGetAttribute");
}
int cuMemAlloc_v2(unsigned long long* pointer, size_t bytes) {
  void* made = aligned_alloc(256, (bytes + 255) / 256 * 256 + 256);
  if (made != NULL) memset(made, 0, bytes);
  return *pointer = (unsigned long long)(uintptr_t)made, made ? OK : 2;
}
int cuMemFree_v2(unsigned long long pointer) { return free((void*)(uintptr_t)pointer), OK; }
int cuMemAllocAsync(unsigned long long* pointer, size_t bytes, void* stream) {
  return (void)stream, cuMemAlloc_v2(pointer, bytes);
}
int cuMemFreeAsync(unsigned long long pointer, void* stream) { return (void)stream, cuMemFree_v2(pointer); }
int cuMemGetInfo_v2(size_t* available, size_t* total) { return *available = *total = (size_t)1 << 36, OK; }
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  return memcpy((void*)(uintptr_t)to, from, bytes), OK;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  return memcpy(to, (void*)(uintptr_t)from, bytes), OK;
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void* stream) {
  (void)stream;
  memset((void*)(uintptr_t)to, value, bytes);
  fprintf(trace(), "fill %zu\n", bytes);
  return answer("cuMemsetD8Async");
}
int cuStreamCreate(void** stream, unsigned flags) { return (void)flags, handle("cuStreamCreate", stream); }
int cuStreamDestroy_v2(void* stream) { return (void)stream, OK; }
int cuStreamSynchronize(void* stream) { return (void)stream, OK; }
int cuEventCreate(void** event, unsigned flags) { return (void)flags, handle("cuEventCreate", event); }
int cuEventDestroy_v2(void* event) { return (void)event, OK; }
int cuEventRecord(void* event, void* stream) { return (void)event, (void)stream, OK; }
int cuEventSynchronize(void* event) { return (void)event, OK; }
int cuEventElapsedTime(float* ms, void* from, void* to) { return (void)from, (void)to, *ms = 1, OK; }
int cuStreamBeginCapture_v2(void* stream, int mode) { return (void)stream, (void)mode, OK; }
int cuStreamEndCapture(void* stream, void** graph) { return (void)stream, handle("cuStreamEndCapture", graph); }
int cuGraphInstantiateWithFlags(void** graph, void* from, unsigned long long flags) {
  return (void)from, (void)flags, handle("cuGraphInstantiate", graph);
}
int cuGraphLaunch(void* graph, void* stream) { return (void)graph, (void)stream, OK; }
int cuGraphExecDestroy(void* graph) { return (void)graph, OK; }
int cuGraphDestroy(void* graph) { return (void)graph, OK; }
int cuThreadExchangeStreamCaptureMode(int* mode) { return *mode = 2 - *mode, OK; }

int cuTensorMapEncodeTiled(void* map, int type, uint32_t rank, void* address, const uint64_t* extents,
                           const uint64_t* strides, const uint32_t* box, const uint32_t* steps, int interleave,
                           int swizzle, int promotion, int fill) {
  FILE* out = trace();
  memset(map, 1, 128);
  fprintf(out, "map type %d place %d extents", type, (int)((uintptr_t)address % 256));
  for (uint32_t i = 0; i < rank; ++i) fprintf(out, " %" PRIu64, extents[i]);
  fprintf(out, " strides");
  for (uint32_t i = 0; i + 1 < rank; ++i) fprintf(out, " %" PRIu64, strides[i]);
  fprintf(out, " box");
  for (uint32_t i = 0; i < rank; ++i) fprintf(out, " %u/%u", box[i], steps[i]);
  fprintf(out, " interleave %d swizzle %d promotion %d fill %d\n", interleave, swizzle, promotion, fill);
  return answer("cuTensorMapEncodeTiled");
}

struct attribute {
  int id;
  char padding[4];
  unsigned value[16];
};
struct config {
  unsigned grid[3], block[3], smem;
  void* stream;
  const struct attribute* attributes;
  unsigned count;
};
int cuLaunchKernelEx(const struct config* c, void* function, void** params, void** extra) {
  const char* words = getenv("FAKE_CUDA_WORDS");
  FILE* out = trace();
  int index, bytes, used;
  (void)function, (void)extra;
  fprintf(out, "launch %u %u %u block %u %u %u smem %u", c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
          c->block[2], c->smem);
  for (unsigned i = 0; i < c->count; ++i)
    fprintf(out, " attribute %d %u %u %u", c->attributes[i].id, c->attributes[i].value[0], c->attributes[i].value[1],
            c->attributes[i].value[2]);
  while (words && sscanf(words, "%d:%d%n", &index, &bytes, &used) == 2) {
    uint64_t value = 0;
    memcpy(&value, params[index], (size_t)bytes);
    fprintf(out, " word %" PRIu64, value);
    words += used;
    words += *words == ',';
  }
  fprintf(out, "\n");
  return answer("cuLaunchKernelEx");
}
