#include <fmt/format.h>

#include "roles/parser.h"

// Statements on elements: what each thread does with those that it owns.
namespace plait::roles {

/// `NAME {, NAME} in FRAGMENT:` and its stores
void RoleParser::each(const Loc& loc) {
  std::vector<std::pair<std::string, Loc>> names;
  do {
    Loc name_loc = errors_.loc(cur());
    names.emplace_back(new_name("a coordinate"), name_loc);
  } while (accept(Tok::comma));
  expect(Tok::kw_in, "'in' behind the coordinates", "write each r, c in F:");
  Each node;
  node.domain = bind_.fragment_name(operand("the name of a fragment"));
  bind_.names().push();
  if (!panic_) {
    for (const auto& [name, at] : names) node.vars.push_back(bind_.declare(name, DType::i32, ir::VarKind::loop, at));
  }
  block("the fragment", [&] { each_line(node); });
  bind_.names().pop();
  emit(loc, std::move(node));
}

void RoleParser::each_line(Each& each) {
  block_read_ = false;
  if (accept(Tok::kw_pass)) return end_of_line();
  if (!at(Tok::name) || peek(1) != Tok::lbracket) {
    expected("the store of an element of a fragment", "within each stand lines such as F[r, c] = e alone");
    return end_of_line();
  }
  FragmentRef dst = bind_.fragment(operand("an element of a fragment"));
  expect(Tok::assign, "'=' behind the element");
  Source source = expression();
  DType type = dst.fragment == nullptr ? DType::f32 : dst.fragment->buffer->type;
  ExprRef value = dst.fragment == nullptr ? bind_.value(source) : bind_.stored(type, source);
  each.stores.push_back({dst.fragment, std::move(dst.begin), std::move(value)});
  end_of_line();
}

ReduceOp RoleParser::reduce_op() {
  if (accept_word("sum")) return ReduceOp::sum;
  if (accept_word("max")) return ReduceOp::max;
  if (accept_word("min")) return ReduceOp::min;
  expected("sum, max or min");
  return ReduceOp::sum;
}

void RoleParser::row_reduce(const Loc& loc) {
  RowReduce node{reduce_op(), nullptr, nullptr};
  node.dst = bind_.fragment_name(operand("the name of a rows fragment"));
  if (!arrow()) return;
  node.src = bind_.fragment_name(operand("the name of a fragment"));
  emit(loc, std::move(node));
}

void RoleParser::lane_reduce(const Loc& loc) {
  LaneReduce node{reduce_op(), nullptr, 0};
  node.fragment = bind_.fragment_name(operand("the name of a fragment"));
  if (!expect_word("lanes", "the fragment")) return;
  node.lanes = static_cast<int>(count("the lanes", 2, kWarp));
  emit(loc, std::move(node));
}

void RoleParser::keep(const Loc& loc) {
  Keep node;
  do {
    node.fragments.push_back(bind_.fragment_name(operand("the name of a fragment")));
  } while (accept(Tok::comma));
  emit(loc, std::move(node));
}

void RoleParser::load(const Loc& loc) {
  Fragment dst = bind_.fragment_name(operand("the name of a fragment"));
  if (!arrow()) return;
  Source src = operand("an element of a tensor or of a shared tile");
  if (bind_.smem_of(src) != nullptr) return emit(loc, LoadShared{dst, bind_.smem(src)});
  LoadTensor node{dst, bind_.tensor(src)};
  if (accept_word("pad") && dst != nullptr) node.pad = bind_.stored(dst->buffer->type, expression());
  node.hint = hint();
  emit(loc, std::move(node));
}

void RoleParser::store(const Loc& loc) {
  Source dst = operand("an element of a tensor or of a shared tile");
  if (!arrow()) return;
  Fragment src = bind_.fragment_name(operand("the name of a fragment"));
  if (bind_.smem_of(dst) != nullptr) return emit(loc, StoreShared{bind_.smem(dst), src});
  StoreTensor node{bind_.tensor(dst), src, CacheHint::none};
  node.hint = hint();
  emit(loc, std::move(node));
}

void RoleParser::put(const Loc& loc) {
  Source dst = operand("an element of a tensor or of a shared tile");
  if (at(Tok::less)) {
    if (!arrow()) return;
    PutPiece node{bind_.tensor(dst), bind_.smem(operand("a shared tile such as S[i, 0, 0]"))};
    if (!expect_word("bytes", "the tile")) return;
    node.piece = count("the bytes of a piece", 4, 16);
    return emit(loc, std::move(node));
  }
  expect(Tok::assign, "'=' behind the element", "write put T[i] = e");
  Source value = expression();
  if (bind_.smem_of(dst) != nullptr) {
    SmemRef ref = bind_.smem(dst);
    DType type = ref.smem->buffer->type;
    return emit(loc, PutShared{std::move(ref), bind_.stored(type, value)});
  }
  TensorRef ref = bind_.tensor(dst);
  if (ref.tensor == nullptr) return;
  DType type = ref.tensor->type;
  emit(loc, PutTensor{std::move(ref), bind_.stored(type, value)});
}

}  // namespace plait::roles
