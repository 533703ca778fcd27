#include "place/turned_copy.h"

#include "ir/build.h"

namespace plait::place {

using namespace ir;

StmtRef turned_copy(const StmtRef& stmt, const TileOp& op, const Buffer& turned) {
  const Region &src = op.operands[0], &dst = op.operands[1];
  Diagnostics diags;
  const Loc& loc = stmt->loc;
  std::vector<std::int64_t> shape = static_shape(*src.buffer);
  std::vector<std::size_t> dims = {0, 0};  // of the tensor, along which rows and columns run
  std::size_t next = dst.ranges.size();
  for (std::size_t d = 2; d-- > 0;) {
    do {
      --next;
    } while (next > 0 && as_int(dst.ranges[next].extent) != shape[d]);
    dims[d] = next;
  }
  For nest{LoopKind::parallel, {}, {}, {}};
  std::vector<ExprRef> own;
  for (std::size_t d = 0; d < 2; ++d) {
    Var var = std::make_shared<const VarDecl>(VarDecl{d == 0 ? "i" : "j", DType::i64, VarKind::loop, loc});
    nest.axes.push_back(
        {var, typed_int(DType::i64, 0, loc), typed_int(DType::i64, shape[d], loc), typed_int(DType::i64, 1, loc)});
    own.push_back(var_ref(var, loc));
  }
  Store write{dst.buffer, {}, nullptr};
  ExprRef inside;
  auto require = [&](const ExprRef& cond) {
    inside = inside == nullptr ? cond : make_binary(BinaryOp::logical_and, inside, cond, loc, diags);
  };
  for (std::size_t d = 0; d < dst.ranges.size(); ++d) {
    ExprRef at = dst.ranges[d].begin;
    for (std::size_t own_dim = 0; own_dim < 2; ++own_dim) {
      if (dims[own_dim] == d) at = make_binary(BinaryOp::add, at, own[own_dim], loc, diags);
    }
    require(make_binary(BinaryOp::ge, at, typed_int(DType::i64, 0, loc), loc, diags));
    require(make_binary(BinaryOp::lt, at, dst.buffer->shape[d], loc, diags));
    write.index.push_back(at);
  }
  ExprRef value = make_load(turned, {own[1], own[0]}, loc, diags);
  write.value = convert_for_store(dst.buffer->type, value, loc, diags);
  if (write.value == nullptr) write.value = make_cast(dst.buffer->type, value, std::nullopt, false, loc, diags);
  PLAIT_ASSERT(inside != nullptr && write.value != nullptr, "a copy as a nest");
  nest.body.push_back(make_stmt(If{inside, {make_stmt(std::move(write), loc)}, {}}, loc));
  return make_stmt(std::move(nest), loc);
}

}  // namespace plait::place
