#include <fmt/format.h>

#include "roles/parser.h"

namespace plait::roles {
namespace {

constexpr std::int64_t kMaxExtent = 1 << 20;
constexpr std::int64_t kMaxPending = 64;

}  // namespace

/// `<-`, which the lexer reads as two tokens.
bool RoleParser::arrow() {
  bool adjacent = at(Tok::less) && peek(1) == Tok::minus && lexed_.tokens[pos_ + 1].offset == cur().offset + 1;
  if (!adjacent) {
    expected("'<-'", "the destination stands left of '<-', the source right of it");
    return false;
  }
  advance();
  advance();
  return true;
}

std::int64_t RoleParser::count(std::string_view what, std::int64_t least, std::int64_t most) {
  return bind_.constant(expression(), what, least, most).value_or(least);
}

CacheHint RoleParser::hint() {
  if (!accept_word("hint")) return CacheHint::none;
  if (accept_word("evict_first")) return CacheHint::evict_first;
  if (accept_word("evict_last")) return CacheHint::evict_last;
  expected("evict_first or evict_last behind 'hint'");
  return CacheHint::none;
}

bool RoleParser::transposed() {
  if (!accept(Tok::caret)) return false;
  if (!accept_word("T")) expected("'T' behind '^'", "write ^T for an operand that is stored transposed");
  return true;
}

// ---- Synchronisation -----------------------------------------------------------------------------------------------

void RoleParser::mbar_init(const Loc& loc) { emit(loc, MbarInit{bind_.mbar_name(operand("an mbar array"))}); }

void RoleParser::wait(const Loc& loc) {
  Wait node{bind_.mbar(operand("an mbar such as full[i]")), nullptr};
  if (expect_word("parity", "the mbar")) node.parity = bind_.value(expression());
  emit(loc, std::move(node));
}

void RoleParser::arrive(const Loc& loc) {
  Arrive node{bind_.mbar(operand("an mbar such as empty[i]")), nullptr};
  if (accept_word("at")) node.rank = bind_.value(expression());
  emit(loc, std::move(node));
}

void RoleParser::expect_bytes(const Loc& loc) {
  Expect node{bind_.mbar(operand("an mbar such as full[i]")), nullptr};
  if (expect_word("bytes", "the mbar")) node.bytes = bind_.value(expression());
  emit(loc, std::move(node));
}

void RoleParser::fence(const Loc& loc) {
  if (accept_word("mbar_init")) return emit(loc, Fence{FenceKind::mbar_init});
  if (accept_word("proxy_async")) return emit(loc, Fence{FenceKind::proxy_async});
  if (accept_word("wgmma")) return emit(loc, Fence{FenceKind::wgmma});
  if (accept_word("gpu")) return emit(loc, Fence{FenceKind::gpu});
  expected("mbar_init, proxy_async, wgmma or gpu behind 'fence'");
}

template <typename Node>
void RoleParser::barrier(const Loc& loc) {
  Node node{bind_.value(expression()), 0};
  if (expect(Tok::kw_threads, "'threads' behind the number of the barrier"))
    node.threads = count("the threads of the barrier", 1, kMaxExtent);
  emit(loc, std::move(node));
}
template void RoleParser::barrier<BarrierSync>(const Loc&);
template void RoleParser::barrier<BarrierArrive>(const Loc&);

// ---- Copies --------------------------------------------------------------------------------------------------------

void RoleParser::tma_load(const Loc& loc) {
  TmaLoad node;
  node.dst = bind_.smem(operand("a shared tile such as A_s[i, 0, 0]"));
  if (!arrow()) return;
  std::tie(node.map, node.at) = bind_.map_at(operand("a map such as A_map[r, c]"));
  if (!expect_word("on", "the map")) return;
  completion(node.mbar, node.channel);
  if (accept_word("multicast")) node.multicast = bind_.value(expression());
  node.hint = hint();
  emit(loc, std::move(node));
}

void RoleParser::tma_store(const Loc& loc) {
  TmaStore node;
  std::tie(node.map, node.at) = bind_.map_at(operand("a map such as C_map[r, c]"));
  if (!arrow()) return;
  node.src = bind_.smem(operand("a shared tile such as C_s[i, 0, 0]"));
  node.hint = hint();
  emit(loc, std::move(node));
}

void RoleParser::bulk_load(const Loc& loc) {
  BulkLoad node;
  node.dst = bind_.smem(operand("a shared tile such as S[i, 0, 0]"));
  if (!arrow()) return;
  node.src = bind_.tensor(operand("an element of a tensor such as T[a, b]"));
  if (!expect_word("bytes", "the tensor")) return;
  node.bytes = bind_.value(expression());
  if (!expect_word("on", "the bytes")) return;
  completion(node.mbar, node.channel);
  node.hint = hint();
  emit(loc, std::move(node));
}

void RoleParser::bulk_store(const Loc& loc) {
  BulkStore node;
  node.dst = bind_.tensor(operand("an element of a tensor such as T[a, b]"));
  if (!arrow()) return;
  node.src = bind_.smem(operand("a shared tile such as S[i, 0, 0]"));
  if (!expect_word("bytes", "the tile")) return;
  node.bytes = bind_.value(expression());
  node.hint = hint();
  emit(loc, std::move(node));
}

void RoleParser::bulk_wait(const Loc& loc) {
  bool read = accept_word("read");
  emit(loc, BulkWait{static_cast<int>(count("the groups under way", 0, kMaxPending)), read});
}

void RoleParser::prefetch(const Loc& loc) { emit(loc, Prefetch{bind_.map_name(operand("the name of a map"))}); }

void RoleParser::cp_async(const Loc& loc) {
  CpAsync node;
  node.dst = bind_.smem(operand("a shared tile such as S[i, 0, 0]"));
  if (!arrow()) return;
  node.src = bind_.tensor(operand("an element of a tensor such as T[a, b]"));
  if (accept_word("pieces")) {
    node.piece = count("the bytes of a piece", 4, 16);
    if (!expect_word("where", "the bytes")) return;
    node.where = bind_.value(expression());
    node.rows = 1;
    if (node.dst.smem != nullptr) node.columns = node.piece * 8 / ir::dtype_bits(node.dst.smem->buffer->type);
    return emit(loc, std::move(node));
  }
  if (!expect_word("rows", "the tensor")) return;
  node.rows = count("the rows", 1, kMaxExtent);
  if (!expect_word("columns", "the rows")) return;
  node.columns = count("the columns", 1, kMaxExtent);
  if (accept_word("pieces")) node.piece = count("the bytes of a piece", 4, 16);
  emit(loc, std::move(node));
}

void RoleParser::cp_wait(const Loc& loc) {
  emit(loc, CpWait{static_cast<int>(count("the groups under way", 0, kMaxPending))});
}

// ---- Matrix instructions -------------------------------------------------------------------------------------------

void RoleParser::wgmma(const Loc& loc) {
  Wgmma node;
  node.acc = bind_.fragment(operand("an accumulator such as acc[0, 0]"));
  if (!arrow()) return;
  Source a = operand("a shared tile or a fragment");
  if (bind_.fragment_of(a) != nullptr) {
    node.a = bind_.fragment(a);
  } else {
    node.a = bind_.smem(a);
    node.trans_a = transposed();
  }
  if (!expect(Tok::comma, "',' and the second operand")) return;
  node.b = bind_.smem(operand("a shared tile such as B_s[i, 0, 0]"));
  node.trans_b = transposed();
  if (accept_word("clear")) node.clear = bind_.value(expression());
  emit(loc, std::move(node));
}

void RoleParser::wgmma_await(const Loc& loc) {
  emit(loc, WgmmaAwait{static_cast<int>(count("the groups under way", 0, kMaxPending))});
}

void RoleParser::mma(const Loc& loc) {
  Mma node;
  node.acc = bind_.fragment_name(operand("the name of an accumulator"));
  if (!arrow()) return;
  syntax::ExprRef a = operand("a fragment such as a, or a[0, 16]");
  if (a != nullptr && std::holds_alternative<syntax::Name>(a->node)) {
    node.a = {bind_.fragment_name(a), {ir::typed_int(DType::i32, 0), ir::typed_int(DType::i32, 0)}, a->loc};
  } else {
    node.a = bind_.fragment(a);
  }
  if (!expect(Tok::comma, "',' and the second operand")) return;
  node.b = bind_.fragment_name(operand("the name of a fragment"));
  emit(loc, std::move(node));
}

void RoleParser::ldmatrix(const Loc& loc) {
  LdMatrix node;
  node.dst = bind_.fragment(operand("a fragment such as a[0, 0]"));
  if (!arrow()) return;
  node.src = bind_.smem(operand("a shared tile such as A_s[i, 0, 0]"));
  node.trans = transposed();
  emit(loc, std::move(node));
}

void RoleParser::stmatrix(const Loc& loc) {
  StMatrix node;
  node.dst = bind_.smem(operand("a shared tile such as C_s[i, 0, 0]"));
  if (!arrow()) return;
  node.src = bind_.fragment(operand("an accumulator such as acc[0, 0]"));
  if (!expect_word("columns", "the accumulator")) return;
  node.columns = count("the columns", 1, kMaxExtent);
  emit(loc, std::move(node));
}

}  // namespace plait::roles
