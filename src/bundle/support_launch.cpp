#include "bundle/support.h"

namespace plait::bundle {

std::string_view plan_support() {
  return R"C(
/* ---- What plans of launches are made of -------------------------------------------------------------------------- */

static int set_blocks(struct call *c, int axis, int64_t value, const char *text, int cluster) {
  if (c->num.failure) return arithmetic(c, "launch extent", text);
  if (value < 0) return fail(@@_GRID, "%s: launch extent %d is %lld", c->kernel_name, axis, (long long)value);
  if (value > c->device->max_grid[axis])
    return fail(@@_LIMIT, "%s: launch extent %d is %lld; the device runs at most %d", c->kernel_name, axis,
                (long long)value, c->device->max_grid[axis]);
  if (axis == 0 && value % cluster != 0)
    return fail(@@_LIMIT, "%s: launch extent 0 is %lld, not a multiple of the cluster of %d", c->kernel_name,
                (long long)value, cluster);
  c->blocks[axis] = value;
  return @@_OK;
}

static int is_without_work(const struct call *c) { return c->blocks[0] == 0 || c->blocks[1] == 0 || c->blocks[2] == 0; }

//? check_piece
/* A tensor that is moved in pieces of several elements; `whole`: its rows are made of whole pieces. */
static int check_piece(const struct call *c, const struct tensor *t, int64_t elements, int whole) {
  int rank = t->form->rank;
  int64_t alignment = elements * t->form->bits / 8;
  const char *name = t->form->name;
  if (alignment > 16) alignment = 16;
  if (t->bytes == 0) return @@_OK;
  if (alignment > 1 && t->data % (uintptr_t)alignment != 0)
    return fail(@@_PIECE, "%s: %s does not start at a multiple of %d bytes", c->kernel_name, name, (int)alignment);
  if (whole && rank > 0 && t->shape[rank - 1] % elements != 0)
    return fail(@@_PIECE, "%s: %s is moved in pieces of %d elements, but its last extent is %lld", c->kernel_name, name,
                (int)elements, (long long)t->shape[rank - 1]);
  if (rank > 0 && t->shape[rank - 1] > 1 && t->strides[rank - 1] != 1)
    return fail(@@_PIECE, "%s: the last stride of %s is %lld, not 1", c->kernel_name, name,
                (long long)t->strides[rank - 1]);
  for (int i = 0; i + 1 < rank; ++i) {
    if (t->shape[i] > 1 && t->strides[i] % elements != 0)
      return fail(@@_PIECE, "%s: %s is moved in pieces of %d elements, but its stride %d is %lld", c->kernel_name, name,
                  (int)elements, i, (long long)t->strides[i]);
  }
  return @@_OK;
}
//.

//? add_workspace
/* Memory besides the tensors; `zero`: it has to be zero when the kernel starts. */
static int add_workspace(struct call *c, const struct tensor_form *form, int zero, const int64_t *shape,
                         int64_t elements, int whole) {
  enum { UNIT = @@_WORKSPACE_ALIGNMENT };
  struct tensor t;
  struct workspace *w = &c->workspaces[c->workspace_count++];
  size_t rounded;
  int64_t stride = 1;
  int result;
  if (c->num.failure) return arithmetic(c, form->name, form->shape);
  t.form = form;
  t.data = 0;
  for (int i = form->rank - 1; i >= 0; --i) {
    if (shape[i] < 0)
      return fail(@@_ARITHMETIC, "%s: extent %d of the workspace %s is %lld", c->kernel_name, i, form->name,
                  (long long)shape[i]);
    t.shape[i] = shape[i];
    t.strides[i] = stride;
    if (__builtin_mul_overflow(stride, shape[i], &stride))
      return fail(@@_ARITHMETIC, "%s: the size of the workspace %s does not fit in 64 bits", c->kernel_name, form->name);
  }
  t.bytes = span_bytes(&t);
  if (t.bytes < 0 || t.bytes > INT64_MAX / 2)
    return fail(@@_ARITHMETIC, "%s: the size of the workspace %s does not fit in 64 bits", c->kernel_name, form->name);
  result = elements > 1 ? check_piece(c, &t, elements, whole) : @@_OK;
  rounded = ((size_t)t.bytes + UNIT - 1) / UNIT * UNIT;
  w->offset = c->workspace_bytes;
  w->bytes = (size_t)t.bytes;
  w->zero = zero;
  if (__builtin_add_overflow(c->workspace_bytes, rounded, &c->workspace_bytes))
    return fail(@@_ARITHMETIC, "%s: the sizes of the workspaces do not fit in 64 bits", c->kernel_name);
  return result;
}
//.

//? add_word
static void add_word(struct call *c, uint64_t word) {
  c->words[c->param_count] = word;
  c->params[c->param_count] = &c->words[c->param_count];
  ++c->param_count;
}
//.

//? word_of_float
static uint64_t word_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
//.

//? word_of_double
static uint64_t word_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
//.

//? add_tensor_address
static void add_tensor_address(struct call *c, int tensor) { add_word(c, (uint64_t)c->tensors[tensor].data); }
//.

//? add_workspace_address
static void add_workspace_address(struct call *c, int workspace) {
  add_word(c, (uint64_t)(uintptr_t)c->workspace + c->workspaces[workspace].offset);
}
//.

//? add_map
/* A descriptor of TMA: how boxes of a tensor are moved. */
struct map_form {
  const char *name;
  int type, swizzle;
  uint32_t box[5];
};

static int add_map(struct call *c, int tensor, const struct map_form *form) {
  enum { UNIT = 16, L2_128 = 2, L2_256 = 3, FETCHED = 256 };
  const struct tensor *t = &c->tensors[tensor];
  struct tensor_map *map = &c->maps[c->map_count++];
  int rank = t->form->rank, promotion = L2_256, status;
  /* Elements of fewer than 8 bits are moved by bytes. */
  int64_t packed_elements = t->form->bits < 8 ? 8 / t->form->bits : 1;
  int64_t bytes = t->form->bits < 8 ? 1 : t->form->bits / 8;
  uint64_t extents[5], strides[5];
  uint32_t box[5], steps[5];
  c->params[c->param_count++] = map;
  memset(map, 0, sizeof *map);
  if (t->bytes == 0) return @@_OK;
  if (t->data % UNIT != 0)
    return fail(@@_MAP, "%s: %s does not start at a multiple of %d bytes, which TMA needs", c->kernel_name,
                t->form->name, UNIT);
  for (int i = 0; i < rank; ++i) {
    int from = rank - 1 - i;
    int64_t whole = i == 0 ? t->shape[from] : t->shape[from] > 1 ? t->strides[from] : 0;
    extents[i] = (uint64_t)(i == 0 ? t->shape[from] / packed_elements : t->shape[from]);
    if (whole % packed_elements != 0)
      return fail(@@_MAP, "%s: %s of dimension %d of %s is %lld elements of %d bits, no whole bytes", c->kernel_name,
                  i == 0 ? "the extent" : "the stride", from, t->form->name, (long long)whole, t->form->bits);
    box[i] = form->box[from];
    steps[i] = 1;
    if (t->shape[from] > INT64_C(1) << 32)
      return fail(@@_MAP, "%s: dimension %d of %s is %lld, more than the 2^32 of TMA", c->kernel_name, from,
                  t->form->name, (long long)t->shape[from]);
    if (i == 0) {
      if (t->shape[from] > 1 && t->strides[from] != 1)
        return fail(@@_MAP, "%s: the last dimension of %s has stride %lld, and TMA needs 1", c->kernel_name,
                    t->form->name, (long long)t->strides[from]);
      continue;
    }
    if (t->shape[from] > 1) {
      int64_t stride = t->strides[from] / packed_elements;
      if (stride > (INT64_C(1) << 40) / bytes - 1 || stride * bytes % UNIT != 0)
        return fail(@@_MAP, "%s: dimension %d of %s has a stride of %lld elements of %d bytes; TMA needs a multiple of "
                            "16 bytes below 2^40", c->kernel_name, from, t->form->name, (long long)stride, (int)bytes);
      strides[i - 1] = (uint64_t)(stride * bytes);
    } else {
      /* Nothing steps along it, but the driver wants a stride that could be one. */
      uint64_t packed = i == 1 ? (extents[0] * (uint64_t)bytes + UNIT - 1) / UNIT * UNIT : strides[i - 2] * extents[i - 1];
      strides[i - 1] = packed < UINT64_C(1) << 40 ? packed : UNIT;
    }
    if (strides[i - 1] % FETCHED != 0) promotion = L2_128;
  }
  status = c->driver->encode_map(map, form->type, (uint32_t)rank, (void *)t->data, extents, strides, box, steps, 0,
                                 form->swizzle, promotion, 0);
  return status ? driver_failed(c->driver, status, c->kernel_name, form->name) : @@_OK;
}
//.
)C";
}

std::string_view launch_support() {
  return R"C(
/* ---- Bundles and launches ---------------------------------------------------------------------------------------- */

/* Memory that the device cannot reach would end the context; the driver knows which it can. */
static int check_reach(const struct call *c) {
  enum { MEMORY_TYPE = 2, RELAXED = 2 };
  int mode = RELAXED, result = @@_OK;
  if (c->device->reaches_host_memory) return @@_OK;
  /* Asking is no work of a stream, but a capture might refuse it. */
  c->driver->exchange_capture_mode(&mode);
  for (int i = 0; i < c->tensor_count && result == @@_OK; ++i) {
    unsigned type = 0;
    if (c->tensors[i].bytes > 0 && c->driver->pointer_attribute(&type, MEMORY_TYPE, c->tensors[i].data) != 0)
      result = fail(@@_MEMORY, "%s: %s is not memory that the device can reach", c->kernel_name,
                    c->tensors[i].form->name);
  }
  c->driver->exchange_capture_mode(&mode);
  return result;
}

/* Checks the call and lays it out, as far as `c->is_query` says. */
static int prepare(@_bundle *bundle, const struct kernel *kernel, const void *args, struct call *c,
                   const struct variant **variant) {
  int result;
  c->kernel = kernel;
  c->kernel_name = kernel->name;
  c->num.failure = NUM_FINE;
  c->dim_count = c->tensor_count = c->workspace_count = c->map_count = c->param_count = 0;
  c->workspace_bytes = 0;
  c->blocks[0] = c->blocks[1] = c->blocks[2] = 1;
  if (bundle == NULL || args == NULL) return fail(@@_BAD_USE, "%s: the bundle or the arguments are null", kernel->name);
  c->driver = &bundle->driver;
  result = current_device(bundle, &c->device);
  if (result == @@_OK) result = kernel->bind(args, c);
  if (result != @@_OK) return result;
  *variant = choose(c, kernel, c->device->architecture);
  return *variant == NULL ? @@_NO_VARIANT : (*variant)->plan(args, c);
}

static int query(@_bundle *bundle, const struct kernel *kernel, const void *args, size_t *bytes) {
  struct call c;
  const struct variant *variant;
  int result;
  if (bytes == NULL) return fail(@@_BAD_USE, "%s: there is no place for the size", kernel->name);
  *bytes = 0;
  c.is_query = 1;
  c.workspace = NULL;
  result = prepare(bundle, kernel, args, &c, &variant);
  if (result == @@_OK) *bytes = c.workspace_bytes;
  return result;
}

static int launch(@_bundle *bundle, const struct kernel *kernel, const void *args, void *workspace,
                  size_t workspace_bytes, struct CUstream_st *stream) {
  enum { CLUSTER_DIMENSION = 4 };
  struct call c;
  const struct variant *variant;
  const struct code *code;
  struct launch_attribute attribute;
  struct launch_config config;
  void *function;
  int result, status = 0;
  c.is_query = 0;
  c.workspace = workspace;
  result = prepare(bundle, kernel, args, &c, &variant);
  if (result != @@_OK || is_without_work(&c)) return result;
  if (c.workspace_bytes > 0 &&
      (workspace == NULL || workspace_bytes < c.workspace_bytes || (uintptr_t)workspace % @@_WORKSPACE_ALIGNMENT != 0))
    return fail(@@_WORKSPACE, "%s: the launch takes a workspace of %zu bytes that starts at a multiple of %d; it got %zu "
                              "bytes at %p", kernel->name, c.workspace_bytes, @@_WORKSPACE_ALIGNMENT,
                workspace == NULL ? (size_t)0 : workspace_bytes, workspace);
  result = check_reach(&c);
  if (result == @@_OK) result = function_of(bundle, c.device, variant->code, &function);
  if (result != @@_OK) return result;
  for (int i = 0; i < c.workspace_count && status == 0; ++i) {
    const struct workspace *w = &c.workspaces[i];
    if (w->zero && w->bytes > 0)
      status = c.driver->fill((unsigned long long)(uintptr_t)(c.workspace + w->offset), 0, w->bytes, stream);
  }
  code = &codes[variant->code];
  memset(&config, 0, sizeof config);
  for (int i = 0; i < 3; ++i) {
    config.grid[i] = (unsigned)c.blocks[i];
    config.block[i] = 1;
  }
  config.block[0] = code->threads;
  config.smem_bytes = code->smem_bytes;
  config.stream = stream;
  if (code->cluster > 1) {
    memset(&attribute, 0, sizeof attribute);
    attribute.id = CLUSTER_DIMENSION;
    attribute.value.cluster[0] = code->cluster;
    attribute.value.cluster[1] = attribute.value.cluster[2] = 1;
    config.attributes = &attribute;
    config.attribute_count = 1;
  }
  if (status == 0) status = c.driver->launch(&config, function, c.params, NULL);
  return status ? driver_failed(c.driver, status, kernel->name, "launching") : @@_OK;
}

int @_create(const char *folder, @_bundle **bundle) {
  @_bundle *made;
  size_t length;
  int result;
  if (bundle == NULL) return fail(@@_BAD_USE, "there is no place for the bundle");
  *bundle = NULL;
  if (folder == NULL) return fail(@@_BAD_USE, "the folder is null");
  length = strlen(folder) + 1;
  made = calloc(1, sizeof *made + length);
  if (made == NULL) return fail(@@_OUT_OF_MEMORY, "there is no memory for the bundle");
  memcpy(made->folder, folder, length);
  result = open_driver(&made->driver);
  if (result == @@_OK && pthread_mutex_init(&made->mutex, NULL) != 0)
    result = fail(@@_OUT_OF_MEMORY, "the system gives no mutex");
  if (result != @@_OK) {
    free(made);
    return result;
  }
  *bundle = made;
  return @@_OK;
}

int @_load(@_bundle *bundle) {
  const struct device *device = NULL;
  void *function;
  int result;
  if (bundle == NULL) return fail(@@_BAD_USE, "the bundle is null");
  result = current_device(bundle, &device);
  for (int i = 0; i < CODES && result == @@_OK; ++i)
    if (codes[i].architecture == device->architecture) result = function_of(bundle, device, i, &function);
  return result;
}

void @_destroy(@_bundle *bundle) {
  const struct driver *d;
  unsigned long long id = 0;
  void *context = NULL;
  if (bundle == NULL) return;
  d = &bundle->driver;
  if (d->current_context(&context) != 0 || context == NULL || d->context_id(context, &id) != 0) context = NULL;
  while (bundle->devices != NULL) {
    struct device *device = bundle->devices;
    /* Other contexts may be gone, and take their code with them. */
    for (int i = 0; i < CODES && context != NULL && device->context_id == id; ++i)
      if (device->modules[i] != NULL) d->unload_module(device->modules[i]);
    bundle->devices = device->next;
    free(device);
  }
  pthread_mutex_destroy(&bundle->mutex);
  free(bundle);
}

const char *@_error_string(int code) {
  switch (code) {
@ERRORS@  }
  return "no code of @";
}
)C";
}

}  // namespace plait::bundle
