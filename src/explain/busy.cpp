#include "explain/busy.h"

#include <algorithm>
#include <bit>

#include "ir/build.h"
#include "ir/visit.h"
#include "layout/role_layout.h"
#include "place/placed.h"
#include "support/result.h"

namespace plait::explain {

using sim::Unit;

Busy& Busy::operator+=(const Busy& other) {
  for (std::size_t i = 0; i < unit.size(); ++i) unit[i] += other.unit[i];
  l2_share += other.l2_share;
  memory_share += other.memory_share;
  bytes += other.bytes;
  held += other.held;
  return *this;
}

Busy Busy::operator*(double times) const {
  Busy out = *this;
  for (double& cycles : out.unit) cycles *= times;
  out.l2_share *= times;
  out.memory_share *= times;
  out.bytes *= times;
  out.held *= times;
  return out;
}

Busy larger(const Busy& a, const Busy& b) {
  Busy out = a;
  for (std::size_t i = 0; i < out.unit.size(); ++i) out.unit[i] = std::max(out.unit[i], b.unit[i]);
  out.l2_share = std::max(a.l2_share, b.l2_share);
  out.memory_share = std::max(a.memory_share, b.memory_share);
  out.bytes = std::max(a.bytes, b.bytes);
  out.held = std::max(a.held, b.held);
  return out;
}

sim::Unit busiest(const Busy& busy) {
  auto most = std::max_element(busy.unit.begin(), busy.unit.end());
  return static_cast<sim::Unit>(most - busy.unit.begin());
}

std::string_view unit_name(sim::Unit unit) {
  switch (unit) {
    case Unit::tensor:
      return "tensor";
    case Unit::tma:
      return "tma";
    case Unit::cuda:
      return "cuda";
    case Unit::sfu:
      return "sfu";
    case Unit::smem:
      return "smem";
    case Unit::l2:
      return "l2";
    case Unit::lsu:
      return "lsu";
    case Unit::issue:
      return "issue";
    case Unit::vector:
      return "vector";
    case Unit::load:
      return "load";
    case Unit::store:
      return "store";
    case Unit::cube:
      return "cube";
    case Unit::mte1:
      return "mte1";
    case Unit::mte2:
      return "mte2";
    case Unit::fixpipe:
      return "fixpipe";
    case Unit::aiv_mte2:
      return "aiv_mte2";
    case Unit::mte3:
      return "mte3";
    case Unit::scalar:
      return "scalar";
  }
  return {};
}

Origin origin_of(const Loc& loc) { return {loc.line, loc.column}; }

namespace {

/// Counts what the statements of a role do.
class Counter {
 public:
  Counter(const roles::Role& role, const sim::Costs& costs) : threads_(std::int64_t{role.warps} * 32), costs_(costs) {}

  std::map<Origin, Busy> body(const roles::Body& body) const {
    std::map<Origin, Busy> out;
    for (const roles::StmtRef& stmt : body) add(out, statement(*stmt), 1);
    return out;
  }

 private:
  using Counts = std::map<Origin, Busy>;
  static void add(Counts& to, const Counts& from, double times) {
    for (const auto& [origin, busy] : from) to[origin] += busy * times;
  }
  double elements(const roles::Fragment& fragment) const {
    return static_cast<double>(layout::fragment_map(*fragment, threads_).elements_per_thread() * threads_);
  }
  static double bytes_of(const ir::Buffer& buffer) { return ir::dtype_bits(buffer->type) / 8.0; }

  Counts statement(const roles::Stmt& stmt) const;
  Busy compute(double operations, double special = 0) const;
  Busy shared(double bytes) const;
  Busy global(double bytes) const;
  Busy box(const roles::Map& map) const;
  Busy one(const roles::Wgmma& n) const;
  Busy one(const roles::Mma& n) const;
  Busy one(const roles::TmaLoad& n) const { return box(n.map); }
  Busy one(const roles::TmaStore& n) const { return box(n.map); }
  Busy one(const roles::BulkLoad& n) const { return bulk(n.bytes); }
  Busy one(const roles::BulkStore& n) const { return bulk(n.bytes); }
  Busy one(const roles::CpAsync& n) const;
  Busy one(const roles::LdMatrix& n) const;
  Busy one(const roles::StMatrix& n) const;
  Busy one(const roles::Each& n) const;
  Busy one(const roles::RowReduce& n) const { return compute(elements(n.src)); }
  Busy one(const roles::LaneReduce& n) const {
    return compute(2.0 * std::countr_zero(static_cast<unsigned>(n.lanes)) * elements(n.fragment));
  }
  Busy one(const roles::LoadTensor& n) const { return global(elements(n.dst) * bytes_of(n.dst->buffer)); }
  Busy one(const roles::StoreTensor& n) const { return global(elements(n.src) * bytes_of(n.src->buffer)); }
  Busy one(const roles::LoadShared& n) const { return shared(elements(n.dst) * bytes_of(n.dst->buffer)); }
  Busy one(const roles::StoreShared& n) const { return shared(elements(n.src) * bytes_of(n.src->buffer)); }
  Busy one(const roles::PutShared& n) const {
    Busy out = each_thread(n.value);
    out += shared(static_cast<double>(threads_) * bytes_of(n.dst.smem->buffer));
    return out;
  }
  Busy one(const roles::PutPiece& n) const {
    Busy out = global(static_cast<double>(threads_ * n.piece));
    out += shared(static_cast<double>(threads_ * n.piece));
    return out;
  }
  Busy one(const roles::PutTensor& n) const {
    Busy out = each_thread(n.value);
    out += global(static_cast<double>(threads_) * bytes_of(n.dst.tensor));
    return out;
  }
  Busy one(const roles::AtomicShared& n) const {
    Busy out = each_thread(n.value);
    out += shared(static_cast<double>(threads_) * bytes_of(n.dst.smem->buffer));
    return out;
  }
  Busy one(const roles::Shuffle& n) const {
    Busy out = each_thread(n.value);
    out += compute(static_cast<double>(threads_));
    return out;
  }
  Busy each_thread(const ir::ExprRef& value) const;
  /// Synchronisation and scalars take time of warps, not of units.
  template <typename Node>
  Busy one(const Node&) const {
    return {};
  }
  Busy bulk(const ir::ExprRef& bytes) const;

  // What an asynchronous statement holds a replica for, and what others wait for behind their units.
  double held(const roles::Wgmma&, const Busy&) const { return static_cast<double>(costs_.wgmma_issue); }
  double held(const roles::TmaLoad&, const Busy&) const { return static_cast<double>(costs_.tma_issue); }
  double held(const roles::TmaStore&, const Busy&) const { return static_cast<double>(costs_.tma_issue); }
  double held(const roles::BulkLoad&, const Busy&) const { return static_cast<double>(costs_.tma_issue); }
  double held(const roles::BulkStore&, const Busy&) const { return static_cast<double>(costs_.tma_issue); }
  double held(const roles::CpAsync&, const Busy& own) const { return own.of(Unit::smem); }
  double held(const roles::LaneReduce& n, const Busy& own) const {
    double steps = std::countr_zero(static_cast<unsigned>(n.lanes));
    return own.of(busiest(own)) + steps * static_cast<double>(costs_.shuffle);
  }
  double held(const roles::LoadTensor&, const Busy& own) const {
    return own.of(busiest(own)) + static_cast<double>(costs_.global_load);
  }
  double held(const roles::LoadShared&, const Busy& own) const {
    return own.of(busiest(own)) + static_cast<double>(costs_.smem_access);
  }
  double held(const roles::LdMatrix&, const Busy& own) const {
    return own.of(busiest(own)) + static_cast<double>(costs_.smem_access);
  }
  double held(const roles::BarrierSync&, const Busy&) const { return static_cast<double>(costs_.named_barrier); }
  double held(const roles::Fence& n, const Busy&) const {
    return static_cast<double>(n.kind == roles::FenceKind::proxy_async ? costs_.fence_proxy : costs_.instruction);
  }
  double held(const roles::PutShared& n, const Busy&) const { return scalar(n.value); }
  double held(const roles::PutTensor& n, const Busy&) const { return scalar(n.value); }
  double held(const roles::PutPiece&, const Busy& own) const {
    return own.of(busiest(own)) + static_cast<double>(costs_.smem_access);
  }
  double held(const roles::AtomicShared& n, const Busy&) const {
    return scalar(n.value) + static_cast<double>(costs_.smem_access);
  }
  double held(const roles::Shuffle& n, const Busy&) const {
    return scalar(n.value) + static_cast<double>(costs_.shuffle);
  }
  double held(const roles::Let& n, const Busy&) const { return scalar(n.value); }
  template <typename Node>
  double held(const Node&, const Busy& own) const {
    return own.of(busiest(own));
  }
  double scalar(const ir::ExprRef& value) const;

  std::int64_t threads_;
  const sim::Costs& costs_;
};

/// An expression that each thread evaluates once: a cycle an operation, and what its reads wait for.
double Counter::scalar(const ir::ExprRef& value) const {
  double cycles = static_cast<double>(costs_.instruction);
  ir::walk(value, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e.node);
    cycles += 1;
    if (load == nullptr || load->buffer->scope == ir::Scope::fragment) return;
    cycles += static_cast<double>(load->buffer->scope == ir::Scope::global ? costs_.global_load : costs_.smem_access);
  });
  return cycles;
}

/// An element that each thread computes from what it reads.
Busy Counter::each_thread(const ir::ExprRef& value) const {
  Busy out;
  ir::walk(value, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e.node);
    if (load == nullptr) return;
    double bytes = static_cast<double>(threads_) * ir::dtype_bits(load->buffer->type) / 8.0;
    if (load->buffer->scope == ir::Scope::global) out += global(bytes);
    if (load->buffer->scope == ir::Scope::shared) out += shared(bytes);
  });
  sim::ThreadWork work = sim::thread_work(value);
  out += compute(work.operations * static_cast<double>(threads_), work.special * static_cast<double>(threads_));
  return out;
}

Busy Counter::compute(double operations, double special) const {
  Busy out;
  out.of(Unit::cuda) = operations / costs_.cuda_lanes;
  out.of(Unit::sfu) = special / costs_.sfu_lanes;
  return out;
}

Busy Counter::shared(double bytes) const {
  Busy out;
  out.of(Unit::smem) = bytes / costs_.smem_bytes;
  return out;
}

Busy Counter::global(double bytes) const {
  Busy out;
  out.of(Unit::l2) = bytes / costs_.l2_bytes;
  out.l2_share = bytes * costs_.sms / costs_.l2_total_bytes;
  out.memory_share = bytes * costs_.sms / costs_.memory_bytes;
  out.bytes = bytes;
  return out;
}

Busy Counter::box(const roles::Map& map) const {
  auto bytes = static_cast<double>(layout::tma_box(*map).bytes());
  Busy out = global(bytes);
  out += shared(bytes);
  out.of(Unit::tma) = bytes / costs_.tma_bytes;
  return out;
}

Busy Counter::bulk(const ir::ExprRef& expr) const {
  auto bytes = static_cast<double>(ir::as_int(expr).value_or(0));
  Busy out = global(bytes);
  out += shared(bytes);
  out.of(Unit::tma) = bytes / costs_.tma_bytes;
  return out;
}

Busy Counter::one(const roles::Wgmma& n) const {
  auto columns = static_cast<double>(layout::fragment_map(*n.acc.fragment, threads_).columns());
  bool from_shared = std::holds_alternative<roles::SmemRef>(n.a);
  Busy out = shared(((from_shared ? place::kWarpgroupRows : 0) + columns) * place::kDepthBytes);
  out.of(Unit::tensor) = static_cast<double>(place::kWarpgroupRows) * columns *
                         static_cast<double>(place::kDepthBytes) / 2 / costs_.tensor_fma;
  return out;
}

Busy Counter::one(const roles::Mma& n) const {
  layout::FragmentMap acc = layout::fragment_map(*n.acc, threads_), b = layout::fragment_map(*n.b, threads_);
  const std::int64_t copies = threads_ / acc.threads();  // one a warp, or one a warpgroup
  Busy out;
  out.of(Unit::tensor) = static_cast<double>(acc.rows() * acc.columns() * b.columns() * copies) / costs_.mma_fma;
  return out;
}

Busy Counter::one(const roles::CpAsync& n) const {
  const std::int64_t sharing = n.where == nullptr ? 1 : threads_;  // each thread copies a piece
  double bytes = static_cast<double>(n.rows * n.columns * sharing) * bytes_of(n.dst.smem->buffer);
  Busy out = global(bytes);
  out += shared(bytes);
  return out;
}

Busy Counter::one(const roles::LdMatrix& n) const {
  return shared(elements(n.dst.fragment) * bytes_of(n.src.smem->buffer));
}

Busy Counter::one(const roles::StMatrix& n) const {
  return shared(place::kWarpgroupRows * static_cast<double>(n.columns) * bytes_of(n.dst.smem->buffer));
}

Busy Counter::one(const roles::Each& n) const {
  double operations = 0, special = 0;
  for (const roles::ElementStore& store : n.stores) {
    operations += 1;
    ir::walk(store.value, [&](const ir::Expr& e) {
      bool leaf = std::holds_alternative<ir::IntLit>(e.node) || std::holds_alternative<ir::FloatLit>(e.node) ||
                  std::holds_alternative<ir::VarRef>(e.node);
      // An element of a fragment is an operand as it is.
      const auto* load = std::get_if<ir::Load>(&e.node);
      leaf = leaf || (load != nullptr && load->buffer->scope == ir::Scope::fragment);
      const auto* call = std::get_if<ir::Call>(&e.node);
      operations += leaf ? 0 : 1;
      if (call == nullptr || !sim::uses_special_unit(call->fn)) return;
      special += 1;
      // In f32 through base 2, with a product before or behind.
      operations += call->fn == ir::Intrinsic::exp || call->fn == ir::Intrinsic::log ? 1 : 0;
    });
  }
  return compute(operations * elements(n.domain), special * elements(n.domain));
}

Counter::Counts Counter::statement(const roles::Stmt& stmt) const {
  if (const auto* loop = std::get_if<roles::For>(&stmt.node)) {
    auto begin = ir::as_int(loop->begin), end = ir::as_int(loop->end), step = ir::as_int(loop->step);
    // Loops that threads share begin at the thread.
    std::int64_t first = begin.value_or(0);
    std::int64_t trips = end && step && *step > 0 ? (*end - first + *step - 1) / *step : 1;
    Counts out;
    add(out, body(loop->body), static_cast<double>(std::max<std::int64_t>(trips, 0)));
    return out;
  }
  if (const auto* branch = std::get_if<roles::If>(&stmt.node)) {
    Counts out = body(branch->then_body);
    for (const auto& [origin, busy] : body(branch->else_body)) out[origin] = larger(out[origin], busy);
    return out;
  }
  if (const auto* node = std::get_if<roles::While>(&stmt.node)) return body(node->body);
  if (const auto* node = std::get_if<roles::Elect>(&stmt.node)) return body(node->body);
  if (const auto* node = std::get_if<roles::OneWarp>(&stmt.node)) return body(node->body);
  if (const auto* node = std::get_if<roles::Issue>(&stmt.node)) return body(node->body);
  Busy own = std::visit([&](const auto& node) { return one(node); }, stmt.node);
  own.held = std::visit([&](const auto& node) { return held(node, own); }, stmt.node);
  return {{origin_of(stmt.origin), own}};
}

}  // namespace

std::map<Origin, Busy> busy_of(const roles::Body& body, const roles::Role& role, const sim::Costs& costs) {
  return Counter(role, costs).body(body);
}

}  // namespace plait::explain
