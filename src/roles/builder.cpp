#include "roles/builder.h"

#include <algorithm>
#include <array>

#include "ir/expr_util.h"
#include "roles/builtin_names.h"

namespace plait::roles::build {
namespace {

using ir::BinaryOp;

/// The result of a checked factory, whose reports are faults of the code that called it.
ExprRef right(ExprRef made, const Diagnostics& diags) {
  PLAIT_ASSERT(made != nullptr, "a role program is built wrongly:\n" + diags.render());
  return made;
}

Value binary(BinaryOp op, const Value& a, const Value& b) {
  Diagnostics diags;
  return right(ir::make_binary(op, a.expr(), b.expr(), {}, diags), diags);
}

Value unary(ir::UnaryOp op, const Value& a) {
  Diagnostics diags;
  return right(ir::make_unary(op, a.expr(), {}, diags), diags);
}

/// Only the name of the C++ file is known, not its text.
Loc place(const At& at) {
  return {std::make_shared<const SourceFile>(at.file_name(), ""), static_cast<int>(at.line()),
          static_cast<int>(at.column()), 1};
}

ir::Buffer buffer(const std::string& name, DType type, ir::Scope scope, std::vector<ExprRef> shape, int pad, Loc loc) {
  ir::BufferDecl decl;
  decl.name = name;
  decl.type = type;
  decl.scope = scope;
  decl.shape = std::move(shape);
  decl.pad = pad;
  decl.loc = std::move(loc);
  return std::make_shared<const ir::BufferDecl>(std::move(decl));
}

std::vector<ExprRef> literals(const std::vector<std::int64_t>& shape) {
  std::vector<ExprRef> out;
  for (std::int64_t extent : shape) out.push_back(ir::typed_int(DType::i64, extent));
  return out;
}

}  // namespace

// ---- Values --------------------------------------------------------------------------------------------------------

Value::Value(int value) : expr_(ir::int_literal(value)) {}
Value::Value(std::int64_t value) : expr_(ir::int_literal(value)) {}
Value::Value(double value) : expr_(ir::float_literal(value)) {}
Value::Value(bool value) : expr_(ir::bool_literal(value)) {}

Value::operator ExprRef() const {
  Diagnostics diags;
  bool integer = expr_->weak && ir::is_integer(expr_->type);
  return right(integer ? ir::convert_for_store(DType::i32, expr_, {}, diags) : ir::settle(expr_, {}, diags), diags);
}

ExprRef Value::as(DType type) const {
  Diagnostics diags;
  return right(ir::convert_for_store(type, expr_, {}, diags), diags);
}

Value operator+(const Value& a, const Value& b) { return binary(BinaryOp::add, a, b); }
Value operator-(const Value& a, const Value& b) { return binary(BinaryOp::sub, a, b); }
Value operator*(const Value& a, const Value& b) { return binary(BinaryOp::mul, a, b); }
Value operator/(const Value& a, const Value& b) { return binary(BinaryOp::div, a, b); }
Value operator%(const Value& a, const Value& b) { return binary(BinaryOp::mod, a, b); }
Value operator==(const Value& a, const Value& b) { return binary(BinaryOp::eq, a, b); }
Value operator!=(const Value& a, const Value& b) { return binary(BinaryOp::ne, a, b); }
Value operator<(const Value& a, const Value& b) { return binary(BinaryOp::lt, a, b); }
Value operator<=(const Value& a, const Value& b) { return binary(BinaryOp::le, a, b); }
Value operator>(const Value& a, const Value& b) { return binary(BinaryOp::gt, a, b); }
Value operator>=(const Value& a, const Value& b) { return binary(BinaryOp::ge, a, b); }
Value operator&(const Value& a, const Value& b) { return binary(BinaryOp::bit_and, a, b); }
Value operator>>(const Value& a, const Value& b) { return binary(BinaryOp::shr, a, b); }
Value operator&&(const Value& a, const Value& b) { return binary(BinaryOp::logical_and, a, b); }
Value operator||(const Value& a, const Value& b) { return binary(BinaryOp::logical_or, a, b); }
Value operator-(const Value& a) { return unary(ir::UnaryOp::neg, a); }
Value operator!(const Value& a) { return unary(ir::UnaryOp::logical_not, a); }
Value min(const Value& a, const Value& b) { return binary(BinaryOp::min, a, b); }
Value max(const Value& a, const Value& b) { return binary(BinaryOp::max, a, b); }
Value ceildiv(const Value& a, const Value& b) { return binary(BinaryOp::ceil_div, a, b); }

Value select(const Value& cond, const Value& a, const Value& b) {
  Diagnostics diags;
  return right(ir::make_select(cond.expr(), a.expr(), b.expr(), {}, diags), diags);
}

Value cast(DType type, const Value& a) {
  Diagnostics diags;
  return right(ir::make_cast(type, a.expr(), std::nullopt, false, {}, diags), diags);
}

Value call(ir::Intrinsic fn, const Values& args) {
  Diagnostics diags;
  std::vector<ExprRef> list;
  for (const Value& arg : args) list.push_back(arg.expr());
  return right(ir::make_call(fn, std::move(list), {}, diags), diags);
}

std::vector<ExprRef> exprs(const Values& values) { return {values.begin(), values.end()}; }

SmemRef at(const Smem& smem, const Values& index, const At& at) { return {smem, exprs(index), place(at)}; }
MbarRef at(const Mbar& mbar, const Value& index, const At& at) { return {mbar, index, place(at)}; }
ChannelRef at(const Channel& channel, const Value& index, const At& at) { return {channel, index, place(at)}; }
FragmentRef at(const Fragment& fragment, const Values& begin, const At& at) {
  return {fragment, exprs(begin), place(at)};
}
TensorRef at(const ir::Buffer& tensor, const Values& index, const At& at) { return {tensor, exprs(index), place(at)}; }

Value element(const ir::Buffer& buffer, const Values& index) {
  Diagnostics diags;
  std::vector<ExprRef> list;
  for (const Value& value : index) list.push_back(value.expr());
  return right(ir::make_load(buffer, std::move(list), {}, diags), diags);
}

ElementStore assign(const Fragment& fragment, const Values& index, const Value& value) {
  return {fragment, exprs(index), value.as(fragment->buffer->type)};
}

// ---- The head ------------------------------------------------------------------------------------------------------

Builder::Builder(std::string name, std::string device, const At& at) {
  program_.name = std::move(name);
  program_.device = std::move(device);
  program_.loc = place(at);
  program_.builtins = make_builtins(program_.loc);
}

void Builder::taken(const std::set<std::string>& names) { rename_builtins(program_.builtins, names); }

Loc Builder::loc(const At& at) { return origin_.known() ? origin_ : place(at); }

Var Builder::variable(const std::string& name, DType type, ir::VarKind kind, const At& at) {
  return std::make_shared<const ir::VarDecl>(ir::VarDecl{name, type, kind, loc(at)});
}

Value Builder::dim(const std::string& name, const At& at) {
  program_.dims.push_back(variable(name, DType::i64, ir::VarKind::dim, at));
  return program_.dims.back();
}

ir::Buffer Builder::tensor(ir::ParamKind kind, const std::string& name, DType type, const Values& shape, const At& at) {
  std::vector<ExprRef> extents;
  for (const Value& extent : shape) extents.push_back(extent.as(DType::i64));
  ir::Buffer made = buffer(name, type, ir::Scope::global, std::move(extents), 0, loc(at));
  program_.params.push_back({kind, made, nullptr, nullptr});
  return made;
}

Value Builder::scalar(const std::string& name, DType type, const At& at) {
  Var var = variable(name, type, ir::VarKind::scalar, at);
  program_.params.push_back({ir::ParamKind::scalar, nullptr, var, nullptr});
  return var;
}

void Builder::require(const Value& cond, std::string message, const At& at) {
  program_.requires_.push_back({cond, std::move(message), loc(at)});
}

void Builder::launch(const Values& extents) { program_.launch = exprs(extents); }

ir::Buffer Builder::workspace(const std::string& name, DType type, const Values& shape, bool zero, const At& at) {
  std::vector<ExprRef> extents;
  for (const Value& extent : shape) extents.push_back(cast(DType::i64, extent));
  ir::Buffer made = buffer(name, type, ir::Scope::global, std::move(extents), 0, loc(at));
  program_.workspaces.push_back(std::make_shared<const WorkspaceDecl>(WorkspaceDecl{made, zero, loc(at)}));
  return made;
}

Map Builder::map(std::string name, const ir::Buffer& tensor, std::vector<std::int64_t> box, Swizzle swizzle,
                 const At& at) {
  program_.maps.push_back(
      std::make_shared<const MapDecl>(MapDecl{std::move(name), tensor, std::move(box), swizzle, loc(at)}));
  return program_.maps.back();
}

Smem Builder::smem(const std::string& name, DType type, const std::vector<std::int64_t>& shape, SmemOptions options,
                   const At& at) {
  ir::Buffer made = buffer(name, type, ir::Scope::shared, literals(shape), options.pad, loc(at));
  program_.smem.push_back(
      std::make_shared<const SmemDecl>(SmemDecl{std::move(made), options.swizzle, options.offset, loc(at)}));
  return program_.smem.back();
}

Smem Builder::put_at(const Smem& smem, std::int64_t offset) {
  auto declared = std::find(program_.smem.begin(), program_.smem.end(), smem);
  PLAIT_ASSERT(declared != program_.smem.end(), "a tile that is not declared gets a place");
  SmemDecl placed = *smem;
  placed.offset = offset;
  return *declared = std::make_shared<const SmemDecl>(std::move(placed));
}

Mbar Builder::mbar(std::string name, std::int64_t size, std::int64_t count, const At& at) {
  program_.mbars.push_back(std::make_shared<const MbarDecl>(MbarDecl{std::move(name), size, count, loc(at)}));
  return program_.mbars.back();
}

Channel Builder::channel(std::string name, std::int64_t depth, std::vector<Smem> tiles, ChannelOptions options,
                         const At& at) {
  program_.channels.push_back(std::make_shared<const ChannelDecl>(
      ChannelDecl{std::move(name), depth, std::move(tiles), options.writers, options.readers, options.bytes, loc(at)}));
  return program_.channels.back();
}

void Builder::prologue(const Then& body) { program_.prologue = inner(body); }

void Builder::role(std::string name, RoleShape shape, const Then& body, const At& at) {
  program_.roles.push_back({std::move(name), shape.replicas, shape.warps, shape.regs, inner(body), loc(at)});
}

// ---- Statements ----------------------------------------------------------------------------------------------------

void Builder::add(StmtNode node, const At& at) {
  PLAIT_ASSERT(body_ != nullptr, "a statement of a role program is built outside of its roles");
  body_->push_back(std::make_shared<const Stmt>(Stmt{loc(at), origin_, std::move(node)}));
}

Body Builder::inner(const Then& body) {
  Body out;
  Body* outer = std::exchange(body_, &out);
  body();
  body_ = outer;
  return out;
}

Value Builder::let(const std::string& name, const Value& value, const At& at) {
  if (ir::is_literal(value.expr())) return value;
  ExprRef expr = value;
  Var var = variable(name, expr->type, ir::VarKind::let, at);
  Let let{var, std::move(expr)};
  if (body_ == nullptr) {
    program_.lets.push_back(std::move(let));
  } else {
    add(std::move(let), at);
  }
  return var;
}

Var Builder::var(const std::string& name, DType type, const Value& init, const At& at) {
  Var var = variable(name, type, ir::VarKind::let, at);
  add(VarDef{var, init.as(type)}, at);
  return var;
}

void Builder::set(const Var& var, const Value& value, const At& at) { add(Set{var, value.as(var->type)}, at); }

void Builder::loop(const std::string& name, const Bounds& bounds, const LoopBody& body, const At& at) {
  Diagnostics diags;
  std::array<ExprRef, 3> parts = {bounds.begin.expr(), bounds.end.expr(), bounds.step.expr()};
  bool unified = ir::unify(parts, "range", {}, diags);
  PLAIT_ASSERT(unified, "the bounds of a loop have no common type:\n" + diags.render());
  For node;
  node.begin = Value(parts[0]);
  node.end = Value(parts[1]);
  node.step = Value(parts[2]);
  node.unroll = bounds.unroll == 1 ? Unroll::none : Unroll::by;
  node.factor = bounds.unroll;
  node.var = variable(name, node.end->type, ir::VarKind::loop, at);
  node.body = inner([&] { body(node.var); });
  add(std::move(node), at);
}

void Builder::unrolled(const std::string& name, std::int64_t end, const LoopBody& body, const At& at) {
  For node;
  node.begin = Value(0);
  node.end = Value(end);
  node.step = Value(1);
  node.unroll = Unroll::full;
  node.var = variable(name, node.end->type, ir::VarKind::loop, at);
  node.body = inner([&] { body(node.var); });
  add(std::move(node), at);
}

void Builder::while_(const Value& cond, const Then& body, const At& at) { add(While{cond, inner(body)}, at); }

void Builder::if_(const Value& cond, const Then& then, const Then& otherwise, const At& at) {
  If node{cond, inner(then), {}};
  if (otherwise) node.else_body = inner(otherwise);
  add(std::move(node), at);
}

void Builder::issue(Issue task, const Then& body, const At& at) {
  task.body = inner(body);
  add(std::move(task), at);
}

void Builder::elect(const Then& body, const At& at) { add(Elect{inner(body)}, at); }
void Builder::one_warp(int warp, const Then& body, const At& at) { add(OneWarp{warp, inner(body)}, at); }

Fragment Builder::fragment(const std::string& name, DType type, const std::vector<std::int64_t>& shape,
                           FragmentKind kind, FragmentOptions options, const At& at) {
  ir::Buffer made = buffer(name, type, ir::Scope::fragment, literals(shape), 0, loc(at));
  auto fragment = std::make_shared<const FragmentDecl>(
      FragmentDecl{std::move(made), kind, options.vec, options.lanes, std::move(options.of), loc(at)});
  add(DefFragment{fragment}, at);
  return fragment;
}

void Builder::each(const Fragment& domain, const std::vector<std::string>& names, const EachBody& body, const At& at) {
  Each node{domain, {}, {}};
  Values coordinates;
  for (const std::string& name : names) {
    node.vars.push_back(variable(name, DType::i32, ir::VarKind::loop, at));
    coordinates.emplace_back(node.vars.back());
  }
  node.stores = body(coordinates);
  add(std::move(node), at);
}

void Builder::put(const TensorRef& dst, const Value& value, const At& at) {
  add(PutTensor{dst, value.as(dst.tensor->type)}, at);
}

void Builder::put(const SmemRef& dst, const Value& value, const At& at) {
  add(PutShared{dst, value.as(dst.smem->buffer->type)}, at);
}

Value Builder::broadcast(const std::string& name, const Value& value, const At& at) {
  ExprRef expr = value;
  Var var = variable(name, expr->type, ir::VarKind::let, at);
  add(Broadcast{var, std::move(expr)}, at);
  return var;
}

Value Builder::clock(const std::string& name, bool global, const At& at) {
  Var var = variable(name, global ? DType::u64 : DType::u32, ir::VarKind::let, at);
  add(Clock{var, global}, at);
  return var;
}

Value Builder::atomic_add(const std::string& name, const TensorRef& dst, const Value& value, const At& at) {
  return atomic(ir::AtomicOp::add, name, dst, value, at);
}

Value Builder::atomic(ir::AtomicOp op, const std::string& name, const TensorRef& dst, const Value& value,
                      const At& at) {
  Var var = variable(name, dst.tensor->type, ir::VarKind::let, at);
  add(Atomic{var, dst, value.as(dst.tensor->type), op}, at);
  return var;
}

Value Builder::atomic(ir::AtomicOp op, const std::string& name, const SmemRef& dst, const Value& value, const At& at) {
  Var var = variable(name, dst.smem->buffer->type, ir::VarKind::let, at);
  add(AtomicShared{var, dst, value.as(dst.smem->buffer->type), op}, at);
  return var;
}

Value Builder::shuffle(const std::string& name, const Value& value, const Value& lane, const At& at) {
  ExprRef expr = value;
  Var var = variable(name, expr->type, ir::VarKind::let, at);
  add(Shuffle{var, std::move(expr), lane}, at);
  return var;
}

}  // namespace plait::roles::build
