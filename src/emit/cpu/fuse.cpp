#include "emit/cpu/fuse.h"

#include <algorithm>
#include <memory>

#include "ir/build.h"
#include "ir/visit.h"
#include "support/result.h"

namespace plait::cpu {
namespace {

using Index = std::vector<ir::ExprRef>;

ir::ExprRef make(ir::DType type, const Loc& loc, ir::ExprNode node) {
  auto expr = std::make_shared<ir::Expr>();
  expr->type = type;
  expr->loc = loc;
  expr->node = std::move(node);
  return expr;
}

ir::ExprRef cast(ir::DType type, const ir::ExprRef& value) {
  if (value->type == type) return value;
  const auto rounding = ir::is_float(type) ? ir::Rounding::nearest_even : ir::Rounding::toward_zero;
  return make(type, value->loc, ir::Cast{value, rounding, false});
}

/// begin + index in i64.
ir::ExprRef shifted(const ir::ExprRef& begin, const ir::ExprRef& index) {
  return make(ir::DType::i64, begin->loc,
              ir::Binary{ir::BinaryOp::add, cast(ir::DType::i64, begin), cast(ir::DType::i64, index)});
}

std::vector<std::size_t> proper(const ir::Region& region) {
  std::vector<std::size_t> dims;
  for (std::size_t d = 0; d < region.ranges.size(); ++d) {
    if (ir::as_int(region.ranges[d].extent) != 1) dims.push_back(d);
  }
  return dims;
}

/// A copy between a whole on-chip buffer and a part of a tensor that has nothing special about it.
struct PlainCopy {
  ir::StmtRef stmt;
  const ir::CopyAttrs* attrs = nullptr;
  const ir::Region* tensor = nullptr;
  ir::Buffer buffer;  ///< on chip
  bool load = false;

  /// Index of the tensor's element for an element of the buffer.
  Index tensor_index(const Index& index) const {
    Index result;
    const auto mine = proper_of_buffer();
    std::size_t next = 0;
    for (const auto& range : tensor->ranges)
      result.push_back(ir::as_int(range.extent) == 1 ? range.begin : shifted(range.begin, index[mine[next++]]));
    return result;
  }

  std::vector<std::size_t> proper_of_buffer() const {
    std::vector<std::size_t> dims;
    const auto shape = ir::static_shape(*buffer);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] != 1) dims.push_back(d);
    }
    return dims;
  }
};

std::optional<PlainCopy> plain_copy(const ir::StmtRef& stmt) {
  const auto* op = std::get_if<ir::TileOp>(&stmt->node);
  if (op == nullptr || op->kind != ir::OpKind::copy) return std::nullopt;
  const auto* attrs = std::get_if<ir::CopyAttrs>(&op->attrs);
  if (attrs->rows.has_value() || !attrs->valid.empty()) return std::nullopt;
  const bool load = op->operands[0].buffer->scope == ir::Scope::global;
  const ir::Region& tensor = op->operands[load ? 0 : 1];
  const ir::Region& chip = op->operands[load ? 1 : 0];
  if (tensor.buffer->scope != ir::Scope::global || !ir::is_whole(chip) || ir::dtype_bits(tensor.buffer->type) < 8)
    return std::nullopt;
  PlainCopy copy{stmt, attrs, &tensor, chip.buffer, load};
  const auto theirs = proper(tensor);
  const auto mine = copy.proper_of_buffer();
  const auto shape = ir::static_shape(*chip.buffer);
  if (theirs.size() != mine.size()) return std::nullopt;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (ir::as_int(tensor.ranges[theirs[i]].extent) != shape[mine[i]]) return std::nullopt;
  }
  return copy;
}

/// How a parallel loop uses a buffer.
struct Use {
  bool loads = false, stores = false;
  bool own_element = true;  ///< only at [i, j, …], the loop's own variables in order
  bool inside = true;       ///< every load is known to lie inside the buffer
  bool other = false;       ///< in a way that is not plain loads and stores
};

class Uses {
 public:
  Uses(const ir::For& loop, const ir::BufferDecl* buffer, const Proved& proved)
      : loop_(loop), buffer_(buffer), proved_(proved) {
    ir::walk(loop.body, [&](const ir::Stmt& stmt) { visit(stmt); });
  }
  const Use& use() const { return use_; }

 private:
  void visit(const ir::Stmt& stmt) {
    ir::for_each_expr(stmt, [&](const ir::ExprRef& root) {
      ir::walk(root, [&](const ir::Expr& expr) {
        const auto* load = std::get_if<ir::Load>(&expr.node);
        if (load == nullptr || load->buffer.get() != buffer_) return;
        use_.loads = true;
        check(load->index);
        for (std::size_t d = 0; d < load->index.size(); ++d) use_.inside = use_.inside && proved_(*load, d);
      });
    });
    if (const auto* store = std::get_if<ir::Store>(&stmt.node); store != nullptr && store->buffer.get() == buffer_) {
      use_.stores = true;
      check(store->index);
    }
    if (const auto* atomic = std::get_if<ir::AtomicElement>(&stmt.node))
      use_.other = use_.other || atomic->buffer.get() == buffer_;
    use_.other = use_.other || std::holds_alternative<ir::TileOp>(stmt.node);
  }

  void check(const Index& index) {
    if (index.size() != loop_.axes.size()) use_.own_element = false;
    for (std::size_t d = 0; d < index.size() && use_.own_element; ++d) {
      const auto* ref = std::get_if<ir::VarRef>(&index[d]->node);
      use_.own_element = ref != nullptr && ref->var == loop_.axes[d].var;
    }
  }

  const ir::For& loop_;
  const ir::BufferDecl* buffer_;
  const Proved& proved_;
  Use use_;
};

/// Whether the loop's variables run over exactly the elements of a buffer.
bool covers(const ir::For& loop, const ir::BufferDecl& buffer) {
  const auto shape = ir::static_shape(buffer);
  if (shape.size() != loop.axes.size()) return false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto& axis = loop.axes[d];
    if (ir::as_int(axis.begin) != 0 || ir::as_int(axis.end) != shape[d] || ir::as_int(axis.step) != 1) return false;
  }
  return true;
}

/// Makes the fused loop for one parallel loop with plain copies before and behind it.
class Fuser {
 public:
  Fuser(const Place& place, std::vector<PlainCopy> before, const ir::Stmt& stmt, std::vector<PlainCopy> behind,
        const Proved& proved)
      : place_(place),
        proved_(proved),
        before_(std::move(before)),
        stmt_(stmt),
        loop_(std::get<ir::For>(stmt.node)),
        behind_(std::move(behind)) {}

  std::optional<Fusion> run() {
    fusion_.count = before_.size() + 1 + behind_.size();
    for (const auto& copy : before_) absorb_load(copy);
    for (const auto& copy : behind_) absorb_store(copy);
    if (absorbed_ == 0 || impossible_) return std::nullopt;
    fuse();
    return std::move(fusion_);
  }

 private:
  /// A buffer whose element of the iteration is kept in a register: a local buffer of one element.
  struct Register {
    ir::Buffer local;
    const PlainCopy* source = nullptr;
    bool from_chip = false;  ///< starts with what the on-chip buffer holds
    std::vector<const PlainCopy*> targets;
  };

  Use use_of(const ir::BufferDecl* buffer) const { return Uses(loop_, buffer, proved_).use(); }

  bool dead(const ir::BufferDecl* buffer) const { return dead_after(buffer, place_, fusion_.count); }

  bool stored_behind(const ir::BufferDecl* buffer) const {
    return std::any_of(behind_.begin(), behind_.end(),
                       [&](const PlainCopy& copy) { return copy.buffer.get() == buffer; });
  }

  /// Whether the loop or a copy behind it writes the tensor.
  bool written(const ir::BufferDecl* tensor) const {
    const Use use = use_of(tensor);
    return use.stores || use.other || std::any_of(behind_.begin(), behind_.end(), [&](const PlainCopy& copy) {
             return copy.tensor->buffer.get() == tensor;
           });
  }

  Register& register_of(const ir::Buffer& buffer) {
    auto& reg = registers_[buffer.get()];
    if (reg.local == nullptr) {
      auto decl = std::make_shared<ir::BufferDecl>();
      decl->name = buffer->name;
      decl->type = buffer->type;
      decl->scope = ir::Scope::local;
      decl->shape = {ir::typed_int(ir::DType::i64, 1)};
      reg.local = decl;
      fusion_.locals.push_back(reg.local);
      order_.push_back(buffer.get());
    }
    return reg;
  }

  void absorb_load(const PlainCopy& copy) {
    const Use use = use_of(copy.buffer.get());
    const bool once =
        std::count_if(before_.begin(), before_.end(), [&](const PlainCopy& c) { return c.buffer == copy.buffer; }) == 1;
    const bool own = use.own_element && covers(loop_, *copy.buffer);
    const bool changes = use.stores || stored_behind(copy.buffer.get());
    if (!once || use.other || (changes ? !own : !use.inside) || written(copy.tensor->buffer.get()) ||
        !dead(copy.buffer.get())) {
      fusion_.rest.push_back(copy.stmt);
      return;
    }
    ++absorbed_;
    fusion_.inside.push_back(copy.tensor);
    if (changes)
      register_of(copy.buffer).source = &copy;
    else
      views_[copy.buffer.get()] = &copy;
  }

  /// Whether a copy behind the loop that stays as it is shares the buffer or the tensor with `copy`: their order
  /// counts.
  bool bound_to_late(const PlainCopy& copy) const {
    return std::any_of(late_.begin(), late_.end(), [&](const PlainCopy& other) {
      return other.buffer == copy.buffer || other.tensor->buffer == copy.tensor->buffer;
    });
  }

  void absorb_store(const PlainCopy& copy) {
    const Use use = use_of(copy.buffer.get());
    const Use of_tensor = use_of(copy.tensor->buffer.get());
    const bool own = !use.other && use.own_element && covers(loop_, *copy.buffer) && (use.loads || use.stores);
    const bool untouched = !of_tensor.loads && !of_tensor.stores && !of_tensor.other;
    const bool kept = registers_.contains(copy.buffer.get());
    const bool first = std::find(targets_.begin(), targets_.end(), copy.tensor->buffer) == targets_.end();
    if (!own || !untouched || !first || bound_to_late(copy) || (!kept && !dead(copy.buffer.get()))) {
      impossible_ = impossible_ || kept;  // the copy needs what the loop would keep in registers
      late_.push_back(copy);
      return;
    }
    ++absorbed_;
    targets_.push_back(copy.tensor->buffer);
    fusion_.inside.push_back(copy.tensor);
    Register& reg = register_of(copy.buffer);
    reg.from_chip = reg.source == nullptr;
    reg.targets.push_back(&copy);
  }

  ir::ExprRef zero() const { return ir::typed_int(ir::DType::i64, 0); }

  Index variables() const {
    Index index;
    for (const auto& axis : loop_.axes) index.push_back(ir::var_ref(axis.var, stmt_.loc));
    return index;
  }

  ir::ExprRef load_of(const PlainCopy& copy, const Index& index, const Loc& loc) {
    auto load = make(copy.tensor->buffer->type, loc, ir::Load{copy.tensor->buffer, copy.tensor_index(index)});
    const auto* node = &std::get<ir::Load>(load->node);
    fusion_.sources[node] = copy.tensor;
    fusion_.vouched.emplace_back(node, nullptr);
    return cast(copy.buffer->type, load);
  }

  ir::ExprRef rewritten(const ir::ExprRef& root) {
    return ir::rewrite(root, [&](const ir::ExprRef& expr) -> ir::ExprRef {
      const auto* load = std::get_if<ir::Load>(&expr->node);
      if (load == nullptr) return nullptr;
      if (const auto view = views_.find(load->buffer.get()); view != views_.end())
        return load_of(*view->second, load->index, expr->loc);
      const auto reg = registers_.find(load->buffer.get());
      if (reg == registers_.end()) return nullptr;
      return load_register(reg->second, expr->loc);
    });
  }

  ir::ExprRef load_register(const Register& reg, const Loc& loc) {
    auto load = make(reg.local->type, loc, ir::Load{reg.local, {zero()}});
    fusion_.vouched.emplace_back(&std::get<ir::Load>(load->node), nullptr);
    return load;
  }

  ir::StmtRef store_register(const Register& reg, ir::ExprRef value, const Loc& loc) {
    auto store = ir::make_stmt(ir::Store{reg.local, {zero()}, std::move(value)}, loc);
    fusion_.vouched.emplace_back(store.get(), nullptr);
    return store;
  }

  ir::Body rewritten(const ir::Body& body) {
    ir::Body result;
    for (const auto& stmt : body) result.push_back(rewritten(stmt));
    return result;
  }

  Index rewritten(const Index& index) {
    Index result;
    for (const auto& expr : index) result.push_back(rewritten(expr));
    return result;
  }

  ir::StmtRef rewritten(const ir::StmtRef& stmt) {
    const Loc& loc = stmt->loc;
    return std::visit(
        Overload{
            [&](const ir::Store& x) {
              const auto reg = registers_.find(x.buffer.get());
              if (reg != registers_.end()) return store_register(reg->second, rewritten(x.value), loc);
              auto store = ir::make_stmt(ir::Store{x.buffer, rewritten(x.index), rewritten(x.value)}, loc);
              fusion_.vouched.emplace_back(store.get(), stmt.get());
              return store;
            },
            [&](const ir::AtomicElement& x) {
              auto atomic =
                  ir::make_stmt(ir::AtomicElement{x.op, x.buffer, rewritten(x.index), rewritten(x.value)}, loc);
              fusion_.vouched.emplace_back(atomic.get(), stmt.get());
              return atomic;
            },
            [&](const ir::Let& x) { return ir::make_stmt(ir::Let{x.var, rewritten(x.value)}, loc); },
            [&](const ir::Assert& x) { return ir::make_stmt(ir::Assert{rewritten(x.cond), x.message}, loc); },
            [&](const ir::Print& x) { return ir::make_stmt(ir::Print{x.format, rewritten(x.args)}, loc); },
            [&](const ir::If& x) {
              return ir::make_stmt(ir::If{rewritten(x.cond), rewritten(x.then_body), rewritten(x.else_body)}, loc);
            },
            [&](const ir::While& x) { return ir::make_stmt(ir::While{rewritten(x.cond), rewritten(x.body)}, loc); },
            [&](const ir::For& x) { return rewritten_loop(x, loc); },
            [&](const ir::Task& x) { return ir::make_stmt(ir::Task{x.latency, x.ii, rewritten(x.body)}, loc); },
            [&](const ir::Alloc&) { return stmt; },
            [&](const ir::TileOp&) { return stmt; },
            [&](const ir::Break&) { return stmt; },
            [&](const ir::Continue&) { return stmt; },
        },
        stmt->node);
  }

  ir::StmtRef rewritten_loop(const ir::For& x, const Loc& loc) {
    ir::For loop = x;
    for (auto& axis : loop.axes) axis = {axis.var, rewritten(axis.begin), rewritten(axis.end), rewritten(axis.step)};
    loop.body = rewritten(x.body);
    return ir::make_stmt(std::move(loop), loc);
  }

  void open(ir::Body& body, const ir::BufferDecl* buffer, const Register& reg) {
    body.push_back(ir::make_stmt(ir::Alloc{reg.local}, stmt_.loc));
    if (reg.source != nullptr)
      body.push_back(store_register(reg, load_of(*reg.source, variables(), reg.source->stmt->loc), stmt_.loc));
    if (reg.from_chip) {
      auto load = make(buffer->type, stmt_.loc, ir::Load{reg.targets.front()->buffer, variables()});
      fusion_.vouched.emplace_back(&std::get<ir::Load>(load->node), nullptr);
      body.push_back(store_register(reg, load, stmt_.loc));
    }
  }

  void close(ir::Body& body, const Register& reg) {
    for (const PlainCopy* copy : reg.targets) {
      const ir::Buffer& tensor = copy->tensor->buffer;
      auto store = ir::make_stmt(
          ir::Store{tensor, copy->tensor_index(variables()), cast(tensor->type, load_register(reg, copy->stmt->loc))},
          copy->stmt->loc);
      fusion_.vouched.emplace_back(store.get(), nullptr);
      if (copy->attrs->cache == ir::CacheHint::evict_first) fusion_.streams[store.get()] = copy->tensor;
      body.push_back(store);
    }
  }

  void fuse() {
    ir::Body body;
    for (const auto* buffer : order_) open(body, buffer, registers_.at(buffer));
    for (const auto& stmt : rewritten(loop_.body)) body.push_back(stmt);
    for (const auto* buffer : order_) close(body, registers_.at(buffer));
    ir::For loop = loop_;
    loop.body = std::move(body);
    fusion_.loop = ir::make_stmt(std::move(loop), stmt_.loc);
    for (const auto& copy : late_) fusion_.late.push_back(copy.stmt);
  }

  const Place& place_;
  const Proved& proved_;
  std::vector<PlainCopy> before_;
  const ir::Stmt& stmt_;
  const ir::For& loop_;
  std::vector<PlainCopy> behind_;
  std::unordered_map<const ir::BufferDecl*, const PlainCopy*> views_;
  std::unordered_map<const ir::BufferDecl*, Register> registers_;
  std::vector<const ir::BufferDecl*> order_;  ///< of registers_, as found
  std::vector<PlainCopy> late_;
  std::vector<ir::Buffer> targets_;  ///< tensors of the copies that became stores
  int absorbed_ = 0;
  bool impossible_ = false;
  Fusion fusion_;
};

}  // namespace

std::optional<Fusion> plan_fusion(const Place& place, const Proved& proved) {
  const ir::Body& list = *place.list;
  std::vector<PlainCopy> before;
  std::size_t at = place.at;
  for (; at < list.size(); ++at) {
    const auto copy = plain_copy(list[at]);
    if (!copy.has_value() || !copy->load) break;
    before.push_back(*copy);
  }
  if (at == list.size()) return std::nullopt;
  const auto* loop = std::get_if<ir::For>(&list[at]->node);
  if (loop == nullptr || loop->kind != ir::LoopKind::parallel) return std::nullopt;
  const ir::Stmt& stmt = *list[at];
  std::vector<PlainCopy> behind;
  for (++at; at < list.size(); ++at) {
    const auto copy = plain_copy(list[at]);
    if (!copy.has_value() || copy->load) break;
    behind.push_back(*copy);
  }
  if (before.empty() && behind.empty()) return std::nullopt;
  return Fuser(place, std::move(before), stmt, std::move(behind), proved).run();
}

}  // namespace plait::cpu
