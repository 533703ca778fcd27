#include "npu/lower/rows.h"

#include "ir/build.h"
#include "ir/visit.h"
#include "npu/uses.h"

namespace plait::npu {

using namespace ir;
using machine::MemoryKind;

namespace {

/// One attempt to share the rows out: what it needs repeated grows until nothing changes.
class Sharing {
 public:
  Sharing(const Kernel& kernel, const Homes& homes, int cores) : kernel_(kernel), homes_(homes), cores_(cores) {}

  bool run() {
    walk(kernel_.body, [&](const Stmt& stmt) {
      const auto* alloc = std::get_if<Alloc>(&stmt.node);
      if (alloc == nullptr || homes_.of(alloc->buffer) != MemoryKind::ub) return;
      if (static_shape(*alloc->buffer).front() % cores_ != 0) repeated.insert(alloc->buffer.get());
    });
    collect(kernel_.body);
    check_tensors();
    for (std::size_t known = SIZE_MAX; possible_ && known != repeated.size();) {
      known = repeated.size();
      split.clear();
      for (const Stmt* stmt : leaves_) place(*stmt);
    }
    for (const BufferDecl* buffer : from_cube_) possible_ = possible_ && !repeated.contains(buffer);
    return possible_ && !split.empty();
  }

  std::set<const Stmt*> split;
  std::set<const BufferDecl*> repeated;

 private:
  using Index = std::vector<ExprRef>;
  struct Access {
    Buffer buffer;
    const Index* index;
    bool writes;
  };

  bool in_ub(const Buffer& buffer) const { return homes_.of(buffer) == MemoryKind::ub; }
  bool by_rows(const Buffer& buffer) const { return in_ub(buffer) && !repeated.contains(buffer.get()); }
  void repeat(const Buffer& buffer) {
    if (in_ub(buffer)) repeated.insert(buffer.get());
  }

  /// The statements of the vector cores. Control flow that reads their buffers is one core's.
  void collect(const Body& body) {
    for (const StmtRef& stmt : body) {
      const auto* loop = std::get_if<For>(&stmt->node);
      bool leaf = std::holds_alternative<TileOp>(stmt->node) || std::holds_alternative<Store>(stmt->node) ||
                  std::holds_alternative<AtomicElement>(stmt->node) ||
                  (loop != nullptr && loop->kind == LoopKind::parallel);
      if (leaf) {
        if (core_of(*stmt, homes_) == Core::vector) leaves_.push_back(stmt.get());
        const auto* op = std::get_if<TileOp>(&stmt->node);
        bool hands_on = op != nullptr && op->kind == OpKind::copy && core_of(*stmt, homes_) == Core::cube;
        if (hands_on && in_ub(op->operands[1].buffer)) from_cube_.insert(op->operands[1].buffer.get());
        continue;
      }
      for_each_expr(*stmt, [&](const ExprRef& root) {
        walk(root, [&](const Expr& e) {
          const auto* load = std::get_if<Load>(&e.node);
          possible_ = possible_ && !(load != nullptr && load->buffer->scope != Scope::global);
        });
      });
      if (loop != nullptr) collect(loop->body);
      if (const auto* node = std::get_if<While>(&stmt->node)) collect(node->body);
      if (const auto* node = std::get_if<Task>(&stmt->node)) collect(node->body);
      if (const auto* node = std::get_if<If>(&stmt->node)) {
        collect(node->then_body);
        collect(node->else_body);
      }
    }
  }

  /// Nothing orders what the cores do with one tensor.
  void check_tensors() {
    std::set<const BufferDecl*> reads, writes;
    for (const Stmt* stmt : leaves_) {
      for (const Param& param : kernel_.params) {
        if (param.buffer == nullptr) continue;
        if (writes_to(*stmt, param.buffer)) writes.insert(param.buffer.get());
        if (reads_from(*stmt, param.buffer)) reads.insert(param.buffer.get());
      }
    }
    for (const BufferDecl* tensor : writes) possible_ = possible_ && !reads.contains(tensor);
  }

  static bool writes_to(const Stmt& stmt, const Buffer& tensor) {
    bool found = false;
    walk(Body{std::make_shared<const Stmt>(stmt)}, [&](const Stmt& inner) {
      if (const auto* op = std::get_if<TileOp>(&inner.node)) {
        for (std::size_t i = 0; i < op->operands.size(); ++i)
          found = found || (op->operands[i].buffer == tensor && op_info(op->kind).effects[i] != Effect::read);
      }
      const auto* store = std::get_if<Store>(&inner.node);
      const auto* atomic = std::get_if<AtomicElement>(&inner.node);
      found = found || (store != nullptr && store->buffer == tensor) || (atomic != nullptr && atomic->buffer == tensor);
    });
    return found;
  }

  static bool reads_from(const Stmt& stmt, const Buffer& tensor) {
    Uses uses = uses_of(tensor, stmt);
    if (uses.reads) {
      const auto* op = std::get_if<TileOp>(&stmt.node);
      // An atomic reads what it adds to, in any order.
      bool atomic = op != nullptr && op_info(op->kind).effects.front() == Effect::update;
      if (!atomic) return true;
    }
    const auto* op = std::get_if<TileOp>(&stmt.node);
    return op != nullptr && op->kind == OpKind::copy && op->operands[0].buffer == tensor;
  }

  bool writes_tensor(const Stmt& stmt) const {
    for (const Param& param : kernel_.params) {
      if (param.buffer != nullptr && writes_to(stmt, param.buffer)) return true;
    }
    return false;
  }

  /// Decides for one statement, by what is known to be repeated.
  void place(const Stmt& stmt) {
    bool shared =
        std::visit(Overload{[&](const For& loop) { return nest(loop); },
                            [&](const TileOp& op) { return operation(op); }, [](const auto&) { return false; }},
                   stmt.node);
    if (shared) {
      split.insert(&stmt);
      return;
    }
    // Each core does all of it, on copies of its own.
    possible_ = possible_ && !writes_tensor(stmt);
    for (const Access& access : accesses(stmt)) {
      repeat(access.buffer);
      if (access.writes && homes_.of(access.buffer) == MemoryKind::l1) possible_ = false;
    }
  }

  /// Every access to a buffer on chip; without an index: as a tile.
  std::vector<Access> accesses(const Stmt& stmt) const {
    std::vector<Access> all;
    auto add = [&](const Buffer& buffer, const Index* index, bool writes) {
      if (buffer->scope != Scope::global) all.push_back({buffer, index, writes});
    };
    std::function<void(const Stmt&)> look = [&](const Stmt& inner) {
      if (const auto* op = std::get_if<TileOp>(&inner.node)) {
        for (std::size_t i = 0; i < op->operands.size(); ++i)
          add(op->operands[i].buffer, nullptr, op_info(op->kind).effects[i] != Effect::read);
        const auto* attrs = std::get_if<CopyAttrs>(&op->attrs);
        if (attrs != nullptr && attrs->rows) add(attrs->rows->buffer, nullptr, false);
      }
      if (const auto* store = std::get_if<Store>(&inner.node)) add(store->buffer, &store->index, true);
      if (const auto* atomic = std::get_if<AtomicElement>(&inner.node)) add(atomic->buffer, &atomic->index, true);
      for_each_expr(inner, [&](const ExprRef& root) {
        walk(root, [&](const Expr& e) {
          if (const auto* load = std::get_if<Load>(&e.node)) add(load->buffer, &load->index, false);
        });
      });
    };
    look(stmt);
    if (const auto* loop = std::get_if<For>(&stmt.node)) walk(loop->body, look);
    return all;
  }

  /// Iterations of the first axis are rows of all that is written.
  bool nest(const For& loop) {
    const LoopAxis& axis = loop.axes.front();
    auto rows = as_int(axis.end);
    if (as_int(axis.begin) != 0 || as_int(axis.step) != 1 || !rows || *rows % cores_ != 0) return false;
    bool atomic = false;
    walk(loop.body, [&](const Stmt& inner) {
      const auto* node = std::get_if<AtomicElement>(&inner.node);
      atomic = atomic || (node != nullptr && node->buffer->scope != Scope::global);
    });
    if (atomic) return false;
    For outer = loop;
    std::vector<Access> all = accesses(Stmt{{}, std::move(outer)});
    auto own_row = [&](const Access& access) {
      const auto* ref = access.index->empty() ? nullptr : std::get_if<VarRef>(&access.index->front()->node);
      return ref != nullptr && ref->var == axis.var && static_shape(*access.buffer).front() == *rows;
    };
    for (const Access& access : all) {
      if (access.writes && !(by_rows(access.buffer) && own_row(access))) return false;
    }
    for (const Access& access : all) {
      if (!access.writes && !own_row(access)) repeat(access.buffer);
    }
    return true;
  }

  /// All rows of a tile.
  static bool all_rows(const Region& region) {
    std::int64_t rows = static_shape(*region.buffer).front();
    return as_int(region.ranges.front().begin) == 0 && as_int(region.ranges.front().extent) == rows;
  }

  bool operation(const TileOp& op) {
    const Region& first = op.operands.front();
    auto is_row = [&](const Region& region) { return by_rows(region.buffer) && all_rows(region); };
    auto rows = [](const Region& region) { return static_shape(*region.buffer).front(); };
    if (op.kind == OpKind::fill) return is_row(first);
    const Region& second = op.operands[1];
    if (op.kind == OpKind::copy) return copy(op);
    if (op.kind == OpKind::transpose) {
      bool square = static_shape(*second.buffer).size() == 2 && is_row(second) && first.buffer != second.buffer;
      if (square) repeat(first.buffer);
      return square;
    }
    int dim = -1;
    if (const auto* attrs = std::get_if<ReduceAttrs>(&op.attrs)) dim = attrs->dim;
    if (const auto* attrs = std::get_if<CumsumAttrs>(&op.attrs)) dim = attrs->dim;
    if (dim <= 0 || !is_row(second) || rows(first) != rows(second)) return false;
    return all_rows(first);  // of a tile that each core has whole its own rows
  }

  bool copy(const TileOp& op) {
    const auto& attrs = std::get<CopyAttrs>(op.attrs);
    const Region &from = op.operands[0], &to = op.operands[1];
    bool loads = from.buffer->scope == Scope::global, stores = to.buffer->scope == Scope::global;
    if (attrs.scatter || (loads && stores)) return false;
    const Region& tile = stores ? from : to;
    if (!all_rows(tile) || static_shape(*tile.buffer).front() % cores_ != 0) return false;
    if (!stores && homes_.of(to.buffer) == MemoryKind::ub && !by_rows(to.buffer)) return false;
    if (attrs.rows) repeat(attrs.rows->buffer);
    if (loads || stores) return stores || by_rows(to.buffer);
    if (from.buffer == to.buffer) return false;
    if (static_shape(*from.buffer).front() != static_shape(*to.buffer).front() || !all_rows(from)) repeat(from.buffer);
    return true;
  }

  const Kernel& kernel_;
  const Homes& homes_;
  int cores_;
  std::vector<const Stmt*> leaves_;
  std::set<const BufferDecl*> from_cube_;
  bool possible_ = true;
};

}  // namespace

Rows::Rows(const Kernel& kernel, const Homes& homes, const machine::Device& device) {
  auto cores = static_cast<int>(device.vector_cores->integer());
  if (cores == 1) return;
  Sharing sharing(kernel, homes, cores);
  if (!sharing.run()) return;
  cores_ = cores;
  split_ = std::move(sharing.split);
  repeated_ = std::move(sharing.repeated);
}

}  // namespace plait::npu
