#include <fmt/format.h>

#include "ir/build.h"
#include "ir/visit.h"
#include "place/placer.h"

namespace plait::place {

using namespace ir;

void Placer::collect_op(const StmtRef& stmt, const TileOp& op) {
  const std::vector<Effect>& effects = op_info(op.kind).effects;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const BufferDecl* buffer = op.operands[i].buffer.get();
    if (effects[i] != Effect::read) written_.insert(buffer);
    if (effects[i] != Effect::write) read_.insert(buffer);
  }
  const auto* copy = std::get_if<CopyAttrs>(&op.attrs);
  if (copy != nullptr && copy->rows) {
    read_.insert(copy->rows->buffer.get());
    moved_.try_emplace(copy->rows->buffer.get(), "it is a table of rows, which every thread reads");
  }
  switch (op.kind) {
    case OpKind::copy:
      copies_.push_back({stmt, op.operands[0], op.operands[1], std::get<CopyAttrs>(op.attrs)});
      return;
    case OpKind::fill:
      fills_.push_back(stmt);
      return;
    case OpKind::gemm:
      products_.push_back(stmt);
      return;
    case OpKind::reduce_sum:
    case OpKind::reduce_max:
    case OpKind::reduce_min:
    case OpKind::reduce_abssum:
    case OpKind::reduce_absmax:
    case OpKind::reduce_bitand:
    case OpKind::reduce_bitor:
    case OpKind::reduce_bitxor:
    case OpKind::reduce_argmax:
    case OpKind::reduce_argmin:
      reductions_.push_back(stmt);
      return;
    case OpKind::cumsum:
    case OpKind::transpose:
      others_.push_back(stmt);
      return;
    case OpKind::atomic_add:
    case OpKind::atomic_max:
    case OpKind::atomic_min: {
      AtomicOp kind = op.kind == OpKind::atomic_add   ? AtomicOp::add
                      : op.kind == OpKind::atomic_max ? AtomicOp::max
                                                      : AtomicOp::min;
      check_atomic(*stmt, op.operands[0].buffer, kind);
      others_.push_back(stmt);
      return;
    }
  }
}

/// Blocks meet at tensors, threads of one at its tiles.
void Placer::check_atomic(const Stmt& stmt, const Buffer& buffer, AtomicOp op) {
  read_.insert(buffer.get());
  written_.insert(buffer.get());
  if (!is_global(buffer)) return;
  static constexpr DType kTypes[] = {DType::i32, DType::i64,  DType::u32, DType::u64,
                                     DType::f16, DType::bf16, DType::f32, DType::f64};
  if (std::find(std::begin(kTypes), std::end(kTypes), buffer->type) != std::end(kTypes)) return;
  refuse(Rule::place_operation, stmt.loc,
         fmt::format("{} on the tensor `{}` of {} has no placement on {}", roles::atomic_word(op), buffer->name,
                     dtype_name(buffer->type), placed_.device.name),
         "use i32, i64, u32, u64, f16, bf16, f32 or f64");
}

void Placer::collect_loop(const StmtRef& stmt, const For& loop) {
  if (loop.kind != LoopKind::parallel) return collect(loop.body, true);
  nests_.push_back(stmt);
  walk(loop.body, [&](const Stmt& inner) {
    note_scalars(inner);
    if (const auto* store = std::get_if<Store>(&inner.node)) written_.insert(store->buffer.get());
    if (const auto* atomic = std::get_if<AtomicElement>(&inner.node)) check_atomic(inner, atomic->buffer, atomic->op);
    if (std::holds_alternative<Assert>(inner.node) || std::holds_alternative<Print>(inner.node)) {
      refuse(Rule::place_operation, inner.loc,
             fmt::format("{} has no placement on {} yet",
                         std::holds_alternative<Assert>(inner.node) ? "assert" : "print", placed_.device.name),
             "run it with --device host");
    }
  });
}

/// Elements that expressions read.
void Placer::note_scalars(const Stmt& stmt) {
  for_each_expr(stmt, [&](const ExprRef& root) {
    walk(root, [&](const Expr& e) {
      if (const auto* load = std::get_if<Load>(&e.node)) read_.insert(load->buffer.get());
    });
  });
}

void Placer::collect(const Body& body, bool in_loop) {
  for (const StmtRef& stmt : body) {
    if (in_loop) looped_.insert(stmt.get());
    note_scalars(*stmt);
    auto single = [&](const Buffer& buffer) {
      if (!is_global(buffer)) moved_.try_emplace(buffer.get(), "its elements are written one by one");
    };
    // What is read or written outside of operations and nests lies where every thread reaches it.
    if (!std::holds_alternative<TileOp>(stmt->node)) {
      for_each_expr(*stmt, [&](const ExprRef& root) {
        walk(root, [&](const Expr& e) {
          const auto* load = std::get_if<Load>(&e.node);
          if (load != nullptr && !is_global(load->buffer))
            moved_.try_emplace(load->buffer.get(), "its elements are read one by one");
        });
      });
    }
    std::visit(Overload{[&](const For& loop) { collect_loop(stmt, loop); },
                        [&](const While& loop) { collect(loop.body, true); },
                        [&](const If& node) {
                          collect(node.then_body, in_loop);
                          collect(node.else_body, in_loop);
                        },
                        [&](const Task& task) { collect(task.body, in_loop); },
                        [&](const Alloc& alloc) {
                          buffers_.push_back(alloc.buffer);
                          // Registers hold whole bytes; in shared memory such elements have a byte each.
                          if (is_fragment(alloc.buffer) && dtype_bits(alloc.buffer->type) < 8)
                            moved_.try_emplace(alloc.buffer.get(), "its elements are narrower than a byte");
                        },
                        [&](const TileOp& op) { collect_op(stmt, op); }, [](const Let&) {},
                        [&](const Store& node) {
                          written_.insert(node.buffer.get());
                          single(node.buffer);
                        },
                        [&](const AtomicElement& node) {
                          check_atomic(*stmt, node.buffer, node.op);
                          single(node.buffer);
                        },
                        [](const Break&) {}, [](const Continue&) {},
                        [&](const auto&) {
                          refuse(Rule::place_operation, stmt->loc,
                                 fmt::format("{} has no placement on {} yet",
                                             std::holds_alternative<Assert>(stmt->node) ? "assert" : "print",
                                             placed_.device.name),
                                 "run it with --device host");
                        }},
               stmt->node);
  }
}

}  // namespace plait::place
