#include <fmt/format.h>

#include <array>

#include "lang/elaborator.h"
#include "lang/suggest.h"

namespace plait::lang {
namespace {

using ir::BinaryOp;
using ir::ExprRef;

constexpr std::uint64_t kMaxSigned = static_cast<std::uint64_t>(INT64_MAX);

const std::vector<std::pair<std::string_view, BinaryOp>>& operators() {
  static const std::vector<std::pair<std::string_view, BinaryOp>> table = {
      {"+", BinaryOp::add},    {"-", BinaryOp::sub},           {"*", BinaryOp::mul},
      {"/", BinaryOp::div},    {"%", BinaryOp::mod},           {"&", BinaryOp::bit_and},
      {"|", BinaryOp::bit_or}, {"^", BinaryOp::bit_xor},       {"<<", BinaryOp::shl},
      {">>", BinaryOp::shr},   {"==", BinaryOp::eq},           {"!=", BinaryOp::ne},
      {"<", BinaryOp::lt},     {"<=", BinaryOp::le},           {">", BinaryOp::gt},
      {">=", BinaryOp::ge},    {"and", BinaryOp::logical_and}, {"or", BinaryOp::logical_or},
      {"min", BinaryOp::min},  {"max", BinaryOp::max},
  };
  return table;
}

std::optional<ir::Intrinsic> intrinsic_named(std::string_view name) {
  static const std::vector<ir::Intrinsic> all = {
#define PLAIT_INTRINSIC(id, name, arity, kind) ir::Intrinsic::id,
#include "ir/intrinsics.def"
#undef PLAIT_INTRINSIC
  };
  for (ir::Intrinsic fn : all) {
    if (ir::intrinsic_name(fn) == name) return fn;
  }
  return std::nullopt;
}

std::optional<BinaryOp> binary_function(std::string_view name) {
  if (name == "ceildiv") return BinaryOp::ceil_div;
  if (name == "min") return BinaryOp::min;
  if (name == "max") return BinaryOp::max;
  return std::nullopt;
}

std::vector<std::string> parameter_names(int arity) {
  std::vector<std::string> all = {"a", "b", "c"};
  if (arity == 1) return {"x"};
  all.resize(static_cast<std::size_t>(arity));
  return all;
}

/// The same expression at the place where it is used.
ExprRef at(const ExprRef& e, const Loc& loc) {
  bool leaf = std::holds_alternative<ir::IntLit>(e->node) || std::holds_alternative<ir::FloatLit>(e->node) ||
              std::holds_alternative<ir::VarRef>(e->node);
  return leaf ? std::make_shared<const ir::Expr>(ir::Expr{e->type, loc, e->node, e->weak}) : e;
}

/// What an `and` or `or` is when its left side alone decides.
bool decides(const std::string& op, const ExprRef& left) {
  if (left == nullptr || !ir::is_bool(left->type)) return false;
  auto value = ir::as_int(left);
  return (op == "and" && value == 0) || (op == "or" && value == 1);
}

}  // namespace

std::optional<BinaryOp> binary_op_from_token(std::string_view token) {
  for (const auto& [text, op] : operators()) {
    if (text == token) return op;
  }
  return std::nullopt;
}

std::vector<std::string> builtin_functions() {
  std::vector<std::string> out = {"min", "max", "ceildiv", "select", "bitcast"};
#define PLAIT_INTRINSIC(id, name, arity, kind) out.emplace_back(name);
#include "ir/intrinsics.def"
#undef PLAIT_INTRINSIC
  return out;
}

ExprRef Elaborator::eval(const syntax::ExprRef& e) {
  if (e == nullptr) return nullptr;
  Level level(*this, e->loc);
  if (!level.ok() || !spend(1, e->loc)) return nullptr;
  const Loc loc = placed(e->loc);
  auto refuse = [&](std::string message) -> ExprRef {
    diags_->error(Rule::not_a_value, loc, std::move(message));
    return nullptr;
  };
  return std::visit(Overload{[&](const syntax::IntLit& x) { return eval_int(x, loc); },
                             [&](const syntax::FloatLit& x) { return ir::float_literal(x.value, loc); },
                             [&](const syntax::BoolLit& x) { return ir::bool_literal(x.value, loc); },
                             [&](const syntax::StrLit&) { return refuse("a text is not a value"); },
                             [&](const syntax::Name& x) { return eval_name(x, loc); },
                             [&](const syntax::Unary& x) { return eval_unary(x, loc); },
                             [&](const syntax::Binary& x) { return eval_binary(x, loc); },
                             [&](const syntax::Call& x) { return eval_call(x, loc); },
                             [&](const syntax::Index& x) { return eval_index(x, loc); },
                             [&](const syntax::List&) { return refuse("a list is not a value"); }},
                    e->node);
}

ExprRef Elaborator::eval_int(const syntax::IntLit& lit, const Loc& loc) {
  if (lit.value <= kMaxSigned) return ir::int_literal(static_cast<std::int64_t>(lit.value), loc);
  diags_->error(Rule::type_mismatch, loc, fmt::format("{} does not fit in i64", lit.value),
                fmt::format("write u64({}) for an unsigned value", lit.value));
  return nullptr;
}

ExprRef Elaborator::eval_name(const syntax::Name& name, const Loc& loc) {
  if (const Symbol* symbol = scopes_.find(name.id)) return use(symbol->entity, name.id, loc);
  if (ir::dtype_from_name(name.id)) return use(*ir::dtype_from_name(name.id), name.id, loc);
  unknown_name(name.id, loc);
  return nullptr;
}

ExprRef Elaborator::use(const Entity& entity, const std::string& name, const Loc& loc) {
  auto refuse = [&](std::string fix) -> ExprRef {
    diags_->error(Rule::not_a_value, loc, fmt::format("`{}` is {}, not a value", name, entity_kind(entity)),
                  std::move(fix));
    return nullptr;
  };
  return std::visit(Overload{[](const Poison&) -> ExprRef { return nullptr; },
                             [&](const Scalar& x) -> ExprRef { return spend(x.cost, loc) ? at(x.expr, loc) : nullptr; },
                             [&](const ir::Buffer&) { return refuse({}); },
                             [&](ir::DType) { return refuse(fmt::format("convert a value with `{}(x)`", name)); },
                             [&](const Tile& x) -> ExprRef {
                               if (!x.element) return refuse({});
                               if (!spend(x.cost, loc)) return nullptr;
                               std::vector<ExprRef> index;
                               for (const auto& dim : x.spec.dims) index.push_back(dim.begin);
                               return ir::make_load(x.spec.buffer, std::move(index), loc, *diags_);
                             }},
                    entity);
}

ExprRef Elaborator::eval_unary(const syntax::Unary& unary, const Loc& loc) {
  const auto* lit = std::get_if<syntax::IntLit>(&unary.a->node);
  if (unary.op == "-" && lit != nullptr && lit->value == kMaxSigned + 1) return ir::int_literal(INT64_MIN, loc);
  ExprRef a = eval(unary.a);
  ir::UnaryOp op = unary.op == "-"   ? ir::UnaryOp::neg
                   : unary.op == "~" ? ir::UnaryOp::bit_not
                                     : ir::UnaryOp::logical_not;
  return a == nullptr ? nullptr : ir::make_unary(op, std::move(a), loc, *diags_);
}

ExprRef Elaborator::eval_binary(const syntax::Binary& binary, const Loc& loc) {
  if (auto equal = types_equal(binary)) return ir::bool_literal(*equal == (binary.op == "=="), loc);
  auto op = binary_op_from_token(binary.op);
  PLAIT_ASSERT(op.has_value(), "operator " + binary.op + " of the syntax tree has no meaning");
  ExprRef a = eval(binary.a);
  if (decides(binary.op, a)) return a;
  ExprRef b = eval(binary.b);
  return a == nullptr || b == nullptr ? nullptr : ir::make_binary(*op, std::move(a), std::move(b), loc, *diags_);
}

std::optional<bool> Elaborator::types_equal(const syntax::Binary& binary) {
  if (binary.op != "==" && binary.op != "!=") return std::nullopt;
  auto a = type_named(binary.a), b = type_named(binary.b);
  if (!a || !b) return std::nullopt;
  return *a == *b;
}

std::optional<ir::DType> Elaborator::type_of(const std::string& name) const {
  if (const Symbol* symbol = scopes_.find(name)) {
    const auto* type = std::get_if<ir::DType>(&symbol->entity);
    return type == nullptr ? std::nullopt : std::optional(*type);
  }
  return ir::dtype_from_name(name);
}

std::optional<ir::DType> Elaborator::type_named(const syntax::ExprRef& e) const {
  const auto* name = e == nullptr ? nullptr : std::get_if<syntax::Name>(&e->node);
  return name == nullptr ? std::nullopt : type_of(name->id);
}

std::optional<ir::DType> Elaborator::dtype(const std::string& name, const Loc& loc) {
  if (auto type = type_of(name)) return type;
  if (const Symbol* symbol = scopes_.find(name)) {
    if (std::holds_alternative<Poison>(symbol->entity)) return std::nullopt;
    diags_->error(Rule::unknown_name, loc, fmt::format("`{}` is {}, not a type", name, entity_kind(symbol->entity)),
                  fmt::format("write a type, or declare the compile-time parameter `{}: type`", name));
    return std::nullopt;
  }
  std::vector<std::string> types;
  for (ir::DType type : ir::all_dtypes()) types.emplace_back(ir::dtype_name(type));
  diags_->error(Rule::unknown_name, loc, fmt::format("unknown type `{}`", name),
                did_you_mean(name, types, "types are " + quoted_list(types)));
  return std::nullopt;
}

ExprRef Elaborator::to_index(const syntax::ExprRef& e) {
  ExprRef value = eval(e);
  return wide_index_ ? to_i64(value, *diags_) : value;
}

ExprRef Elaborator::eval_index(const syntax::Index& index, const Loc& loc) {
  for (const syntax::Slice& slice : index.slices) {
    if (!slice.is_range) continue;
    diags_->error(Rule::not_a_value, loc, "a tile is not a value",
                  "read one element, or move the tile with a tile operation");
    return nullptr;
  }
  auto spec = indexed(index, loc);
  if (!spec) return nullptr;
  std::vector<ExprRef> at_index;
  for (const auto& dim : spec->dims) at_index.push_back(dim.begin);
  return ir::make_load(spec->buffer, std::move(at_index), loc, *diags_);
}

ExprRef Elaborator::eval_call(const syntax::Call& call, const Loc& loc) {
  if (auto type = type_of(call.callee)) return eval_cast(*type, call, loc);
  if (const syntax::Function* fn = find_function(call.callee)) return eval_function(*fn, call, loc);
  if (call.callee == "select") return eval_select(call, loc);
  if (call.callee == "bitcast") return eval_bitcast(call, loc);
  if (binary_function(call.callee) || intrinsic_named(call.callee)) return eval_builtin(call, loc);
  if (auto form = statements_.find(call.callee); form != statements_.end()) {
    diags_->error(Rule::not_a_value, loc, fmt::format("`{}` is a statement that defines a name", call.callee),
                  fmt::format("write {} on a line of its own, and use the name", form->second));
    return nullptr;
  }
  if (ir::op_from_name(call.callee) || call.callee == "clear" || call.callee == "print") {
    diags_->error(Rule::not_a_value, loc, fmt::format("`{}` is a statement and has no value", call.callee),
                  "write it on a line of its own");
    return nullptr;
  }
  unknown_function(call.callee, loc);
  return nullptr;
}

ExprRef Elaborator::eval_cast(ir::DType type, const syntax::Call& call, const Loc& loc) {
  auto args = bind_args({call.callee, {"x"}, 1, {"round", "saturate"}}, call.args, loc, *diags_);
  if (!args) return nullptr;
  std::optional<ir::Rounding> rounding;
  bool saturate = false, ok = true;
  if ((*args)[1] != nullptr) {
    auto which = word((*args)[1]->value, "round", {"nearest_even", "toward_zero", "down", "up"});
    ok = which.has_value();
    if (which) rounding = static_cast<ir::Rounding>(*which);
  }
  if ((*args)[2] != nullptr) {
    auto flag = constant_bool((*args)[2]->value, "saturate");
    ok = ok && flag.has_value();
    saturate = flag.value_or(false);
  }
  const auto* lit = std::get_if<syntax::IntLit>(&(*args)[0]->value->node);
  if (type == ir::DType::u64 && lit != nullptr && lit->value > kMaxSigned) {
    return ir::typed_int(type, static_cast<std::int64_t>(lit->value), loc);
  }
  ExprRef a = eval((*args)[0]->value);
  return a == nullptr || !ok ? nullptr : ir::make_cast(type, std::move(a), rounding, saturate, loc, *diags_);
}

ExprRef Elaborator::eval_bitcast(const syntax::Call& call, const Loc& loc) {
  auto args = bind_args({"bitcast", {"T", "x"}, 2, {}}, call.args, loc, *diags_);
  if (!args) return nullptr;
  auto type = type_named((*args)[0]->value);
  if (!type) {
    diags_->error(Rule::attribute_value, (*args)[0]->value->loc, "the first argument of bitcast is a type",
                  "write e.g. bitcast(i32, x)");
  }
  ExprRef a = eval((*args)[1]->value);
  return a == nullptr || !type ? nullptr : ir::make_bitcast(*type, std::move(a), loc, *diags_);
}

ExprRef Elaborator::eval_select(const syntax::Call& call, const Loc& loc) {
  auto args = bind_args({"select", {"cond", "a", "b"}, 3, {}}, call.args, loc, *diags_);
  if (!args) return nullptr;
  ExprRef cond = eval((*args)[0]->value), a = eval((*args)[1]->value), b = eval((*args)[2]->value);
  if (cond == nullptr || a == nullptr || b == nullptr) return nullptr;
  return ir::make_select(std::move(cond), std::move(a), std::move(b), loc, *diags_);
}

ExprRef Elaborator::eval_builtin(const syntax::Call& call, const Loc& loc) {
  auto op = binary_function(call.callee);
  auto fn = intrinsic_named(call.callee);
  int arity = op ? 2 : ir::intrinsic_arity(*fn);
  auto args =
      bind_args({call.callee, parameter_names(arity), static_cast<std::size_t>(arity), {}}, call.args, loc, *diags_);
  if (!args) return nullptr;
  std::vector<ExprRef> values;
  bool ok = true;
  for (const syntax::Arg* arg : *args) {
    values.push_back(eval(arg->value));
    ok = ok && values.back() != nullptr;
  }
  if (!ok) return nullptr;
  if (op) return ir::make_binary(*op, values[0], values[1], loc, *diags_);
  return ir::make_call(*fn, std::move(values), loc, *diags_);
}

void Elaborator::unknown_name(const std::string& name, const Loc& loc) {
  if (find_function(name) != nullptr) {
    diags_->error(Rule::unknown_name, loc, fmt::format("`{}` is a function, not a value", name),
                  fmt::format("call it: {}(...)", name));
    return;
  }
  diags_->error(Rule::unknown_name, loc, fmt::format("unknown name `{}`", name), did_you_mean(name, scopes_.names()));
}

void Elaborator::unknown_function(const std::string& name, const Loc& loc) {
  if (const Symbol* symbol = scopes_.find(name)) {
    if (std::holds_alternative<Poison>(symbol->entity)) return;
    diags_->error(Rule::unknown_function, loc,
                  fmt::format("`{}` is {} and cannot be called", name, entity_kind(symbol->entity)),
                  std::holds_alternative<ir::Buffer>(symbol->entity) ? fmt::format("index it: {}[...]", name) : "");
    return;
  }
  std::vector<std::string> candidates = builtin_functions();
  for (const auto& [fn, definition] : functions_) candidates.push_back(fn);
  for (ir::DType type : ir::all_dtypes()) candidates.emplace_back(ir::dtype_name(type));
#define PLAIT_TILE_OP(id, op, attrs, effects, unit) candidates.emplace_back(op);
#include "ir/ops.def"
#undef PLAIT_TILE_OP
  candidates.insert(candidates.end(), {"clear", "print"});
  diags_->error(Rule::unknown_function, loc, fmt::format("unknown function `{}`", name),
                did_you_mean(name, candidates));
}

}  // namespace plait::lang
