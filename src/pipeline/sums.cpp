#include "pipeline/sums.h"

#include <algorithm>

#include "analysis/expr_util.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/rings.h"

namespace plait::pipeline {

using namespace ir;

namespace {

using Loops = std::vector<const Stmt*>;

enum class Part { none, zero, add, scale, read, spoil };

bool reads(const ExprRef& expr, const Buffer& buffer) {
  return analysis::any_of_tree(expr, [&](const Expr& e) {
    const auto* load = std::get_if<Load>(&e.node);
    return load != nullptr && load->buffer == buffer;
  });
}

/// `sum[i] = sum[i] * factor`, either way round.
bool scales(const place::NestLine& line) {
  const auto* product = std::get_if<Binary>(&line.value->node);
  if (product == nullptr || product->op != BinaryOp::mul) return false;
  auto is_self = [&](const ExprRef& e) {
    const auto* load = std::get_if<Load>(&e->node);
    return load != nullptr && load->buffer == line.buffer;
  };
  return (is_self(product->a) && !reads(product->b, line.buffer)) ||
         (is_self(product->b) && !reads(product->a, line.buffer));
}

Part part_of_nest(const place::NestAtom& atom, const Buffer& sum) {
  Part part = Part::none;
  for (const place::NestLine& line : atom.lines) {
    if (line.buffer == sum) {
      if (!scales(line)) return Part::spoil;
      part = Part::scale;
    } else if (reads(line.value, sum)) {
      return part == Part::scale ? Part::spoil : Part::read;
    }
  }
  return part;
}

/// What a statement has to do with a sum.
Part part_of(const place::Placed& placed, const Stmt& stmt, const Buffer& sum) {
  Touched use = touched(stmt);
  if (!use.reads.contains(sum) && !use.writes.contains(sum)) return Part::none;
  auto atom = placed.atoms.find(&stmt);
  if (atom == placed.atoms.end()) return use.writes.contains(sum) ? Part::spoil : Part::read;
  if (const auto* nest = std::get_if<place::NestAtom>(&atom->second)) {
    Part part = part_of_nest(*nest, sum);
    return part == Part::none ? Part::spoil : part;
  }
  const auto* op = std::get_if<TileOp>(&stmt.node);
  if (op == nullptr) return Part::spoil;
  if (op->kind == OpKind::fill && place::is_zero(std::get<FillAttrs>(op->attrs).value)) return Part::zero;
  bool adds = op->kind == OpKind::reduce_sum && op->operands[1].buffer == sum && op->operands[0].buffer != sum &&
              !std::get<ReduceAttrs>(op->attrs).clear;
  if (adds) return Part::add;
  return use.writes.contains(sum) ? Part::spoil : Part::read;
}

class Finder {
 public:
  Finder(const place::Placed& placed, Buffer sum) : placed_(placed), sum_(std::move(sum)) {}

  /// Whether its parts may stay apart.
  bool run(std::set<const Stmt*>& readers) {
    body(placed_.kernel.body, {});
    if (spoilt_ || adders_.empty() || !zeroed_) return false;
    for (const auto& [reader, loops] : readers_) {
      for (const Stmt* loop : loops) {
        if (adders_.contains(loop)) return false;
      }
      readers.insert(reader);
    }
    return true;
  }

 private:
  void body(const Body& body, const Loops& loops) {
    for (const StmtRef& stmt : body) {
      const auto* loop = std::get_if<For>(&stmt->node);
      if (loop != nullptr && loop->kind != LoopKind::parallel) {
        Loops inner = loops;
        inner.push_back(stmt.get());
        this->body(loop->body, inner);
      } else if (std::holds_alternative<If>(stmt->node) || std::holds_alternative<While>(stmt->node) ||
                 std::holds_alternative<Task>(stmt->node)) {
        spoilt_ = spoilt_ || touched(*stmt).reads.contains(sum_) || touched(*stmt).writes.contains(sum_);
      } else {
        note(*stmt, loops);
      }
    }
  }

  void note(const Stmt& stmt, const Loops& loops) {
    switch (part_of(placed_, stmt, sum_)) {
      case Part::none:
      case Part::scale:
        return;
      case Part::zero:
        zeroed_ = true;
        return;
      case Part::add:
        spoilt_ = spoilt_ || loops.empty();
        adders_.insert(loops.begin(), loops.end());
        return;
      case Part::read:
        readers_.emplace_back(&stmt, loops);
        return;
      case Part::spoil:
        spoilt_ = true;
        return;
    }
  }

  const place::Placed& placed_;
  Buffer sum_;
  bool spoilt_ = false, zeroed_ = false;
  std::set<const Stmt*> adders_;  ///< loops around statements that add
  std::vector<std::pair<const Stmt*, Loops>> readers_;
};

}  // namespace

Sums find_sums(const place::Placed& placed) {
  Sums found;
  walk(placed.kernel.body, [&](const Stmt& stmt) {
    const auto* alloc = std::get_if<Alloc>(&stmt.node);
    if (alloc == nullptr) return;
    auto home = placed.fragments.find(alloc->buffer.get());
    if (home == placed.fragments.end() || home->second.kind != roles::FragmentKind::rows) return;
    std::set<const Stmt*> readers;
    if (Finder(placed, alloc->buffer).run(readers)) found.readers[alloc->buffer] = std::move(readers);
  });
  return found;
}

}  // namespace plait::pipeline
