#include "run_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include "ir/numeric.h"
#include "runtime/extent.h"
#include "runtime/files.h"
#include "runtime/npy.h"
#include "runtime/random.h"

namespace plait::cli {
namespace {

using runtime::HostTensor;

class Preparation {
 public:
  Preparation(const ir::Kernel& kernel, const RunRequest& request) : kernel_(kernel), request_(request) {}
  Result<RunData> run();

 private:
  void check_names();
  void read_inputs();
  void read_input(const ir::Param& param, const std::string& path);
  void take_dims(const ir::BufferDecl& buffer, const HostTensor& tensor);
  void parse_scalars();
  void check_memory(const std::map<std::string, runtime::Layout>& layouts);
  void make_tensors(const std::map<std::string, runtime::Layout>& layouts);

  const ir::Kernel& kernel_;
  const RunRequest& request_;
  Diagnostics diags_;
  std::map<std::string, HostTensor> files_;
  std::map<std::string, std::int64_t> dims_;
  RunData data_;
};

bool is_read(ir::ParamKind kind) { return kind == ir::ParamKind::in || kind == ir::ParamKind::inout; }
bool is_written(ir::ParamKind kind) { return kind == ir::ParamKind::out || kind == ir::ParamKind::inout; }

void Preparation::check_names() {
  auto tensor = [&](const std::string& name) -> const ir::Param* {
    for (const ir::Param* p : data_.params) {
      if (p->buffer->name == name) return p;
    }
    return nullptr;
  };
  std::vector<std::string> wrong;
  for (const auto& [name, path] : request_.inputs) {
    const ir::Param* param = tensor(name);
    if (param == nullptr) wrong.push_back(fmt::format("--input {}: no tensor parameter has this name", name));
    if (param != nullptr && !is_read(param->kind))
      wrong.push_back(fmt::format("--input {}: this is an out parameter, which is not read", name));
  }
  for (const auto& [name, path] : request_.outputs) {
    const ir::Param* param = tensor(name);
    if (param == nullptr) wrong.push_back(fmt::format("--output {}: no tensor parameter has this name", name));
    if (param != nullptr && !is_written(param->kind))
      wrong.push_back(fmt::format("--output {}: this is an in parameter, which is not written", name));
  }
  for (const auto& [name, type] : request_.dtypes) {
    if (request_.inputs.count(name) == 0)
      wrong.push_back(fmt::format("--dtype {}: no --input of this name is given", name));
  }
  if (!wrong.empty())
    diags_.error(Rule::unknown_argument, kernel_.loc,
                 fmt::format("{}; the kernel is {}", fmt::join(wrong, "; "), signature(kernel_)));
}

/// Binds the dims that stand bare in the shape of a given input; what disagrees is left to the checks of the call.
void Preparation::take_dims(const ir::BufferDecl& buffer, const HostTensor& tensor) {
  for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
    const auto* ref = std::get_if<ir::VarRef>(&buffer.shape[i]->node);
    if (ref != nullptr && ref->var->kind == ir::VarKind::dim) dims_.emplace(ref->var->name, tensor.view().shape[i]);
  }
}

/// Whether these are elements narrower than a byte in one run of bytes, as written where rows do not fill whole bytes.
bool is_flat(const ir::BufferDecl& buffer, const ir::TensorView& view) {
  return ir::dtype_bits(view.type) < 8 && view.shape.size() == 1 && buffer.shape.size() > 1;
}

/// A file that the memory cannot hold is named.
Result<HostTensor> read_file(const std::string& path, std::optional<ir::DType> raw_type) {
  try {
    return runtime::read_npy(path, raw_type);
  } catch (const std::bad_alloc&) {
    Diagnostics found;
    found.error(Rule::out_of_memory, runtime::file_loc(path), "the tensor does not fit the memory that is left",
                "give a smaller tensor");
    return found;
  }
}

void Preparation::read_input(const ir::Param& param, const std::string& path) {
  const ir::BufferDecl& buffer = *param.buffer;
  std::optional<ir::DType> raw_type;
  if (auto found = request_.dtypes.find(buffer.name); found != request_.dtypes.end()) raw_type = found->second;
  auto tensor = read_file(path, raw_type);
  if (!tensor) return diags_.append(tensor.diagnostics());
  const ir::TensorView& view = tensor->view();
  if (view.type != buffer.type) {
    bool same_width = std::max(ir::dtype_bits(buffer.type), 8) == ir::dtype_bits(view.type) && !raw_type;
    diags_.error(Rule::argument_dtype, runtime::file_loc(path),
                 fmt::format("the file holds {}, parameter {} is {}", ir::dtype_name(view.type), buffer.name,
                             ir::dtype_name(buffer.type)),
                 same_width ? fmt::format("say --dtype {}={} if the file holds the bits of such numbers", buffer.name,
                                          ir::dtype_name(buffer.type))
                            : "");
    return;
  }
  if (is_flat(buffer, view)) {
    // Its extents come from elsewhere.
    files_[buffer.name] = std::move(*tensor);
    return;
  }
  if (view.shape.size() != buffer.shape.size()) {
    diags_.error(Rule::argument_rank, runtime::file_loc(path),
                 fmt::format("the array has {} dimensions ({}), parameter {} has {}", view.shape.size(),
                             fmt::join(view.shape, ", "), buffer.name, buffer.shape.size()));
    return;
  }
  take_dims(buffer, *tensor);
  files_[buffer.name] = std::move(*tensor);
}

void Preparation::read_inputs() {
  for (const ir::Param* param : data_.params) {
    auto given = request_.inputs.find(param->buffer->name);
    if (given != request_.inputs.end() && is_read(param->kind)) read_input(*param, given->second);
  }
}

}  // namespace

std::optional<ir::ScalarValue> parse_scalar(ir::DType type, const std::string& text) {
  ir::ScalarValue value{type, 0, 0};
  const char* end = text.data() + text.size();
  if (ir::is_bool(type)) {
    if (text != "true" && text != "false") return std::nullopt;
    value.i = text == "true" ? 1 : 0;
  } else if (ir::is_float(type)) {
    char* stop = nullptr;
    double number = std::strtod(text.c_str(), &stop);
    bool word = text.find_first_of("nN") != std::string::npos;  // inf, nan
    if (text.empty() || stop != end) return std::nullopt;
    value.f = ir::round_to(type, number);
    if (std::isinf(value.f) && !word) return std::nullopt;
  } else if (type == ir::DType::u64) {
    std::uint64_t bits = 0;
    auto [stop, error] = std::from_chars(text.data(), end, bits);
    if (error != std::errc() || stop != end) return std::nullopt;
    value.i = static_cast<std::int64_t>(bits);
  } else {
    auto [stop, error] = std::from_chars(text.data(), end, value.i);
    if (error != std::errc() || stop != end) return std::nullopt;
  }
  return value;
}

std::map<std::string, ir::ScalarValue> scalar_values(const std::vector<ir::Param>& params,
                                                     const std::vector<std::string>& texts) {
  std::map<std::string, ir::ScalarValue> values;
  for (const auto& [name, text] : parse_assignments(texts, "--scalar")) {
    auto is = [&](const ir::Param& p) { return p.kind == ir::ParamKind::scalar && p.scalar->name == name; };
    auto param = std::find_if(params.begin(), params.end(), is);
    if (param == params.end()) throw UsageError{fmt::format("--scalar {}: there is no such parameter", name)};
    ir::DType type = param->scalar->type;
    auto value = parse_scalar(type, text);
    if (!value) throw UsageError{fmt::format("--scalar {}: '{}' is no {}", name, text, ir::dtype_name(type))};
    values[name] = *value;
  }
  return values;
}

namespace {

void Preparation::parse_scalars() {
  for (const auto& [name, text] : request_.scalars) {
    ir::ScalarValue value;
    for (const ir::Param& param : kernel_.params) {
      if (param.kind != ir::ParamKind::scalar || param.scalar->name != name) continue;
      auto parsed = parse_scalar(param.scalar->type, text);
      if (!parsed) {
        diags_.error(Rule::argument_value, param.scalar->loc,
                     fmt::format("--scalar {}: '{}' is no {}", name, text, ir::dtype_name(param.scalar->type)));
      }
      value = parsed.value_or(ir::ScalarValue{param.scalar->type, 0, 0});
    }
    data_.args.scalars[name] = value;
  }
}

/// A verified run keeps two more copies and the outputs as doubles.
void Preparation::check_memory(const std::map<std::string, runtime::Layout>& layouts) {
  double need = 0;
  for (const ir::Param* param : data_.params) {
    const runtime::Layout& layout = layouts.at(param->buffer->name);
    double elements = static_cast<double>(runtime::span_elements(layout.shape, layout.strides).value_or(0));
    double bytes = elements * ir::dtype_bits(param->buffer->type) / 8;
    need += request_.verify ? 3 * bytes + 16 * elements : bytes;
  }
  auto have = static_cast<double>(runtime::available_memory());
  if (need <= have) return;
  diags_.error(Rule::out_of_memory, kernel_.loc,
               fmt::format("the tensors of this run need {:.1f} GiB, the machine has {:.1f} GiB left", need / 0x1p30,
                           have / 0x1p30));
}

/// A flat tensor with the shape that the kernel asks for, where that needs as many bytes; else as it is.
HostTensor shaped(HostTensor from, const std::vector<std::int64_t>& shape) {
  auto count = runtime::element_count(shape);
  auto bytes = count ? runtime::packed_bytes(*count, ir::dtype_bits(from.view().type)) : std::nullopt;
  if (bytes != from.bytes()) return from;
  HostTensor to(from.view().type, {shape, runtime::contiguous_strides(shape).value()});
  std::memcpy(to.data(), from.data(), static_cast<std::size_t>(*bytes));
  return to;
}

/// The values of `from` in the layout that the kernel asks for.
HostTensor in_layout(HostTensor from, const runtime::Layout& layout) {
  if (from.view().shape != layout.shape || from.view().strides == layout.strides) return from;
  HostTensor to(from.view().type, layout);
  runtime::ElementWalk target(to.view());
  for (runtime::ElementWalk walk(from.view()); !walk.done(); walk.next(), target.next()) {
    if (ir::is_float(to.view().type)) {
      ir::store_float(to.view().type, to.data(), target.offset(),
                      ir::load_float(to.view().type, from.data(), walk.offset()));
    } else {
      ir::store_int(to.view().type, to.data(), target.offset(),
                    ir::load_int(to.view().type, from.data(), walk.offset()));
    }
  }
  return to;
}

void Preparation::make_tensors(const std::map<std::string, runtime::Layout>& layouts) {
  for (const ir::Param* param : data_.params) {
    const std::string& name = param->buffer->name;
    auto file = files_.find(name);
    data_.drawn.push_back(file == files_.end() && is_read(param->kind));
    if (file != files_.end()) {
      HostTensor tensor = std::move(file->second);
      if (is_flat(*param->buffer, tensor.view())) tensor = shaped(std::move(tensor), layouts.at(name).shape);
      data_.tensors.push_back(in_layout(std::move(tensor), layouts.at(name)));
    } else {
      data_.tensors.emplace_back(param->buffer->type, layouts.at(name));
      if (data_.drawn.back()) {
        runtime::fill_random(data_.tensors.back(), name, request_.seed);
      } else {
        runtime::poison(data_.tensors.back());
      }
    }
    data_.args.tensors[name] = data_.tensors.back().arg();
  }
}

Result<RunData> Preparation::run() {
  for (const ir::Param& param : kernel_.params) {
    if (param.kind != ir::ParamKind::scalar) data_.params.push_back(&param);
  }
  dims_ = request_.dims;
  check_names();
  parse_scalars();
  read_inputs();
  if (diags_.has_errors()) return diags_;
  auto layouts = runtime::layouts_for(kernel_, dims_);
  if (!layouts) return layouts.diagnostics();
  check_memory(*layouts);
  if (diags_.has_errors()) return diags_;
  make_tensors(*layouts);
  data_.args.dims = request_.dims;
  auto bound = runtime::bind(kernel_, data_.args);
  if (!bound) return bound.diagnostics();
  data_.bound = std::move(*bound);
  return std::move(data_);
}

}  // namespace

Result<RunData> prepare_run(const ir::Kernel& kernel, const RunRequest& request) {
  check_dims(kernel, request.dims);
  return Preparation(kernel, request).run();
}

ir::BoundArgs rebound(const ir::BoundArgs& bound, const std::vector<HostTensor>& tensors) {
  ir::BoundArgs other = bound;
  for (std::size_t i = 0; i < tensors.size(); ++i) other.tensors[i].data = tensors[i].data();
  return other;
}

}  // namespace plait::cli
