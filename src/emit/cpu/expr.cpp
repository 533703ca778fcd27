#include "emit/cpu/expr.h"

#include <algorithm>

#include "emit/cpu/access.h"
#include "emit/cpu/arith.h"
#include "emit/cpu/index_math.h"
#include "emit/cpu/prefetch.h"
#include "emit/cpu/vector_convert.h"
#include "emit/cpu/vector_math.h"
#include "support/result.h"

namespace plait::cpu {
namespace {

/// Applies `op` to operands as scalars where all are uniform, as vectors otherwise.
Val apply(Emitter& e, llvm::ArrayRef<Val> operands, llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*>)> op) {
  const bool scalar =
      std::all_of(operands.begin(), operands.end(), [](const Val& v) { return v.form == Form::uniform; });
  std::vector<llvm::Value*> values;
  for (const Val& v : operands) values.push_back(scalar ? v.v : spread(e, v));
  llvm::Value* result = op(values);
  return scalar ? uniform(result) : varying(result);
}

Val emit_int(Emitter& e, const ir::Expr& expr, const ir::IntLit& literal) {
  llvm::Type* type = carrier_type(e.context, expr.type);
  llvm::Value* v = llvm::ConstantInt::get(
      e.context, llvm::APInt(type->getIntegerBitWidth(), static_cast<std::uint64_t>(literal.value), false, true));
  return expr.type == ir::DType::i64 ? literal_index(v, literal.value) : uniform(v);
}

Val emit_logical(Emitter& e, const ir::Binary& binary);
Val emit_select(Emitter& e, const ir::Select& select);

Val emit_binary(Emitter& e, const ir::Expr& expr, const ir::Binary& binary) {
  if (binary.op == ir::BinaryOp::logical_and || binary.op == ir::BinaryOp::logical_or) return emit_logical(e, binary);
  const Val a = emit_expr(e, binary.a);
  const Val b = emit_expr(e, binary.b);
  const ir::DType type = binary.a->type;
  if (type == ir::DType::i64) {
    if (const auto result = emit_index_math(e, binary.op, a, b)) return *result;
  }
  return apply(e, {a, b},
               [&](llvm::ArrayRef<llvm::Value*> v) { return emit_arith(e, binary.op, type, v[0], v[1], expr.loc); });
}

Val emit_bitcast(Emitter& e, const ir::Expr& expr, const ir::Bitcast& bitcast) {
  return apply(e, {emit_expr(e, bitcast.a)}, [&](llvm::ArrayRef<llvm::Value*> v) {
    return emit_decode(e.b, e.target, expr.type, emit_encode(e.b, e.target, bitcast.a->type, v[0]));
  });
}

Val emit_call(Emitter& e, const ir::Expr& expr, const ir::Call& call) {
  std::vector<Val> args;
  for (const auto& arg : call.args) args.push_back(emit_expr(e, arg));
  const ir::DType type = call.args[0]->type;
  if (call.fn == ir::Intrinsic::abs && !ir::is_float(type) && !ir::is_signed_integer(type)) return args[0];
  return apply(e, args, [&](llvm::ArrayRef<llvm::Value*> v) {
    return round_result(e, expr.type, emit_math(e.b, e.target, call.fn, v, e.kernel.options.fast_math));
  });
}

Val emit_load(Emitter& e, const ir::Expr& expr, const ir::Load& load) {
  const BufferInfo& buffer = e.buffers.at(load.buffer.get());
  const Val offset = emit_offset(e, buffer, load.index, &load, expr.loc);
  const auto source = e.fetched.find(&load);
  if (source != e.fetched.end() && offset.form == Form::linear && offset.step == 1) {
    if (llvm::Value* distance = distance_ahead(e, *source->second))
      emit_prefetch(e, buffer, e.b.CreateAdd(offset.v, distance));
  }
  return load_element(e, buffer, offset);
}

/// Evaluates under the lanes where `cond` holds, unless nothing can go wrong in the others.
Val emit_under(Emitter& e, llvm::Value* cond, const ir::ExprRef& expr) {
  if (harmless(*expr)) return emit_expr(e, expr);
  const Lanes saved = e.lanes;
  e.lanes.mask = narrow(e, cond);
  e.lanes.maybe_empty = true;
  const Val value = emit_expr(e, expr);
  e.lanes = saved;
  return value;
}

/// Merges values made in two blocks that both go to a new one, which becomes the current block.
class Join {
 public:
  explicit Join(Emitter& e) : e_(e), block_(e.block("join")) {}

  void arm(llvm::BasicBlock* block, llvm::function_ref<Val()> make) {
    e_.b.SetInsertPoint(block);
    values_.push_back(make());
    ends_.push_back(e_.b.GetInsertBlock());
  }

  Val finish() {
    const bool scalar = values_[0].form == Form::uniform && values_[1].form == Form::uniform;
    for (std::size_t i = 0; i < 2; ++i) {
      e_.b.SetInsertPoint(ends_[i]);
      values_[i].v = scalar ? values_[i].v : spread(e_, values_[i]);
      e_.b.CreateBr(block_);
    }
    block_->moveAfter(ends_[1]);
    e_.b.SetInsertPoint(block_);
    llvm::PHINode* phi = e_.b.CreatePHI(values_[0].v->getType(), 2);
    for (std::size_t i = 0; i < 2; ++i) phi->addIncoming(values_[i].v, ends_[i]);
    return scalar ? uniform(phi) : varying(phi);
  }

 private:
  Emitter& e_;
  llvm::BasicBlock* block_;
  std::vector<Val> values_;
  std::vector<llvm::BasicBlock*> ends_;
};

Val emit_select(Emitter& e, const ir::Select& select) {
  const Val cond = emit_expr(e, select.cond);
  if (cond.form != Form::uniform) {
    const Val a = emit_under(e, cond.v, select.if_true);
    const Val b = emit_under(e, e.b.CreateNot(cond.v), select.if_false);
    return varying(e.b.CreateSelect(cond.v, spread(e, a), spread(e, b)));
  }
  if (harmless(*select.if_true) && harmless(*select.if_false)) {
    const Val a = emit_expr(e, select.if_true);
    const Val b = emit_expr(e, select.if_false);
    if (a.form == Form::linear && b.form == Form::linear && a.step == b.step)
      return linear(e.b.CreateSelect(cond.v, a.v, b.v), a.step);
    return apply(e, {a, b}, [&](llvm::ArrayRef<llvm::Value*> v) { return e.b.CreateSelect(cond.v, v[0], v[1]); });
  }
  auto* yes = e.block("select.true");
  auto* no = e.block("select.false");
  e.b.CreateCondBr(cond.v, yes, no);
  Join join(e);
  join.arm(yes, [&] { return emit_expr(e, select.if_true); });
  join.arm(no, [&] { return emit_expr(e, select.if_false); });
  return join.finish();
}

Val emit_logical(Emitter& e, const ir::Binary& binary) {
  const bool is_and = binary.op == ir::BinaryOp::logical_and;
  const Val a = emit_expr(e, binary.a);
  if (a.form == Form::uniform && !harmless(*binary.b)) {
    auto* decided = e.block("decided");
    auto* more = e.block("undecided");
    e.b.CreateCondBr(a.v, is_and ? more : decided, is_and ? decided : more);
    Join join(e);
    join.arm(decided, [&] { return uniform(e.b.getInt1(!is_and)); });
    join.arm(more, [&] { return emit_expr(e, binary.b); });
    return join.finish();
  }
  const Val b =
      a.form == Form::uniform ? emit_expr(e, binary.b) : emit_under(e, is_and ? a.v : e.b.CreateNot(a.v), binary.b);
  return apply(e, {a, b}, [&](llvm::ArrayRef<llvm::Value*> v) {
    return is_and ? e.b.CreateAnd(v[0], v[1]) : e.b.CreateOr(v[0], v[1]);
  });
}

bool nonzero_literal(const ir::Expr& expr) {
  const auto* literal = std::get_if<ir::IntLit>(&expr.node);
  return literal != nullptr && literal->value != 0;
}

Val emit_cast(Emitter& e, const ir::Expr& expr, const ir::Cast& cast) {
  const Val a = emit_expr(e, cast.a);
  if (cast.a->type == expr.type && !ir::is_float(expr.type)) return a;
  return apply(e, {a}, [&](llvm::ArrayRef<llvm::Value*> v) {
    return emit_convert(e.b, e.target, cast.a->type, expr.type, v[0], cast.rounding, cast.saturate);
  });
}

}  // namespace

bool harmless(const ir::Expr& expr) {
  return std::visit(
      Overload{
          [](const ir::IntLit&) { return true; },
          [](const ir::FloatLit&) { return true; },
          [](const ir::VarRef&) { return true; },
          [](const ir::Load&) { return false; },
          [](const ir::Unary& u) { return harmless(*u.a); },
          [](const ir::Binary& b) {
            const bool divides =
                b.op == ir::BinaryOp::div || b.op == ir::BinaryOp::mod || b.op == ir::BinaryOp::ceil_div;
            if (divides && !ir::is_float(b.a->type) && !nonzero_literal(*b.b)) return false;
            return harmless(*b.a) && harmless(*b.b);
          },
          [](const ir::Select& s) { return harmless(*s.cond) && harmless(*s.if_true) && harmless(*s.if_false); },
          [](const ir::Cast& c) { return harmless(*c.a); },
          [](const ir::Bitcast& c) { return harmless(*c.a); },
          [](const ir::Call& c) {
            return std::all_of(c.args.begin(), c.args.end(), [](const auto& arg) { return harmless(*arg); });
          },
      },
      expr.node);
}

Val emit_expr(Emitter& e, const ir::ExprRef& expr) {
  return std::visit(Overload{
                        [&](const ir::IntLit& x) { return emit_int(e, *expr, x); },
                        [&](const ir::FloatLit& x) {
                          return uniform(llvm::ConstantFP::get(carrier_type(e.context, expr->type), x.value));
                        },
                        [&](const ir::VarRef& x) { return e.vars.at(x.var.get()); },
                        [&](const ir::Load& x) { return emit_load(e, *expr, x); },
                        [&](const ir::Unary& x) {
                          return apply(e, {emit_expr(e, x.a)}, [&](llvm::ArrayRef<llvm::Value*> v) {
                            return emit_negate(e, x.op, expr->type, v[0]);
                          });
                        },
                        [&](const ir::Binary& x) { return emit_binary(e, *expr, x); },
                        [&](const ir::Select& x) { return emit_select(e, x); },
                        [&](const ir::Cast& x) { return emit_cast(e, *expr, x); },
                        [&](const ir::Bitcast& x) { return emit_bitcast(e, *expr, x); },
                        [&](const ir::Call& x) { return emit_call(e, *expr, x); },
                    },
                    expr->node);
}

namespace {

/// An integer of any type as i64 (u64 as the same bits).
Val widen(Emitter& e, ir::DType type, const Val& value) {
  if (value.v->getType()->getScalarSizeInBits() == 64) return value;
  return apply(e, {value}, [&](llvm::ArrayRef<llvm::Value*> v) {
    llvm::Type* wide = v[0]->getType()->getWithNewType(e.b.getInt64Ty());
    return ir::is_signed_integer(type) ? e.b.CreateSExt(v[0], wide) : e.b.CreateZExt(v[0], wide);
  });
}

}  // namespace

Val emit_index_value(Emitter& e, const ir::ExprRef& expr) {
  const Val value = widen(e, expr->type, emit_expr(e, expr));
  PLAIT_ASSERT(value.form == Form::uniform, "an index differs between lanes");
  return value;
}

llvm::Value* emit_index(Emitter& e, const ir::ExprRef& expr) { return emit_index_value(e, expr).v; }

Val emit_offset(Emitter& e, const BufferInfo& buffer, const std::vector<ir::ExprRef>& index, const void* access,
                const Loc& loc) {
  std::vector<Val> values;
  for (const auto& expr : index) values.push_back(widen(e, expr->type, emit_expr(e, expr)));
  if (e.options.checks) {
    for (std::size_t d = 0; d < values.size(); ++d) {
      if (!e.proved.contains({access, d})) check_index(e, buffer, d, values[d], loc);
    }
  }
  return element_offset(e, buffer, values);
}

}  // namespace plait::cpu
