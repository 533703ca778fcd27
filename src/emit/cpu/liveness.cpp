#include "emit/cpu/liveness.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "support/result.h"

namespace plait::cpu {
namespace {

/// What the statements on a path do to the contents first.
enum class First { read, overwritten, neither };

bool reads(const ir::ExprRef& expr, const ir::BufferDecl* buffer) {
  bool found = false;
  ir::walk(expr, [&](const ir::Expr& x) {
    const auto* load = std::get_if<ir::Load>(&x.node);
    found = found || (load != nullptr && load->buffer.get() == buffer);
  });
  return found;
}

bool reads(const ir::Stmt& stmt, const ir::BufferDecl* buffer) {
  bool found = false;
  ir::for_each_expr(stmt, [&](const ir::ExprRef& expr) { found = found || reads(expr, buffer); });
  return found;
}

/// Whether the operation sets every element of its last operand without reading it.
bool sets_all(const ir::TileOp& op) {
  if (!ir::is_whole(op.operands.back())) return false;
  if (const auto* copy = std::get_if<ir::CopyAttrs>(&op.attrs)) return !copy->scatter;
  if (const auto* gemm = std::get_if<ir::GemmAttrs>(&op.attrs)) return gemm->clear_accum;
  if (const auto* reduce = std::get_if<ir::ReduceAttrs>(&op.attrs)) return reduce->clear;
  return op.kind == ir::OpKind::fill || op.kind == ir::OpKind::transpose;
}

First of_op(const ir::Stmt& stmt, const ir::TileOp& op, const ir::BufferDecl* buffer) {
  if (reads(stmt, buffer)) return First::read;
  if (const auto* copy = std::get_if<ir::CopyAttrs>(&op.attrs)) {
    if (copy->rows.has_value() && copy->rows->buffer.get() == buffer) return First::read;
  }
  const auto& info = ir::op_info(op.kind);
  bool written = false;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    if (op.operands[i].buffer.get() != buffer) continue;
    if (info.effects[i] == ir::Effect::read) return First::read;
    written = true;
  }
  if (!written) return First::neither;
  if (op.operands.back().buffer.get() == buffer && sets_all(op)) return First::overwritten;
  // A partial update reads what it leaves only if somebody reads it later.
  return op.operands.back().buffer.get() == buffer && info.effects.back() == ir::Effect::write ? First::neither
                                                                                               : First::read;
}

bool jumps(const ir::Stmt& stmt) {
  bool found = false;
  ir::walk({std::make_shared<ir::Stmt>(stmt)}, [&](const ir::Stmt& inner) {
    found = found || std::holds_alternative<ir::Break>(inner.node) || std::holds_alternative<ir::Continue>(inner.node);
  });
  return found;
}

First scan(const ir::Body& list, std::size_t from, std::size_t to, const ir::BufferDecl* buffer);

First scan(const ir::Body& list, const ir::BufferDecl* buffer) { return scan(list, 0, list.size(), buffer); }

/// A body that may not run at all promises no overwriting.
First perhaps(First body) { return body == First::read ? First::read : First::neither; }

First of(const ir::Stmt& stmt, const ir::BufferDecl* buffer) {
  if (const auto* op = std::get_if<ir::TileOp>(&stmt.node)) return of_op(stmt, *op, buffer);
  if (reads(stmt, buffer)) return First::read;
  if (const auto* atomic = std::get_if<ir::AtomicElement>(&stmt.node))
    return atomic->buffer.get() == buffer ? First::read : First::neither;
  if (const auto* loop = std::get_if<ir::For>(&stmt.node)) return perhaps(scan(loop->body, buffer));
  if (const auto* loop = std::get_if<ir::While>(&stmt.node)) return perhaps(scan(loop->body, buffer));
  if (const auto* task = std::get_if<ir::Task>(&stmt.node)) return scan(task->body, buffer);
  if (const auto* alloc = std::get_if<ir::Alloc>(&stmt.node))
    return alloc->buffer.get() == buffer ? First::overwritten : First::neither;
  const auto* branch = std::get_if<ir::If>(&stmt.node);
  if (branch == nullptr) return First::neither;
  const First a = scan(branch->then_body, buffer);
  const First b = scan(branch->else_body, buffer);
  return a == b ? a : std::max(perhaps(a), perhaps(b), [](First x, First y) {
    return x == First::neither && y == First::read;
  });
}

First scan(const ir::Body& list, std::size_t from, std::size_t to, const ir::BufferDecl* buffer) {
  bool left = false;  // a jump may have gone round the rest
  for (std::size_t i = from; i < to; ++i) {
    const First first = of(*list[i], buffer);
    if (first == First::read) return first;
    if (first == First::overwritten) return left ? First::neither : first;
    left = left || jumps(*list[i]);
  }
  return First::neither;
}

bool allocates(const ir::Body& list, const ir::BufferDecl* buffer) {
  return std::any_of(list.begin(), list.end(), [&](const ir::StmtRef& stmt) {
    const auto* alloc = std::get_if<ir::Alloc>(&stmt->node);
    return alloc != nullptr && alloc->buffer.get() == buffer;
  });
}

}  // namespace

bool dead_after(const ir::BufferDecl* buffer, const Place& place, std::size_t count) {
  const Place* at = &place;
  std::size_t next = place.at + count;
  for (;;) {
    const First first = scan(*at->list, next, at->list->size(), buffer);
    if (first != First::neither) return first == First::overwritten;
    if (allocates(*at->list, buffer)) return true;
    // The next iteration sees what this one left.
    if (at->loop && scan(*at->list, 0, next, buffer) == First::read) return false;
    if (at->outer == nullptr) return true;
    at = at->outer;
    next = at->at + 1;
  }
}

}  // namespace plait::cpu
