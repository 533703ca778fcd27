#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bundle/alignments.h"
#include "bundle/print.h"
#include "cuda/tensor_map.h"
#include "emit/c/names.h"
#include "ir/build.h"

namespace plait::bundle {

using emit::c::c_name;
using emit::c::variable;

namespace {

std::string list_text(const std::vector<ir::ExprRef>& exprs) {
  std::vector<std::string> texts;
  for (const ir::ExprRef& e : exprs) texts.push_back(ir::print(*e));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

/// Prints the functions of one kernel.
class KernelPrinter {
 public:
  KernelPrinter(const Bundle& bundle, const BundledKernel& kernel, emit::c::HostExprs& exprs, Limits& limits)
      : bundle_(bundle), kernel_(kernel), head_(head_of(kernel)), exprs_(exprs), limits_(limits) {}

  std::string run() {
    out_ = fmt::format("\n/* ---- {} {:-<{}} */\n\n", kernel_.name, "",
                       110 - std::min<std::size_t>(kernel_.name.size(), 100));
    forms();
    bind();
    for (std::size_t device = 0; device < kernel_.devices.size(); ++device) {
      for (const Variant& variant : kernel_.devices[device].variants) plan_of(*variant.kernel);
      table(device);
    }
    descriptor();
    return std::move(out_);
  }

 private:
  std::string text(const ir::ExprRef& expr) { return exprs_.text(expr); }
  std::vector<std::string> texts(const std::vector<ir::ExprRef>& exprs) {
    std::vector<std::string> out;
    for (const ir::ExprRef& e : exprs) out.push_back(text(e));
    return out;
  }
  std::string error(const char* name) const { return capitals(bundle_.name) + "_" + name; }
  std::string form_name(const ir::BufferDecl& buffer) const {
    return fmt::format("form_{}_{}", kernel_.name, number_of(buffer));
  }
  std::string form(const ir::BufferDecl& buffer, ir::ParamKind kind);
  void forms();
  void bind();
  std::string bind_tensor(const ir::Param& param);
  std::string requires_text(const roles::Program& head, std::size_t from, std::size_t to);
  std::string variables(const std::set<std::string>& used, const roles::Program& head);
  void plan_of(const cuda::Kernel& compiled);
  std::string plan_body(const cuda::Kernel& compiled);
  std::string workspaces(const cuda::Kernel& compiled);
  std::string pieces(const cuda::Kernel& compiled);
  std::string arguments(const cuda::Kernel& compiled);
  std::string map_argument(const roles::MapDecl& map);
  std::string word(const ir::Var& var);
  std::size_t number_of(const ir::BufferDecl& tensor) const;
  void table(std::size_t device);
  void descriptor();

  const Bundle& bundle_;
  const BundledKernel& kernel_;
  const roles::Program& head_;
  emit::c::HostExprs& exprs_;
  Limits& limits_;
  std::string out_;
  std::map<std::string, std::string> plans_;  ///< names of functions by their bodies
  std::map<const cuda::Kernel*, std::string> plan_names_;
};

std::string KernelPrinter::form(const ir::BufferDecl& buffer, ir::ParamKind kind) {
  limits_.rank = std::max(limits_.rank, buffer.shape.size());
  return fmt::format("static const struct tensor_form {} = {{{}, {}, {}, {}, {}, {}, {}}};\n", form_name(buffer),
                     c_string(buffer.name), c_string(list_text(buffer.shape)),
                     c_string(buffer.strides.empty() ? "of a contiguous tensor" : list_text(buffer.strides)),
                     ir::dtype_bits(buffer.type), kind == ir::ParamKind::in ? 0 : 1, kind == ir::ParamKind::out ? 1 : 0,
                     buffer.shape.size());
}

/// Those of parameters; what stands with a plan has its own beside it.
void KernelPrinter::forms() {
  std::size_t tensors = 0;
  for (const ir::Param& param : head_.params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    out_ += form(*param.buffer, param.kind);
    ++tensors;
  }
  limits_.tensors = std::max(limits_.tensors, tensors);
  limits_.dims = std::max(limits_.dims, head_.dims.size());
}

std::string KernelPrinter::bind_tensor(const ir::Param& param) {
  const ir::BufferDecl& buffer = *param.buffer;
  std::string shape = fmt::format("{}", fmt::join(texts(buffer.shape), ", ")), out;
  std::string strides = fmt::format("{}", fmt::join(texts(buffer.strides), ", "));
  // C has no empty lists: a tensor without dims has one number that nobody reads.
  out += fmt::format("  {{\n    const int64_t shape[] = {{{}}};\n", shape.empty() ? "1" : shape);
  if (!strides.empty()) out += fmt::format("    const int64_t strides[] = {{{}}};\n", strides);
  out += fmt::format("    if ((result = add_tensor(c, &{}, a->{}, shape, {})) != 0) return result;\n  }}\n",
                     form_name(buffer), c_name(buffer.name), strides.empty() ? "NULL" : "strides");
  return out;
}

std::string KernelPrinter::requires_text(const roles::Program& head, std::size_t from, std::size_t to) {
  std::string out;
  for (std::size_t i = from; i < std::min(to, head.requires_.size()); ++i) {
    const ir::Require& r = head.requires_[i];
    std::string holds = text(r.cond);
    out += fmt::format("  holds = {} != 0;\n  if ((result = require(c, holds, {}, {})) != 0) return result;\n", holds,
                       c_string(ir::print(*r.cond)), c_string(r.message));
  }
  return out;
}

/// Definitions of those that a function names and that the arguments give.
std::string KernelPrinter::variables(const std::set<std::string>& used, const roles::Program& head) {
  std::string out;
  for (const ir::Var& dim : head.dims) {
    if (used.contains(dim->name))
      out += fmt::format("  const int64_t {} = a->{};\n", variable(dim->name), c_name(dim->name));
  }
  for (const ir::Param& param : head.params) {
    if (param.kind != ir::ParamKind::scalar || !used.contains(param.scalar->name)) continue;
    bool floating = ir::is_float(param.scalar->type);
    out += fmt::format("  const {} {} = ({})a->{};\n", floating ? "double" : "int64_t", variable(param.scalar->name),
                       floating ? "double" : "int64_t", c_name(param.scalar->name));
  }
  const ir::Var& sms = head.builtins.sms;
  if (sms != nullptr && used.contains(sms->name))
    out += fmt::format("  const int64_t {} = c->device->sms;\n", variable(sms->name));
  return out;
}

/// What can be said of a call before it is known which kernel serves it.
void KernelPrinter::bind() {
  std::string body;
  for (const ir::Var& dim : head_.dims)
    body += fmt::format("  if ((result = add_dim(c, {}, a->{})) != 0) return result;\n", c_string(dim->name),
                        c_name(dim->name));
  for (const ir::Param& param : head_.params) {
    if (param.kind != ir::ParamKind::scalar) {
      body += bind_tensor(param);
      continue;
    }
    if (!is_passed(param.scalar->type)) {
      exprs_.refuse(param.scalar->loc,
                    fmt::format("{} is a scalar of {}", param.scalar->name, ir::dtype_name(param.scalar->type)));
    }
    if (ir::is_bool(param.scalar->type))
      body += fmt::format(
          "  if (a->{0} > 1) return fail({1}, \"%s: %s is %d, neither 0 nor 1\", c->kernel_name, {2}, (int)a->{0});\n",
          c_name(param.scalar->name), error("SCALAR"), c_string(param.scalar->name));
  }
  body += "  if ((result = check_overlaps(c)) != 0) return result;\n";
  std::string conditions = kernel_.is_tile ? requires_text(head_, 0, kernel_.tile_requires) : "";
  body += conditions + "  return 0;\n";
  std::string head =
      fmt::format("\nstatic int bind_{0}(const void *args, struct call *c) {{\n  const {1}_{0}_args *a = args;\n",
                  kernel_.name, bundle_.name);
  std::string vars = variables(exprs_.take_variables(), head_);
  out_ += head + "  struct num *n = &c->num;\n" + vars + "  int result" + (conditions.empty() ? "" : ", holds") +
          ";\n  (void)a, (void)n;\n" + body + "}\n";
}

std::size_t KernelPrinter::number_of(const ir::BufferDecl& tensor) const {
  std::size_t number = 0;
  for (const ir::Param& param : head_.params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    if (param.buffer->name == tensor.name) return number;
    ++number;
  }
  throw InternalError("a kernel argument is no parameter: " + tensor.name);
}

std::string KernelPrinter::workspaces(const cuda::Kernel& compiled) {
  std::string out;
  const auto& all = compiled.program().workspaces;
  limits_.workspaces = std::max(limits_.workspaces, all.size());
  for (const roles::Workspace& workspace : all) {
    const ir::BufferDecl& buffer = *workspace->buffer;
    cuda::Piece piece;
    if (auto found = compiled.pieces().find(&buffer); found != compiled.pieces().end()) piece = found->second;
    limits_.rank = std::max(limits_.rank, buffer.shape.size());
    out += fmt::format(
        "  {{\n    static const struct tensor_form form = {{{}, {}, \"\", {}, 1, 0, {}}};\n"
        "    const int64_t shape[] = {{{}}};\n"
        "    if ((result = add_workspace(c, &form, {}, shape, {}, {})) != 0) return result;\n  }}\n",
        c_string(buffer.name), c_string(list_text(buffer.shape)), ir::dtype_bits(buffer.type), buffer.shape.size(),
        fmt::join(texts(buffer.shape), ", "), workspace->zero ? 1 : 0, piece.elements, piece.whole ? 1 : 0);
  }
  return out;
}

std::string KernelPrinter::pieces(const cuda::Kernel& compiled) {
  std::string out;
  for (const ir::Param& param : compiled.program().params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    auto piece = compiled.pieces().find(param.buffer.get());
    if (piece == compiled.pieces().end()) continue;
    out += fmt::format("  if ((result = check_piece(c, &c->tensors[{}], {}, {})) != 0) return result;\n",
                       number_of(*param.buffer), piece->second.elements, piece->second.whole ? 1 : 0);
  }
  return out;
}

std::string KernelPrinter::map_argument(const roles::MapDecl& map) {
  PLAIT_ASSERT(map.box.size() <= 5, "a map that TMA does not have: " + map.name);
  return fmt::format(
      "  {{\n    static const struct map_form form = {{{}, {}, {}, {{{}}}}};\n"
      "    if ((result = add_map(c, {}, &form)) != 0) return result;\n  }}\n",
      c_string(map.name), static_cast<int>(cuda::map_type(map.tensor->type)),
      static_cast<int>(cuda::map_swizzle(map.swizzle)), fmt::join(map.box, ", "), number_of(*map.tensor));
}

/// A kernel parameter of the variable's type, in the first bytes of a word.
std::string KernelPrinter::word(const ir::Var& var) {
  // Of a parameter it has been told.
  if (!is_passed(var->type)) {
    if (var->kind != ir::VarKind::scalar)
      exprs_.refuse(var->loc, fmt::format("{} is a value of {}", var->name, ir::dtype_name(var->type)));
    return "";
  }
  std::string value = text(ir::var_ref(var));
  if (var->type == ir::DType::f32) return fmt::format("  add_word(c, word_of_float((float){}));\n", value);
  if (var->type == ir::DType::f64) return fmt::format("  add_word(c, word_of_double({}));\n", value);
  return fmt::format("  add_word(c, (uint64_t){});\n", value);
}

std::string KernelPrinter::arguments(const cuda::Kernel& compiled) {
  std::string out;
  std::size_t maps = 0;
  const auto& workspaces = compiled.program().workspaces;
  for (const emit::cuda::KernelArg& arg : compiled.module().args) {
    std::visit(Overload{[&](const emit::cuda::MapArg& a) {
                          out += map_argument(*a.map);
                          ++maps;
                        },
                        [&](const emit::cuda::TensorArg& a) {
                          auto own = std::find_if(workspaces.begin(), workspaces.end(),
                                                  [&](const auto& w) { return w->buffer == a.tensor; });
                          out += own != workspaces.end()
                                     ? fmt::format("  add_workspace_address(c, {});\n", own - workspaces.begin())
                                     : fmt::format("  add_tensor_address(c, {});\n", number_of(*a.tensor));
                        },
                        [&](const emit::cuda::VarArg& a) { out += word(a.var); }},
               arg);
  }
  limits_.maps = std::max(limits_.maps, maps);
  limits_.params = std::max(limits_.params, compiled.module().args.size());
  return out;
}

std::string KernelPrinter::plan_body(const cuda::Kernel& compiled) {
  const roles::Program& head = compiled.program();
  std::string lets, body;
  std::string conditions = requires_text(head, kernel_.is_tile ? kernel_.tile_requires : 0, head.requires_.size());
  std::set<std::string> bound;
  for (const roles::Let& let : head.lets) {
    bool floating = ir::is_float(let.var->type);
    std::string value = text(let.value), name = variable(let.var->name);
    lets += fmt::format("  const {} {} = {};\n  if (c->num.failure) return arithmetic(c, {}, {});\n  (void){};\n",
                        floating ? "double" : "int64_t", name, value, c_string(let.var->name),
                        c_string(ir::print(*let.value)), name);
    bound.insert(let.var->name);
  }
  for (std::size_t i = 0; i < head.launch.size(); ++i) {
    body += fmt::format("  if ((result = set_blocks(c, {}, {}, {}, {})) != 0) return result;\n", i,
                        text(head.launch[i]), c_string(ir::print(*head.launch[i])), head.cluster);
  }
  body += workspaces(compiled) + pieces(compiled);
  body += "  if (c->is_query || is_without_work(c)) return 0;\n" + arguments(compiled) + "  return 0;\n";
  std::set<std::string> used = exprs_.take_variables();
  for (const std::string& name : bound) used.erase(name);
  return fmt::format("  const {}_{}_args *a = args;\n  struct num *n = &c->num;\n", bundle_.name, kernel_.name) +
         variables(used, head) + "  int result" + (conditions.empty() ? "" : ", holds") + ";\n  (void)a, (void)n;\n" +
         conditions + lets + body;
}

/// Kernels that are launched alike share the function.
void KernelPrinter::plan_of(const cuda::Kernel& compiled) {
  std::string body = plan_body(compiled);
  auto [known, is_new] = plans_.emplace(body, fmt::format("plan_{}_{}", kernel_.name, plans_.size()));
  plan_names_[&compiled] = known->second;
  if (is_new) out_ += fmt::format("\nstatic int {}(const void *args, struct call *c) {{\n{}}}\n", known->second, body);
}

void KernelPrinter::table(std::size_t device) {
  const auto& variants = kernel_.devices[device].variants;
  std::string rows;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    std::string takes = "NULL";
    std::vector<std::string> tensors;
    for (const ir::Param& param : head_.params) {
      if (param.kind == ir::ParamKind::scalar) continue;
      const place::Assumptions& a = variants[v].takes;
      const std::string& name = param.buffer->name;
      tensors.push_back(fmt::format("{{{}, {}, {}, {}}}", a.unaligned.contains(name) ? 1 : 0,
                                    a.ragged.contains(name) ? 1 : 0, a.straddling.contains(name) ? 1 : 0,
                                    granule_of(a, name)));
    }
    if (kernel_.is_tile && !tensors.empty()) {
      takes = fmt::format("takes_{}_{}_{}", kernel_.name, device, v);
      out_ += fmt::format("{}static const struct alignment {}[] = {{{}}};\n", v == 0 ? "\n" : "", takes,
                          fmt::join(tensors, ", "));
    }
    rows += fmt::format("  {{{}, {}, {}}},\n", takes, plan_names_.at(variants[v].kernel.get()), variants[v].code);
  }
  out_ += fmt::format("static const struct variant variants_{}_{}[] = {{\n{}}};\n", kernel_.name, device, rows);
}

void KernelPrinter::descriptor() {
  std::vector<std::string> lists;
  for (std::size_t device = 0; device < kernel_.devices.size(); ++device)
    lists.push_back(
        fmt::format("{{variants_{}_{}, {}}}", kernel_.name, device, kernel_.devices[device].variants.size()));
  out_ += fmt::format("static const struct kernel kernel_{0} = {{\"{0}\", bind_{0}, {{{1}}}}};\n", kernel_.name,
                      fmt::join(lists, ", "));
}

}  // namespace

std::string print_kernel(const Bundle& bundle, const BundledKernel& kernel, emit::c::HostExprs& exprs, Limits& limits) {
  return KernelPrinter(bundle, kernel, exprs, limits).run();
}

}  // namespace plait::bundle
