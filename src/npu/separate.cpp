#include "npu/separate.h"

#include <fmt/format.h>

#include <functional>
#include <set>

#include "ir/build.h"
#include "ir/visit.h"
#include "npu/rename.h"
#include "npu/uses.h"

namespace plait::npu {

using namespace ir;

namespace {

/// What a statement becomes; itself alone where nothing changes.
using Change = std::function<Body(const StmtRef& stmt)>;

bool is_nest(const For& loop) { return loop.kind == LoopKind::parallel; }

/// Applies `change` to each statement that holds no others but those of a `parallel` nest.
Body each_leaf(const Body& body, const Change& change) {
  Body out;
  for (const StmtRef& stmt : body) {
    auto inner = [&](const Body& of) { return each_leaf(of, change); };
    auto with = [&](auto node) { out.push_back(make_stmt(std::move(node), stmt->loc)); };
    if (const auto* loop = std::get_if<For>(&stmt->node); loop != nullptr && !is_nest(*loop)) {
      For made = *loop;
      made.body = inner(loop->body);
      with(std::move(made));
    } else if (const auto* repeat = std::get_if<While>(&stmt->node)) {
      with(While{repeat->cond, inner(repeat->body)});
    } else if (const auto* node = std::get_if<If>(&stmt->node)) {
      with(If{node->cond, inner(node->then_body), inner(node->else_body)});
    } else if (const auto* task = std::get_if<Task>(&stmt->node)) {
      with(Task{task->latency, task->ii, inner(task->body)});
    } else {
      Body made = change(stmt);
      out.insert(out.end(), made.begin(), made.end());
    }
  }
  return out;
}

class Separator {
 public:
  explicit Separator(const Kernel& kernel) : kernel_(kernel) {
    for (const Param& param : kernel.params) names_.insert(param.buffer ? param.buffer->name : param.scalar->name);
    walk(kernel.body, [&](const Stmt& stmt) {
      if (const auto* alloc = std::get_if<Alloc>(&stmt.node)) {
        buffers_.push_back(alloc->buffer);
        names_.insert(alloc->buffer->name);
      }
    });
  }

  Result<Kernel> run() {
    for (const Buffer& buffer : buffers_) bring_twice(buffer);
    for (const Buffer& buffer : buffers_) result(buffer);
    // Those that results have moved to are among the new ones.
    std::vector<Buffer> all = buffers_;
    all.insert(all.end(), made_.begin(), made_.end());
    for (const Buffer& buffer : all) {
      Uses uses = uses_of(buffer, kernel_.body);
      if (uses.factor && uses.vector()) kernel_.body = bring_to_products(kernel_.body, buffer);
    }
    if (diags_.has_errors()) return diags_;
    Body body;
    for (const Buffer& buffer : made_) body.push_back(make_stmt(Alloc{buffer}, buffer->loc));
    body.insert(body.end(), kernel_.body.begin(), kernel_.body.end());
    kernel_.body = std::move(body);
    return std::move(kernel_);
  }

 private:
  Buffer make(const Buffer& like, const std::string& suffix, Scope scope) {
    BufferDecl decl = *like;
    decl.scope = scope;
    decl.pad = 0;
    decl.layout = {};
    decl.name = like->name + suffix;
    for (int n = 2; !names_.insert(decl.name).second; ++n) decl.name = fmt::format("{}{}_{}", like->name, suffix, n);
    made_.push_back(std::make_shared<const BufferDecl>(std::move(decl)));
    return made_.back();
  }

  static StmtRef copy(const Buffer& from, const Buffer& to, const Loc& loc) {
    return make_stmt(TileOp{OpKind::copy, {whole(from, loc), whole(to, loc)}, CopyAttrs{}}, loc);
  }

  /// A tile that products and element work read, and that tensors alone fill, comes to both cores.
  void bring_twice(const Buffer& buffer) {
    Uses uses = uses_of(buffer, kernel_.body);
    if (!uses.factor || uses.result || uses.writes || !(uses.reads || uses.leaves)) return;
    Buffer twin = make(buffer, "_ub", buffer->scope);
    BufferMap map{{buffer.get(), twin}};
    kernel_.body = each_leaf(kernel_.body, [&](const StmtRef& stmt) -> Body {
      Uses own = uses_of(buffer, *stmt);
      if (!own.any() || own.factor) return {stmt};
      if (own.loads || own.fills) return {stmt, renamed(stmt, map)};
      return {renamed(stmt, map)};
    });
  }

  /// What products add up lies in L0C for as long as they do.
  void result(const Buffer& buffer) {
    Uses uses = uses_of(buffer, kernel_.body);
    if (!uses.result || !(uses.vector() || uses.loads || uses.factor)) return;
    bool moved = false;
    kernel_.body = hand_on(kernel_.body, buffer, true, moved);
    if (!moved) kernel_.body = each_leaf(kernel_.body, [&](const StmtRef& stmt) { return add_up(stmt, buffer); });
  }

  /// Behind the last product all that follows works on a copy in UB, where nothing else did before; in the innermost
  /// body that holds all uses. `first`: it is executed once, or begins anew each time.
  Body hand_on(const Body& body, const Buffer& buffer, bool once, bool& moved) {
    std::vector<std::size_t> at;
    std::size_t last = body.size();
    for (std::size_t i = 0; i < body.size(); ++i) {
      Uses uses = uses_of(buffer, *body[i]);
      if (uses.any()) at.push_back(i);
      if (uses.result) last = i;
    }
    Body out = body;
    if (at.size() == 1) return descend(out, at.front(), buffer, moved);
    if (last == body.size() || !(once || begins_anew(*body[at.front()], buffer))) return out;
    for (std::size_t i : at) {
      Uses uses = uses_of(buffer, *body[i]);
      if (i <= last && (uses.vector() || uses.loads || uses.factor)) return out;
    }
    Buffer here = make(buffer, "_ub", Scope::fragment);
    for (std::size_t i = last + 1; i < body.size(); ++i) out[i] = renamed(body[i], {{buffer.get(), here}});
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(last) + 1, copy(buffer, here, body[last]->loc));
    moved = true;
    return out;
  }

  Body descend(Body out, std::size_t at, const Buffer& buffer, bool& moved) {
    const StmtRef stmt = out[at];
    auto with = [&](auto node) { out[at] = make_stmt(std::move(node), stmt->loc); };
    if (const auto* loop = std::get_if<For>(&stmt->node); loop != nullptr && !is_nest(*loop)) {
      For made = *loop;
      made.body = hand_on(loop->body, buffer, false, moved);
      with(std::move(made));
    } else if (const auto* task = std::get_if<Task>(&stmt->node)) {
      with(Task{task->latency, task->ii, hand_on(task->body, buffer, false, moved)});
    }
    return out;
  }

  /// Whether the statement leaves nothing of what the buffer held.
  static bool begins_anew(const Stmt& stmt, const Buffer& buffer) {
    const auto* op = std::get_if<TileOp>(&stmt.node);
    if (op == nullptr) return false;
    if (op->kind == OpKind::fill) return is_whole(op->operands[0]);
    return op->kind == OpKind::gemm && std::get<GemmAttrs>(op->attrs).clear_accum && op->operands[2].buffer == buffer &&
           is_whole(op->operands[2]);
  }

  /// Sums that element work changes between products lie in UB: each product goes to L0C by itself, and what it gives
  /// is added there.
  Body add_up(const StmtRef& stmt, const Buffer& buffer) {
    const auto* op = std::get_if<TileOp>(&stmt->node);
    if (op == nullptr || op->kind != OpKind::gemm || op->operands[2].buffer != buffer) return {stmt};
    if (!is_whole(op->operands[2])) {
      diags_.error(Rule::place_product, stmt->loc,
                   fmt::format("the product adds to a part of `{}`, on which element work is done between products",
                               buffer->name),
                   "give the part a fragment of its own");
      return {stmt};
    }
    Buffer in_l0c = make(buffer, "_l0c", Scope::fragment), here = make(buffer, "_new", Scope::fragment);
    TileOp product = *op;
    GemmAttrs attrs = std::get<GemmAttrs>(op->attrs);
    bool clear = attrs.clear_accum;
    attrs.clear_accum = true;
    product.attrs = attrs;
    product.operands[2] = whole(in_l0c, stmt->loc);
    Body out{make_stmt(std::move(product), stmt->loc), copy(in_l0c, here, stmt->loc)};
    out.push_back(clear ? copy(here, buffer, stmt->loc) : sum(buffer, here, stmt->loc));
    return out;
  }

  /// for i, j in parallel: to[i, j] += more[i, j]
  StmtRef sum(const Buffer& to, const Buffer& more, const Loc& loc) {
    For nest{LoopKind::parallel, {}, {}, {}};
    std::vector<ExprRef> index;
    for (std::size_t d = 0; d < to->shape.size(); ++d) {
      auto var = std::make_shared<const VarDecl>(
          VarDecl{std::string(1, static_cast<char>('i' + d)), DType::i64, VarKind::loop, loc});
      nest.axes.push_back({var, typed_int(DType::i64, 0), to->shape[d], typed_int(DType::i64, 1)});
      index.push_back(var_ref(var, loc));
    }
    ExprRef a = make_load(to, index, loc, diags_), b = make_load(more, index, loc, diags_);
    nest.body.push_back(make_stmt(Store{to, index, make_binary(BinaryOp::add, a, b, loc, diags_)}, loc));
    return make_stmt(std::move(nest), loc);
  }

  /// Before a product that reads it, a tile that lies in UB is brought to L1: behind the statement that wrote it last.
  Body bring_to_products(const Body& body, const Buffer& buffer) {
    Body out;
    Buffer brought;                 // null: what L1 holds is not what UB holds
    std::size_t behind = SIZE_MAX;  // in `out`, of the last statement that wrote it in this body
    for (const StmtRef& stmt : body) {
      Uses uses = uses_of(buffer, *stmt);
      const auto* op = std::get_if<TileOp>(&stmt->node);
      if (op != nullptr && op->kind == OpKind::gemm && uses.factor) {
        if (brought == nullptr) {
          brought = make(buffer, "_l1", Scope::shared);
          std::size_t at = behind == SIZE_MAX ? out.size() : behind + 1;
          out.insert(out.begin() + static_cast<std::ptrdiff_t>(at),
                     copy(buffer, brought, behind == SIZE_MAX ? stmt->loc : out[behind]->loc));
        }
        out.push_back(renamed(stmt, {{buffer.get(), brought}}));
        continue;
      }
      StmtRef made = stmt;
      if (uses.factor) made = inside(stmt, buffer);
      if (uses.writes || uses.loads || uses.fills) {
        brought = nullptr;
        behind = out.size();
      }
      out.push_back(made);
    }
    return out;
  }

  StmtRef inside(const StmtRef& stmt, const Buffer& buffer) {
    auto body = [&](const Body& of) { return bring_to_products(of, buffer); };
    if (const auto* loop = std::get_if<For>(&stmt->node)) {
      For made = *loop;
      made.body = body(loop->body);
      return make_stmt(std::move(made), stmt->loc);
    }
    if (const auto* loop = std::get_if<While>(&stmt->node))
      return make_stmt(While{loop->cond, body(loop->body)}, stmt->loc);
    if (const auto* node = std::get_if<If>(&stmt->node))
      return make_stmt(If{node->cond, body(node->then_body), body(node->else_body)}, stmt->loc);
    const auto& task = std::get<Task>(stmt->node);
    return make_stmt(Task{task.latency, task.ii, body(task.body)}, stmt->loc);
  }

  Kernel kernel_;
  std::vector<Buffer> buffers_, made_;
  std::set<std::string> names_;
  Diagnostics diags_;
};

}  // namespace

Result<Kernel> separate(const Kernel& kernel) { return Separator(kernel).run(); }

}  // namespace plait::npu
