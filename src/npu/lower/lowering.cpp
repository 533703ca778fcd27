#include "npu/lower/lowering.h"

#include "ir/build.h"
#include "ir/visit.h"
#include "npu/uses.h"

// Both roles run the same control flow, each with the statements that are its own.
namespace plait::npu {

using namespace ir;
using roles::build::at;

void Lowering::role(Core core) {
  core_ = core;
  names_.begin_role();
  counters_.assign(mail_.size(), nullptr);
  roles::build::RoleShape shape{core == Core::cube ? 1 : rows_.cores(), 1, {}};
  b_.role(core == Core::cube ? "aic" : "aiv", shape, [&] {
    pipeline::OpenBody scope(scalars_, names_);
    for (std::size_t i = 0; i < mail_.size(); ++i)
      counters_[i] = b_.var(fresh(mail_.size() == 1 ? "n" : "n_" + mail_[i].buffer->name), DType::u32, 0);
    work_.each(pipeline::WorkMap::Side::computes, [&] { body(kernel_.body); });
  });
}

/// What is taken before the first statement that uses it, and given back behind the last; what nothing uses at once.
std::vector<Lowering::Ends> Lowering::ends_of(const std::vector<StmtRef>& list) const {
  std::vector<Ends> ends(list.size());
  for (std::size_t m = 0; m < mail_.size(); ++m) {
    if (mail_[m].to != core_) continue;
    std::size_t writer = list.size(), first = list.size(), last = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].get() == mail_[m].writer) {
        writer = i;
      } else if (uses_of(mail_[m].buffer, *list[i]).any()) {
        first = std::min(first, i);
        last = i;
      }
    }
    if (writer == list.size()) continue;
    if (first == list.size()) first = last = writer;
    ends[first].receive.push_back(m);
    ends[last].release.push_back(m);
  }
  return ends;
}

Value Lowering::item(std::size_t mail) const {
  auto ahead = ahead_.find(mail);
  Value n = counters_[mail];
  return ahead == ahead_.end() ? n : n + roles::build::cast(DType::u32, ahead->second);
}

void Lowering::count(std::size_t mail, const Value& more) { b_.set(counters_[mail], Value(counters_[mail]) + more); }

void Lowering::receive(const Ends& ends) {
  for (std::size_t mail : ends.receive) {
    b_.add(roles::Receive{at(channels_[mail], item(mail))});
    second_hop(mail);
  }
}

void Lowering::release(const Ends& ends, bool counts) {
  for (std::size_t mail : ends.release) {
    b_.add(roles::Release{at(channels_[mail], item(mail))});
    if (counts) count(mail, 1);
  }
}

void Lowering::body(const Body& body) {
  std::vector<Ends> ends = ends_of(body);
  for (std::size_t i = 0; i < body.size(); ++i) {
    receive(ends[i]);
    statement(body[i]);
    if (auto mail = mail_at(*body[i]); mail && mail_[*mail].from == core_) count(*mail, 1);
    release(ends[i], true);
  }
}

/// Whether the kernel may write what the expression reads.
bool Lowering::reads_memory(const ExprRef& expr) const {
  bool found = false;
  walk(expr, [&](const Expr& e) {
    const auto* load = std::get_if<Load>(&e.node);
    if (load == nullptr) return;
    found = found || std::none_of(kernel_.params.begin(), kernel_.params.end(), [&](const Param& param) {
              return param.kind == ParamKind::in && param.buffer == load->buffer;
            });
  });
  return found;
}

/// The value, for all lanes to have read before one of them goes on to write there.
Value Lowering::settled(const ExprRef& expr, const std::string& name) {
  Value value = scalars_.convert(expr);
  if (!reads_memory(expr)) return value;
  value = b_.let(fresh(name), value);
  b_.add(roles::SyncWarp{});
  return value;
}

void Lowering::let(const Let& node) {
  // What depends on it is no part of the cube core's role.
  if (core_ == Core::cube && computed_.contains(node.var.get())) return;
  scalars_.bind(node.var, b_.let(fresh(node.var->name), scalars_.convert(node.value)));
  if (reads_memory(node.value)) b_.add(roles::SyncWarp{});  // what follows may write there
  scalars_.add_let(node);
}

void Lowering::statement(const StmtRef& stmt) {
  if (const auto* node = std::get_if<Let>(&stmt->node)) return let(*node);
  if (!has_part(*stmt, core_, homes_)) return;
  b_.origin(stmt->loc);
  if (const auto* loop = std::get_if<For>(&stmt->node); loop != nullptr && loop->kind != LoopKind::parallel) {
    const plan::LoopPlan* plan = schedule_.find(stmt_names_.at(stmt.get()));
    if (plan != nullptr && overlaps(*loop, *plan)) return pipelined_loop(*loop, *plan);
    return serial_loop(*loop);
  }
  if (const auto* loop = std::get_if<While>(&stmt->node)) return while_loop(*loop);
  if (const auto* node = std::get_if<If>(&stmt->node)) return branch(*node);
  if (const auto* task = std::get_if<Task>(&stmt->node)) {
    bool measured = task->latency || task->ii;
    if (measured && task->body.size() > 1)
      return refuse(stmt->loc, "a task with a measured cost of several statements has no placement on an NPU yet",
                    "measure each statement");
    if (measured) measured_ = task;
    body(task->body);
    measured_ = nullptr;
    return;
  }
  task(*stmt);
}

void Lowering::branch(const If& node) {
  Value cond = settled(node.cond, "cond");
  if (auto known = as_int(cond.expr())) {
    Scalars::Scope scope(scalars_);
    return body(*known != 0 ? node.then_body : node.else_body);
  }
  auto inner = [&](const Body& of, bool holds) {
    BodyScope scope(*this);
    scalars_.assume(node.cond, holds);
    body(of);
  };
  roles::build::Builder::Then otherwise;
  if (!node.else_body.empty()) otherwise = [&] { inner(node.else_body, false); };
  b_.if_(cond, [&] { inner(node.then_body, true); }, otherwise);
}

void Lowering::serial_loop(const For& loop) {
  const LoopAxis& axis = loop.axes.front();
  auto bound = [&](const ExprRef& expr, const char* suffix) {
    return b_.let(fresh(axis.var->name + suffix), scalars_.index(expr));
  };
  Value begin = bound(axis.begin, "_begin"), end = bound(axis.end, "_end"), step = bound(axis.step, "_step");
  if (reads_memory(axis.begin) || reads_memory(axis.end) || reads_memory(axis.step)) b_.add(roles::SyncWarp{});
  b_.loop(fresh(axis.var->name), {begin, end, step}, [&](const Value& value) {
    BodyScope scope(*this);
    scalars_.bind(axis.var, value);
    scalars_.add_loop(loop);
    body(loop.body);
  });
}

void Lowering::while_loop(const While& loop) {
  const bool reads = reads_memory(loop.cond);
  b_.while_(scalars_.convert(loop.cond), [&] {
    BodyScope scope(*this);
    if (reads) b_.add(roles::SyncWarp{});
    body(loop.body);
  });
  if (reads) b_.add(roles::SyncWarp{});
}

}  // namespace plait::npu
