#include "bundle/support.h"

namespace plait::bundle {

std::string_view call_support() {
  return R"C(
/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static _Thread_local char last_error[1024];

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static int fail(int code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(last_error, sizeof last_error, format, list);
  va_end(list);
  return code;
}

const char *@_last_error(void) { return last_error; }

/* ---- What a call is checked for ---------------------------------------------------------------------------------- */

/* A tensor parameter, as its kernel declares it. */
struct tensor_form {
  const char *name;
  const char *shape, *strides; /* their texts */
  int bits;                    /* of an element */
  int is_written, is_out;
  int rank;
};

struct tensor {
  const struct tensor_form *form;
  uintptr_t data;
  int64_t shape[MAX_RANK], strides[MAX_RANK]; /* elements */
  int64_t bytes;                              /* from the first element to behind the last */
};

/* How tensors of a call lie, and with which a kernel was compiled. */
struct alignment {
  unsigned char unaligned;  /* its base, or a stride but the last, is no multiple of 16 bytes */
  unsigned char ragged;     /* its rows end within 16 bytes */
  unsigned char straddling; /* its rows start within lines of 128 bytes */
  unsigned char granule;    /* the most bytes up to 16 that all of these are multiples of */
};

/* A CUtensorMap. */
struct tensor_map {
  _Alignas(128) uint64_t words[16];
};

struct workspace {
  size_t offset, bytes;
  int zero;
};

struct device;
struct kernel;

/* A call on its way to the driver. */
struct call {
  const struct kernel *kernel;
  const struct device *device;
  const struct driver *driver;
  const char *kernel_name;
  struct num num;
  int is_query; /* only the size of the workspace is asked for */
  int dim_count, tensor_count, workspace_count, map_count, param_count;
  const char *dim_names[MAX_DIMS];
  int64_t dims[MAX_DIMS];
  struct tensor tensors[MAX_TENSORS];
  int64_t blocks[3];
  struct workspace workspaces[MAX_WORKSPACES];
  size_t workspace_bytes;
  char *workspace;
  void *params[MAX_PARAMS];
  uint64_t words[MAX_PARAMS];
  struct tensor_map maps[MAX_MAPS];
};

static int arithmetic(const struct call *c, const char *what, const char *text) {
  return fail(@@_ARITHMETIC, "%s: %s: %s %s", c->kernel_name, what, text,
              c->num.failure == NUM_DIVISION ? "divides by zero" : "overflows the type of its values");
}

//? add_dim
static int add_dim(struct call *c, const char *name, int64_t value) {
  if (value < 0 || value > MOST_ELEMENTS)
    return fail(@@_EXTENT, "%s: %s is %lld; a dim is from 0 to %lld", c->kernel_name, name, (long long)value,
                (long long)MOST_ELEMENTS);
  c->dim_names[c->dim_count] = name;
  c->dims[c->dim_count++] = value;
  return @@_OK;
}
//.

//? span_bytes
/* Bytes up to behind the last element; -1 where 64 bits do not hold them. */
static int64_t span_bytes(const struct tensor *t) {
  int64_t elements = 1, part, bits;
  for (int i = 0; i < t->form->rank; ++i)
    if (t->shape[i] == 0) return 0;
  for (int i = 0; i < t->form->rank; ++i) {
    if (__builtin_mul_overflow(t->shape[i] - 1, t->strides[i], &part)) return -1;
    if (__builtin_add_overflow(elements, part, &elements)) return -1;
  }
  if (__builtin_mul_overflow(elements, (int64_t)t->form->bits, &bits)) return -1;
  return bits / 8 + (bits % 8 != 0);
}
//.

//? add_tensor
/* `strides`: null where the tensor is contiguous. */
static int add_tensor(struct call *c, const struct tensor_form *form, const void *data, const int64_t *shape,
                      const int64_t *strides) {
  struct tensor *t = &c->tensors[c->tensor_count];
  int64_t product = 1, stride = 1, alignment = form->bits < 8 ? 1 : form->bits / 8;
  if (c->num.failure) return arithmetic(c, form->name, form->shape);
  t->form = form;
  t->data = (uintptr_t)data;
  for (int i = form->rank - 1; i >= 0; --i) {
    if (shape[i] < 0)
      return fail(@@_EXTENT, "%s: dimension %d of %s %s is %lld", c->kernel_name, i, form->name, form->shape,
                  (long long)shape[i]);
    if (__builtin_mul_overflow(product, shape[i] > 1 ? shape[i] : (int64_t)1, &product) || product > MOST_ELEMENTS)
      return fail(@@_EXTENT, "%s: the extents %s of %s multiply to more than %lld; extents of 0 count as 1",
                  c->kernel_name, form->shape, form->name, (long long)MOST_ELEMENTS);
    if (strides && strides[i] < 0)
      return fail(@@_EXTENT, "%s: stride %d of %s, strides %s, is %lld", c->kernel_name, i, form->name, form->strides,
                  (long long)strides[i]);
    t->shape[i] = shape[i];
    t->strides[i] = strides ? strides[i] : stride;
    stride *= shape[i];
  }
  t->bytes = span_bytes(t);
  if (t->bytes < 0 || t->data + (uintptr_t)t->bytes < t->data)
    return fail(@@_EXTENT, "%s: %s %s spans more bytes than 64 bits count", c->kernel_name, form->name, form->shape);
  if (t->bytes > 0 && data == NULL)
    return fail(@@_MEMORY, "%s: %s %s is null", c->kernel_name, form->name, form->shape);
  if (t->bytes > 0 && t->data % (uintptr_t)alignment != 0)
    return fail(@@_ALIGNMENT, "%s: %s starts %d bytes behind a multiple of %d, the size of its elements",
                c->kernel_name, form->name, (int)(t->data % (uintptr_t)alignment), (int)alignment);
  ++c->tensor_count;
  return @@_OK;
}
//.

/* Bytes from the lowest to behind the highest along the dimensions whose stride is no multiple of `period` bytes; 0
 * where they exceed it. */
static int64_t inner_span(const struct tensor *t, int64_t period) {
  int64_t elements = 1, bits;
  for (int i = 0; i < t->form->rank; ++i) {
    if (t->shape[i] > 1 && t->strides[i] * t->form->bits % (period * 8) != 0)
      elements += (t->shape[i] - 1) * t->strides[i];
  }
  bits = elements * t->form->bits;
  bits = bits / 8 + (bits % 8 != 0);
  return bits <= period ? bits : 0;
}

/* Both repeat every `period` bytes, in different parts of it. */
static int interleave(const struct tensor *a, const struct tensor *b, int64_t period) {
  int64_t span_a = inner_span(a, period), span_b = inner_span(b, period);
  int64_t place_a = (int64_t)(a->data % (uintptr_t)period), place_b = (int64_t)(b->data % (uintptr_t)period);
  if (span_a == 0 || span_b == 0) return 0;
  return (place_b - place_a + period) % period >= span_a && (place_a - place_b + period) % period >= span_b;
}

static int may_overlap(const struct tensor *a, const struct tensor *b) {
  if (a->bytes == 0 || b->bytes == 0) return 0;
  if (a->data < b->data ? b->data - a->data >= (uintptr_t)a->bytes : a->data - b->data >= (uintptr_t)b->bytes) return 0;
  for (int i = 0; i < a->form->rank; ++i) {
    int64_t bits = a->strides[i] * a->form->bits;
    if (a->shape[i] > 1 && bits > 0 && bits % 8 == 0 && interleave(a, b, bits / 8)) return 0;
  }
  return 1;
}

/* Two elements of it may lie at one place. */
static int may_overlap_itself(const struct tensor *t) {
  int64_t reach = 0, passed = 0;
  if (t->bytes == 0) return 0;
  for (int step = 0; step < t->form->rank; ++step) {
    int next = -1;
    for (int i = 0; i < t->form->rank; ++i) {
      if ((passed >> i & 1) || t->shape[i] <= 1) continue;
      if (next < 0 || t->strides[i] < t->strides[next]) next = i;
    }
    if (next < 0) return 0;
    if (t->strides[next] <= reach) return 1;
    reach += (t->shape[next] - 1) * t->strides[next];
    passed |= (int64_t)1 << next;
  }
  return 0;
}

static int check_overlaps(const struct call *c) {
  for (int i = 0; i < c->tensor_count; ++i) {
    const struct tensor *a = &c->tensors[i];
    if (!a->form->is_written) continue;
    if (may_overlap_itself(a))
      return fail(@@_OVERLAP, "%s: elements of %s, which is written, share memory (strides %s)", c->kernel_name,
                  a->form->name, a->form->strides);
    for (int j = 0; j < c->tensor_count; ++j) {
      if (j != i && may_overlap(a, &c->tensors[j]))
        return fail(@@_OVERLAP, "%s: %s is written and shares memory with %s", c->kernel_name, a->form->name,
                    c->tensors[j].form->name);
    }
  }
  return @@_OK;
}

//? require
static int require(const struct call *c, int holds, const char *text, const char *said) {
  char values[512] = "";
  size_t used = 0;
  if (c->num.failure) return arithmetic(c, "require", text);
  if (holds) return @@_OK;
  for (int i = 0; i < c->dim_count && used < sizeof values; ++i) {
    int more = snprintf(values + used, sizeof values - used, "%s%s = %lld", i ? ", " : "", c->dim_names[i],
                        (long long)c->dims[i]);
    if (more > 0) used += (size_t)more;
  }
  return fail(@@_REQUIRE, "%s: require %s does not hold%s%s (%s)", c->kernel_name, text, said[0] ? ": " : "", said,
              values);
}
//.
)C";
}

std::string_view alignment_support() {
  return R"C(
/* ---- Which kernel serves a call ---------------------------------------------------------------------------------- */

/* One kernel of several that do the same, and what it takes of the tensors; null: what its plan checks. */
struct variant {
  const struct alignment *takes;
  int (*plan)(const void *args, struct call *c);
  int code;
};

struct kernel {
  const char *name;
  int (*bind)(const void *args, struct call *c);
  struct {
    const struct variant *list;
    int count;
  } variants[ARCHITECTURES];
};

static int granule_of(uint64_t bits) {
  int bytes = 16;
  while (bytes > 1 && bits % (uint64_t)(bytes * 8) != 0) bytes /= 2;
  return bytes;
}

static void take_less(struct alignment *a, uint64_t bits) {
  int granule = granule_of(bits);
  if (granule < a->granule) a->granule = (unsigned char)granule;
}

static struct alignment alignment_of(const struct tensor *t) {
  struct alignment a = {0, 0, 0, 16};
  int rank = t->form->rank;
  uint64_t row = rank > 0 ? (uint64_t)t->shape[rank - 1] * (uint64_t)t->form->bits : 0;
  if (row % 128 != 0) {
    a.ragged = 1;
    take_less(&a, row);
  }
  for (int i = 0; i + 1 < rank; ++i) {
    uint64_t bits = (uint64_t)t->strides[i] * (uint64_t)t->form->bits;
    if (bits % 128 != 0) {
      a.unaligned = 1;
      take_less(&a, bits);
    } else if (bits % 1024 != 0 && !t->form->is_out) {
      a.straddling = 1;
    }
  }
  if (t->data % 16 != 0) {
    a.unaligned = a.ragged = 1;
    a.straddling = 0;
    take_less(&a, (uint64_t)(t->data % 16) * 8);
  }
  return a;
}

static int takes(const struct alignment *takes, const struct alignment *has, int count) {
  for (int i = 0; i < count; ++i) {
    if (has[i].unaligned > takes[i].unaligned || has[i].ragged > takes[i].ragged || has[i].granule < takes[i].granule)
      return 0;
  }
  return 1;
}

/* The one that was made for such calls, else the first that takes them: variants stand in the order of what they take,
 * least first. Null: none does. */
static const struct variant *choose(const struct call *c, const struct kernel *kernel, int architecture) {
  struct alignment has[MAX_TENSORS];
  const struct variant *list = kernel->variants[architecture].list, *found = NULL;
  int count = kernel->variants[architecture].count;
  for (int i = 0; i < c->tensor_count; ++i) has[i] = alignment_of(&c->tensors[i]);
  for (int v = 0; v < count; ++v) {
    if (list[v].takes == NULL || c->tensor_count == 0) return &list[v];
    if (memcmp(list[v].takes, has, (size_t)c->tensor_count * sizeof has[0]) == 0) return &list[v];
    if (found == NULL && takes(list[v].takes, has, c->tensor_count)) found = &list[v];
  }
  if (found == NULL) {
    char text[512] = "";
    size_t used = 0;
    for (int i = 0; i < c->tensor_count && used < sizeof text; ++i) {
      int more = snprintf(text + used, sizeof text - used, "%s%s %d", i ? ", " : "", c->tensors[i].form->name,
                          (int)has[i].granule);
      if (more > 0) used += (size_t)more;
    }
    fail(@@_NO_VARIANT,
         "%s: no kernel of the bundle takes tensors whose starts, rows and strides are multiples of only so many bytes: "
         "%s",
         c->kernel_name, text);
  }
  return found;
}
)C";
}

}  // namespace plait::bundle
