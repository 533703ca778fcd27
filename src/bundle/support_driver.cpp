#include "bundle/support.h"

namespace plait::bundle {

std::string_view driver_support() {
  return R"C(
/* ---- The driver -------------------------------------------------------------------------------------------------- */

struct launch_attribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    unsigned cluster[3];
  } value;
};
struct launch_config {
  unsigned grid[3], block[3], smem_bytes;
  struct CUstream_st *stream;
  const struct launch_attribute *attributes;
  unsigned attribute_count;
};

struct driver {
  int (*init)(unsigned);
  int (*error_name)(int, const char **);
  int (*error_text)(int, const char **);
  int (*context_id)(void *, unsigned long long *);
  int (*current_context)(void **);
  int (*context_device)(int *);
  int (*device_attribute)(int *, int, int);
  int (*pointer_attribute)(void *, int, unsigned long long);
  int (*load_module)(void **, const void *);
  int (*unload_module)(void *);
  int (*function)(void **, void *, const char *);
  int (*set_function_attribute)(void *, int, int);
  int (*encode_map)(struct tensor_map *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,
                    const uint32_t *, int, int, int, int);
  int (*fill)(unsigned long long, unsigned char, size_t, struct CUstream_st *);
  int (*exchange_capture_mode)(int *);
  int (*launch)(const struct launch_config *, void *, void **, void **);
};

static int driver_failed(const struct driver *d, int status, const char *kernel_name, const char *what) {
  const char *name = NULL, *text = NULL;
  d->error_name(status, &name);
  d->error_text(status, &text);
  return fail(@@_DRIVER, "%s: %s: %s (%d): %s", kernel_name, what, name ? name : "?", status, text ? text : "?");
}

static int open_driver(struct driver *d) {
  static const char *const names[] = {"cuInit",
                                      "cuGetErrorName",
                                      "cuGetErrorString",
                                      "cuCtxGetId",
                                      "cuCtxGetCurrent",
                                      "cuCtxGetDevice",
                                      "cuDeviceGetAttribute",
                                      "cuPointerGetAttribute",
                                      "cuModuleLoadData",
                                      "cuModuleUnload",
                                      "cuModuleGetFunction",
                                      "cuFuncSetAttribute",
                                      "cuTensorMapEncodeTiled",
                                      "cuMemsetD8Async",
                                      "cuThreadExchangeStreamCaptureMode",
                                      "cuLaunchKernelEx"};
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *symbols[sizeof names / sizeof names[0]];
  int status;
  if (library == NULL) return fail(@@_NO_DRIVER, "there is no NVIDIA driver here: %s", dlerror());
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    symbols[i] = dlsym(library, names[i]);
    if (symbols[i] == NULL)
      return fail(@@_NO_DRIVER, "libcuda.so.1 is no NVIDIA driver of version 12 or newer: it has no %s", names[i]);
  }
  _Static_assert(sizeof *d == sizeof symbols, "a name for each function");
  /* C does not let functions be assigned from pointers to objects. */
  memcpy(d, symbols, sizeof symbols);
  status = d->init(0);
  return status ? driver_failed(d, status, "@", "initialising the driver") : @@_OK;
}

/* ---- Devices and their code -------------------------------------------------------------------------------------- */

/* What the launches of a context have to know. */
struct device {
  unsigned long long context_id;
  int architecture; /* its number in `architectures` */
  int sms, max_threads, max_smem, max_grid[3], reaches_host_memory;
  void *functions[CODES], *modules[CODES];
  struct device *next;
};

struct @_bundle {
  pthread_mutex_t mutex; /* of devices and what they hold */
  struct driver driver;
  struct device *devices;
  char folder[];
};

static int runs_on(int architecture, int number) {
  int own = architectures[architecture].number;
  return architectures[architecture].is_specific ? own == number : own / 10 == number / 10 && own <= number;
}

static int read_device(const struct driver *d, struct device *device) {
  enum { MAX_THREADS = 1, GRID_X = 5, SMS = 16, MAJOR = 75, MINOR = 76, PAGEABLE = 88, MAX_SMEM = 97 };
  int number = 0, major = 0, minor = 0, status = d->context_device(&number);
  struct {
    int *into, attribute;
  } wanted[] = {{&device->max_threads, MAX_THREADS},  {&device->max_grid[0], GRID_X},
                {&device->max_grid[1], GRID_X + 1}, {&device->max_grid[2], GRID_X + 2},
                {&device->sms, SMS},                  {&major, MAJOR},
                {&minor, MINOR},                      {&device->reaches_host_memory, PAGEABLE},
                {&device->max_smem, MAX_SMEM}};
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0] && status == 0; ++i)
    status = d->device_attribute(wanted[i].into, wanted[i].attribute, number);
  if (status) return driver_failed(d, status, "@", "asking for the device's limits");
  for (device->architecture = 0; device->architecture < ARCHITECTURES; ++device->architecture)
    if (runs_on(device->architecture, 10 * major + minor)) return @@_OK;
  return fail(@@_NO_CODE, "the device is sm_%d%d, and the bundle has code for " ARCHITECTURE_NAMES, major, minor);
}

/* The device of the current context. */
static int current_device(@_bundle *bundle, const struct device **found) {
  const struct driver *d = &bundle->driver;
  unsigned long long id = 0;
  void *context = NULL;
  struct device *device;
  int status = d->current_context(&context), code = @@_OK;
  if (status == 0 && context == NULL)
    return fail(@@_NO_CONTEXT, "this thread has no current CUDA context: make one current before it launches");
  if (status == 0) status = d->context_id(context, &id);
  if (status) return driver_failed(d, status, "@", "asking for the current context");
  pthread_mutex_lock(&bundle->mutex);
  for (device = bundle->devices; device != NULL && device->context_id != id; device = device->next) continue;
  if (device == NULL) {
    device = calloc(1, sizeof *device);
    code = device == NULL ? fail(@@_OUT_OF_MEMORY, "there is no memory for a device's entry") : read_device(d, device);
    if (code == @@_OK) {
      device->context_id = id;
      device->next = bundle->devices;
      bundle->devices = device;
    } else {
      free(device);
    }
  }
  pthread_mutex_unlock(&bundle->mutex);
  if (code == @@_OK) *found = device;
  return code;
}

/* The bytes of a file, which have to be those that the bundle was written with; the caller frees them. */
static int read_code(const char *folder, const struct code *code, unsigned char **image) {
  size_t length = strlen(folder) + 1 + strlen(code->file) + 1, got;
  char *path = malloc(length);
  unsigned char *bytes = malloc(code->bytes + 1);
  uint64_t digest = UINT64_C(14695981039346656037);
  FILE *file = NULL;
  int result = @@_OK;
  if (path == NULL || bytes == NULL) {
    result = fail(@@_OUT_OF_MEMORY, "there is no memory for the %zu bytes of %s", code->bytes, code->file);
  } else {
    snprintf(path, length, "%s/%s", folder, code->file);
    file = fopen(path, "rb");
    if (file == NULL) result = fail(@@_NO_FILE, "%s cannot be read: %s", path, strerror(errno));
  }
  if (file != NULL) {
    got = fread(bytes, 1, code->bytes + 1, file);
    for (size_t i = 0; i < got; ++i) digest = (digest ^ bytes[i]) * UINT64_C(1099511628211);
    if (ferror(file)) {
      result = fail(@@_NO_FILE, "%s cannot be read: %s", path, strerror(errno));
    } else if (got != code->bytes || digest != code->digest) {
      result = fail(@@_DAMAGED, "%s is not as it was written: %s", path,
                    got < code->bytes   ? "it has fewer bytes than it was written with"
                    : got > code->bytes ? "it has more bytes than it was written with"
                                        : "its bytes are others");
    }
    fclose(file);
  }
  free(path);
  if (result != @@_OK) {
    free(bytes);
    bytes = NULL;
  }
  *image = bytes;
  return result;
}

/* Loads code into the current context. The mutex is held. */
static int load_code(@_bundle *bundle, struct device *device, int number) {
  enum { MAX_DYNAMIC_SMEM = 8, NON_PORTABLE_CLUSTER = 14, RELAXED = 2, PORTABLE_CLUSTER = 8 };
  const struct driver *d = &bundle->driver;
  const struct code *code = &codes[number];
  unsigned char *image = NULL;
  void *module = NULL, *function = NULL;
  int mode = RELAXED, status, result;
  if (code->threads > (unsigned)device->max_threads)
    return fail(@@_LIMIT, "%s: a block has %u threads, the device runs at most %d", code->file, code->threads,
                device->max_threads);
  if (code->smem_bytes > (unsigned)device->max_smem)
    return fail(@@_LIMIT, "%s: a block takes %u bytes of shared memory, the device has %d", code->file,
                code->smem_bytes, device->max_smem);
  result = read_code(bundle->folder, code, &image);
  if (result != @@_OK) return result;
  /* Loading is no work of a stream, but a capture would refuse it. */
  status = d->exchange_capture_mode(&mode);
  if (status == 0) {
    status = d->load_module(&module, image);
    if (status == 0) status = d->function(&function, module, code->entry);
    if (status == 0) status = d->set_function_attribute(function, MAX_DYNAMIC_SMEM, (int)code->smem_bytes);
    if (status == 0 && code->cluster > PORTABLE_CLUSTER)
      status = d->set_function_attribute(function, NON_PORTABLE_CLUSTER, 1);
    d->exchange_capture_mode(&mode);
  }
  free(image);
  if (status) {
    result = driver_failed(d, status, code->file, "loading");
    if (module != NULL) d->unload_module(module);
    return result;
  }
  device->modules[number] = module;
  device->functions[number] = function;
  return @@_OK;
}

static int function_of(@_bundle *bundle, const struct device *device, int number, void **function) {
  int result = @@_OK;
  pthread_mutex_lock(&bundle->mutex);
  if (device->functions[number] == NULL) result = load_code(bundle, (struct device *)(uintptr_t)device, number);
  *function = device->functions[number];
  pthread_mutex_unlock(&bundle->mutex);
  return result;
}
)C";
}

}  // namespace plait::bundle
