// plait: the C++ interface of the tile compiler, a header over plait.h. Failures are thrown as plait::Error.
//
//   auto f = plait::compile(plait::Program::parse_file("matmul.tile"), {.device = "host"});
//   f(plait::tensor(a, {m, k}), plait::tensor(b, {k, n}), plait::tensor(c, {m, n}));   // by place
//   f.run({{"A", dl_tensor}, {"C", out}, {"B", other}});                               // by name, any DLPack-shaped
//   view
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/error.hpp"
#include "plait/plait.h"
#include "plait/program.hpp"

namespace plait {

namespace detail {

/// Throws unless `status` is PLAIT_OK; takes over the diagnostics.
inline void check(plait_status status, plait_diagnostics* diagnostics) {
  std::unique_ptr<plait_diagnostics, decltype(&plait_diagnostics_destroy)> owner(diagnostics,
                                                                                 &plait_diagnostics_destroy);
  if (status == PLAIT_OK) return;
  if (status == PLAIT_OUT_OF_MEMORY) throw std::bad_alloc();
  const char* text = nullptr;
  const char* json = nullptr;
  plait_diagnostics_text(diagnostics, &text);
  plait_diagnostics_json(diagnostics, &json);
  throw Error(status, text != nullptr ? text : plait_status_text(status), json != nullptr ? json : "[]");
}

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<bool> : std::integral_constant<plait_dtype, PLAIT_BOOL> {};
template <>
struct DTypeOf<std::int8_t> : std::integral_constant<plait_dtype, PLAIT_I8> {};
template <>
struct DTypeOf<std::int16_t> : std::integral_constant<plait_dtype, PLAIT_I16> {};
template <>
struct DTypeOf<std::int32_t> : std::integral_constant<plait_dtype, PLAIT_I32> {};
template <>
struct DTypeOf<std::int64_t> : std::integral_constant<plait_dtype, PLAIT_I64> {};
template <>
struct DTypeOf<std::uint8_t> : std::integral_constant<plait_dtype, PLAIT_U8> {};
template <>
struct DTypeOf<std::uint16_t> : std::integral_constant<plait_dtype, PLAIT_U16> {};
template <>
struct DTypeOf<std::uint32_t> : std::integral_constant<plait_dtype, PLAIT_U32> {};
template <>
struct DTypeOf<std::uint64_t> : std::integral_constant<plait_dtype, PLAIT_U64> {};
template <>
struct DTypeOf<float> : std::integral_constant<plait_dtype, PLAIT_F32> {};
template <>
struct DTypeOf<double> : std::integral_constant<plait_dtype, PLAIT_F64> {};

/// A struct with the members of DLPack's DLTensor.
template <typename T>
concept DlpackShaped = requires(const T& t) {
  t.data;
  t.ndim;
  t.shape[0];
  t.strides;
  t.byte_offset;
  t.dtype.code;
  t.dtype.bits;
  t.dtype.lanes;
  t.device.device_type;
};

/// DLPack's (code, bits) as an element type; PLAIT_BAD_ARGUMENT where plait has none.
inline plait_dtype dlpack_dtype(int code, int bits, int lanes) {
  struct Known {
    int code, bits;
    plait_dtype type;
  };
  static constexpr Known known[] = {
      {0, 8, PLAIT_I8},    {0, 16, PLAIT_I16},  {0, 32, PLAIT_I32},  {0, 64, PLAIT_I64}, {1, 8, PLAIT_U8},
      {1, 16, PLAIT_U16},  {1, 32, PLAIT_U32},  {1, 64, PLAIT_U64},  {2, 16, PLAIT_F16}, {2, 32, PLAIT_F32},
      {2, 64, PLAIT_F64},  {4, 16, PLAIT_BF16}, {6, 8, PLAIT_BOOL},  {0, 4, PLAIT_I4},   {1, 4, PLAIT_U4},
      {10, 8, PLAIT_E4M3}, {12, 8, PLAIT_E5M2}, {17, 4, PLAIT_E2M1},
  };
  for (const Known& k : known) {
    if (lanes == 1 && k.code == code && k.bits == bits) return k.type;
  }
  throw Error(PLAIT_BAD_ARGUMENT, "a DLPack tensor has an element type that plait does not have", "[]");
}

}  // namespace detail

/// A view of a tensor in the caller's memory.
struct TensorRef {
  void* data = nullptr;
  plait_dtype dtype = PLAIT_F32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;  ///< elements; empty: contiguous, the last dimension fastest
  std::string device = "host";
  std::int64_t bytes = -1;  ///< memory behind `data`, -1: unknown

  TensorRef() = default;
  TensorRef(void* memory, plait_dtype type, std::vector<std::int64_t> extents, std::vector<std::int64_t> steps = {},
            std::string where = "host", std::int64_t size = -1)
      : data(memory),
        dtype(type),
        shape(std::move(extents)),
        strides(std::move(steps)),
        device(std::move(where)),
        bytes(size) {}
  /// From a DLTensor, or any struct with its members.
  template <detail::DlpackShaped T>
  TensorRef(const T& t)  // NOLINT(google-explicit-constructor)
      : data(static_cast<char*>(const_cast<void*>(static_cast<const void*>(t.data))) + t.byte_offset),
        dtype(detail::dlpack_dtype(static_cast<int>(t.dtype.code), static_cast<int>(t.dtype.bits),
                                   static_cast<int>(t.dtype.lanes))),
        shape(t.shape, t.shape + t.ndim),
        device(static_cast<int>(t.device.device_type) == 1
                   ? "host"
                   : "DLPack device type " + std::to_string(static_cast<int>(t.device.device_type))) {
    if (t.strides != nullptr) strides.assign(t.strides, t.strides + t.ndim);
  }
};

/// A tensor of a C++ arithmetic type. Memory behind `const` is only ever passed for `in` parameters.
template <typename T>
TensorRef tensor(T* data, std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {}) {
  using Element = std::remove_const_t<T>;
  return {const_cast<Element*>(data), detail::DTypeOf<Element>::value, std::move(shape), std::move(strides)};
}

/// One argument of a call: a tensor, an integer (also bool) or a float.
class Argument {
 public:
  Argument(TensorRef tensor)
      : tensor_(std::move(tensor)), kind_(PLAIT_ARGUMENT_TENSOR) {}  // NOLINT(google-explicit-constructor)
  template <detail::DlpackShaped T>
  Argument(const T& tensor) : Argument(TensorRef(tensor)) {}  // NOLINT(google-explicit-constructor)
  template <typename T>
    requires std::is_arithmetic_v<T>
  Argument(T value)  // NOLINT(google-explicit-constructor)
      : kind_(std::is_floating_point_v<T> ? PLAIT_ARGUMENT_FLOAT : PLAIT_ARGUMENT_INTEGER),
        integer_(static_cast<std::int64_t>(std::is_floating_point_v<T> ? 0 : value)),
        floating_(static_cast<double>(value)) {}

  /// What the C interface takes; it refers to this object.
  plait_argument raw(const char* name) const {
    plait_argument argument{};
    argument.name = name;
    argument.kind = kind_;
    argument.integer = integer_;
    argument.floating = floating_;
    argument.tensor = {tensor_.data,
                       tensor_.dtype,
                       static_cast<std::int32_t>(tensor_.shape.size()),
                       tensor_.shape.data(),
                       tensor_.strides.empty() ? nullptr : tensor_.strides.data(),
                       tensor_.bytes,
                       tensor_.device.c_str()};
    return argument;
  }
  /// False for a tensor whose shape and strides have different lengths.
  bool is_consistent() const { return tensor_.strides.empty() || tensor_.strides.size() == tensor_.shape.size(); }

 private:
  TensorRef tensor_;
  plait_argument_kind kind_;
  std::int64_t integer_ = 0;
  double floating_ = 0;
};

/// Values of compile-time parameters, as behind -D.
using Bindings = std::map<std::string, std::string>;

struct CompileOptions {
  std::string device = "host";
  std::string kernel = {};  ///< empty: the program's only one
  Bindings bindings = {};
  bool checks = true;  ///< run-time checks of element accesses that are not proved
};
struct RunOptions {
  int threads = 0;  ///< 0: all of the machine
};

/// A parsed program; copies share it.
class Program {
 public:
  static Program parse(std::string_view text, const std::string& name = "<text>") {
    plait_program* program = nullptr;
    plait_diagnostics* diagnostics = nullptr;
    plait_status status = plait_program_parse(name.c_str(), text.data(), text.size(), &program, &diagnostics);
    detail::check(status, diagnostics);
    return Program(program);
  }
  static Program parse_file(const std::string& path) {
    plait_program* program = nullptr;
    plait_diagnostics* diagnostics = nullptr;
    plait_status status = plait_program_parse_file(path.c_str(), &program, &diagnostics);
    detail::check(status, diagnostics);
    return Program(program);
  }

  std::vector<std::string> kernels() const {
    std::size_t count = 0;
    detail::check(plait_program_kernel_count(get(), &count), nullptr);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
      const char* name = nullptr;
      detail::check(plait_program_kernel_name(get(), i, &name), nullptr);
      names.emplace_back(name);
    }
    return names;
  }
  /// Checks every rule of the language for one kernel.
  void verify(const std::string& kernel = {}, const Bindings& bindings = {}) const;
  const plait_program* get() const { return handle_.get(); }

 private:
  explicit Program(plait_program* handle) : handle_(handle, &plait_program_destroy) {}
  std::shared_ptr<plait_program> handle_;
};

/// A compiled kernel; copies share it. Calls from several threads are safe on different outputs.
class Function {
 public:
  explicit Function(plait_kernel* handle) : handle_(handle, &plait_kernel_destroy) {}

  /// Calls with arguments in the order of the kernel's parameters.
  template <typename... Args>
  void operator()(const Args&... args) const {
    run_raw(std::vector<std::pair<std::string, Argument>>{{std::string(), Argument(args)}...}, {});
  }
  /// Calls with arguments by name.
  void run(const std::vector<std::pair<std::string, Argument>>& arguments, const RunOptions& options = {}) const {
    run_raw(arguments, options);
  }

  std::string name() const {
    const char* name = nullptr;
    detail::check(plait_kernel_name(get(), &name), nullptr);
    return name;
  }
  const plait_kernel* get() const { return handle_.get(); }

 private:
  void run_raw(const std::vector<std::pair<std::string, Argument>>& arguments, const RunOptions& options) const {
    std::vector<plait_argument> raw;
    for (const auto& [name, argument] : arguments) {
      if (!argument.is_consistent())
        throw Error(PLAIT_BAD_ARGUMENT, "a tensor has not as many strides as extents", "[]");
      raw.push_back(argument.raw(name.empty() ? nullptr : name.c_str()));
    }
    plait_run_options run_options{sizeof(plait_run_options), options.threads};
    plait_diagnostics* diagnostics = nullptr;
    plait_status status = plait_kernel_run(get(), raw.data(), raw.size(), &run_options, &diagnostics);
    detail::check(status, diagnostics);
  }
  std::shared_ptr<plait_kernel> handle_;
};

namespace detail {

inline std::vector<plait_binding> raw_bindings(const Bindings& bindings) {
  std::vector<plait_binding> raw;
  for (const auto& [name, value] : bindings) raw.push_back({name.c_str(), value.c_str()});
  return raw;
}

}  // namespace detail

inline void Program::verify(const std::string& kernel, const Bindings& bindings) const {
  std::vector<plait_binding> raw = detail::raw_bindings(bindings);
  plait_diagnostics* diagnostics = nullptr;
  plait_status status =
      plait_program_verify(get(), kernel.empty() ? nullptr : kernel.c_str(), raw.data(), raw.size(), &diagnostics);
  detail::check(status, diagnostics);
}

/// Verifies and compiles one kernel of a program; one compilation serves all values of symbolic dims.
inline Function compile(const Program& program, const CompileOptions& options = {}) {
  std::vector<plait_binding> raw = detail::raw_bindings(options.bindings);
  plait_compile_options compile_options{sizeof(plait_compile_options), options.device.c_str(), options.checks ? 0 : 1};
  plait_kernel* kernel = nullptr;
  plait_diagnostics* diagnostics = nullptr;
  plait_status status = plait_kernel_compile(program.get(), options.kernel.empty() ? nullptr : options.kernel.c_str(),
                                             raw.data(), raw.size(), &compile_options, &kernel, &diagnostics);
  detail::check(status, diagnostics);
  return Function(kernel);
}

/// The same for a kernel built in C++ (program.hpp); `kernel` and `bindings` of the options stay empty.
PLAIT_API Function compile(const Kernel& kernel, const CompileOptions& options = {});

}  // namespace plait
