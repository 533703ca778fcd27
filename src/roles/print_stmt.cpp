#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/print_expr.h"
#include "machine/device.h"
#include "roles/print.h"

namespace plait::roles {
namespace {

std::string with_type(const ExprRef& e) { return fmt::format("{}({})", ir::dtype_name(e->type), ir::typed_text(e)); }

std::string_view hint_text(CacheHint hint) {
  switch (hint) {
    case CacheHint::none:
      return "";
    case CacheHint::evict_first:
      return " hint evict_first";
    case CacheHint::evict_last:
      return " hint evict_last";
  }
  return "";
}

std::string map_text(const Map& map, const std::vector<ExprRef>& at) {
  return fmt::format("{}[{}]", map->name, values_text(at));
}

/// The bounds of a loop: a literal takes the type of a bound that is none.
std::string range_text(const For& loop) {
  bool literals = is_literal(loop.begin) && is_literal(loop.end) && is_literal(loop.step);
  auto text = [&](const ExprRef& e) {
    return literals ? value_text(e) : is_literal(e) ? ir::typed_text(e) : ir::expr_text(e);
  };
  bool from_zero = ir::as_int(loop.begin) == 0, by_one = ir::as_int(loop.step) == 1;
  std::string out;
  if (!from_zero || !by_one) out += text(loop.begin) + ", ";
  out += text(loop.end);
  return by_one ? out : out + ", " + text(loop.step);
}

/// Prints statements: the first line of each, and its body below.
class Printer {
 public:
  explicit Printer(int indent) : indent_(indent) {}

  std::string body(const Body& body) const {
    std::string out;
    for (const StmtRef& stmt : body) out += Printer(indent_ + 2).statement(*stmt);
    return out.empty() ? margin(2) + "pass\n" : out;
  }

  std::string statement(const Stmt& stmt) const {
    return std::visit([&](const auto& node) { return margin(0) + text(node); }, stmt.node);
  }

 private:
  std::string margin(int deeper) const { return std::string(static_cast<std::size_t>(indent_ + deeper), ' '); }
  std::string block(const std::string& header, const Body& inner) const { return header + ":\n" + body(inner); }

  template <typename... Args>
  static std::string line(fmt::format_string<Args...> format, Args&&... args) {
    return fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  // Scalars and control
  std::string text(const Let& s) const {
    return line("{} = {}", s.var->name, is_literal(s.value) ? with_type(s.value) : ir::expr_text(s.value));
  }
  std::string text(const VarDef& s) const {
    return line("var {}: {} = {}", s.var->name, ir::dtype_name(s.var->type), ir::typed_text(s.init));
  }
  std::string text(const Set& s) const { return line("set {} = {}", s.var->name, ir::typed_text(s.value)); }
  std::string text(const For& s) const {
    std::string_view kind = s.unroll == Unroll::full ? "unrolled" : "range";
    std::string unroll = s.unroll == Unroll::by ? fmt::format(" unroll {}", s.factor) : "";
    return block(fmt::format("for {} in {}({}){}", s.var->name, kind, range_text(s), unroll), s.body);
  }
  std::string text(const While& s) const { return block("while " + value_text(s.cond), s.body); }
  std::string text(const If& s) const {
    std::string out = block("if " + value_text(s.cond), s.then_body);
    if (s.else_body.empty()) return out;
    const auto* next = std::get_if<If>(&s.else_body.front()->node);
    if (s.else_body.size() == 1 && next != nullptr) return out + margin(0) + "el" + text(*next);
    return out + margin(0) + block("else", s.else_body);
  }
  std::string text(const Elect& s) const { return block("elect", s.body); }
  std::string text(const OneWarp& s) const { return block(fmt::format("warp {}", s.warp), s.body); }
  std::string text(const DefFragment& s) const { return line("fragment {}", text_of(*s.fragment)); }

  // Synchronisation
  std::string text(const MbarInit& s) const { return line("mbar_init {}", s.mbar->name); }
  std::string text(const Wait& s) const { return line("wait {} parity {}", text_of(s.mbar), value_text(s.parity)); }
  std::string text(const Arrive& s) const {
    return line("arrive {}{}", text_of(s.mbar), s.rank == nullptr ? "" : " at " + value_text(s.rank));
  }
  std::string text(const Expect& s) const { return line("expect {} bytes {}", text_of(s.mbar), value_text(s.bytes)); }
  std::string text(const Fence& s) const {
    switch (s.kind) {
      case FenceKind::mbar_init:
        return "fence mbar_init\n";
      case FenceKind::proxy_async:
        return "fence proxy_async\n";
      case FenceKind::wgmma:
        return "fence wgmma\n";
      case FenceKind::gpu:
        return "fence gpu\n";
    }
    return "";
  }
  std::string text(const SyncThreads&) const { return "sync_threads\n"; }
  std::string text(const SyncWarp&) const { return "sync_warp\n"; }
  std::string text(const ClusterArrive&) const { return "cluster_arrive\n"; }
  std::string text(const ClusterWait&) const { return "cluster_wait\n"; }
  std::string text(const BarrierSync& s) const {
    return line("barrier_sync {} threads {}", value_text(s.id), s.threads);
  }
  std::string text(const BarrierArrive& s) const {
    return line("barrier_arrive {} threads {}", value_text(s.id), s.threads);
  }

  // Channels
  std::string text(const Acquire& s) const {
    return line("acquire {}{}", text_of(s.item), s.bytes == nullptr ? "" : " bytes " + value_text(s.bytes));
  }
  std::string text(const Publish& s) const { return line("publish {}", text_of(s.item)); }
  std::string text(const Receive& s) const { return line("receive {}", text_of(s.item)); }
  std::string text(const Release& s) const { return line("release {}", text_of(s.item)); }
  std::string text(const Issue& s) const {
    std::string out = fmt::format("issue {} {}", machine::name_of(s.unit), ir::string_text(s.task));
    if (s.latency != nullptr) out += " latency " + value_text(s.latency);
    if (s.ii != nullptr) out += " ii " + value_text(s.ii);
    if (!s.reads.empty()) out += " reads " + operands(s.reads);
    if (!s.writes.empty()) out += " writes " + operands(s.writes);
    return block(out, s.body);
  }
  static std::string operands(const std::vector<TaskOperand>& list) {
    std::string out;
    for (const TaskOperand& operand : list)
      out += (out.empty() ? "" : ", ") + std::visit([](const auto& ref) { return text_of(ref); }, operand);
    return out;
  }

  // Copies
  /// What a copy completes on.
  template <typename Copy>
  static std::string on(const Copy& s) {
    return s.channel.channel == nullptr ? text_of(s.mbar) : text_of(s.channel);
  }
  std::string text(const TmaLoad& s) const {
    std::string multicast = s.multicast == nullptr ? "" : " multicast " + value_text(s.multicast);
    return line("tma_load {} <- {} on {}{}{}", text_of(s.dst), map_text(s.map, s.at), on(s), multicast,
                hint_text(s.hint));
  }
  std::string text(const TmaStore& s) const {
    return line("tma_store {} <- {}{}", map_text(s.map, s.at), text_of(s.src), hint_text(s.hint));
  }
  std::string text(const BulkLoad& s) const {
    return line("bulk_load {} <- {} bytes {} on {}{}", text_of(s.dst), text_of(s.src), value_text(s.bytes), on(s),
                hint_text(s.hint));
  }
  std::string text(const BulkStore& s) const {
    return line("bulk_store {} <- {} bytes {}{}", text_of(s.dst), text_of(s.src), value_text(s.bytes),
                hint_text(s.hint));
  }
  std::string text(const BulkCommit&) const { return "bulk_commit\n"; }
  std::string text(const BulkWait& s) const { return line("bulk_wait {}{}", s.read ? "read " : "", s.pending); }
  std::string text(const Prefetch& s) const { return line("prefetch {}", s.map->name); }
  std::string text(const CpAsync& s) const {
    if (s.where != nullptr)
      return line("cp_async {} <- {} pieces {} where {}", text_of(s.dst), text_of(s.src), s.piece, value_text(s.where));
    return line("cp_async {} <- {} rows {} columns {}{}", text_of(s.dst), text_of(s.src), s.rows, s.columns,
                s.piece == 16 ? "" : fmt::format(" pieces {}", s.piece));
  }
  std::string text(const CpCommit&) const { return "cp_commit\n"; }
  std::string text(const CpWait& s) const { return line("cp_wait {}", s.pending); }

  // Matrix instructions
  std::string text(const Wgmma& s) const {
    std::string a = std::visit([](const auto& ref) { return text_of(ref); }, s.a);
    std::string clear = s.clear == nullptr ? "" : " clear " + value_text(s.clear);
    return line("wgmma {} <- {}{}, {}{}{}", text_of(s.acc), a, s.trans_a ? "^T" : "", text_of(s.b),
                s.trans_b ? "^T" : "", clear);
  }
  std::string text(const WgmmaCommit&) const { return "wgmma_commit\n"; }
  std::string text(const WgmmaAwait& s) const { return line("wgmma_await {}", s.pending); }
  std::string text(const Mma& s) const {
    auto columns = [](const Fragment& f) { return ir::static_shape(*f->buffer).back(); };
    bool whole = columns(s.a.fragment) == columns(s.b) &&
                 std::all_of(s.a.begin.begin(), s.a.begin.end(), [](const ExprRef& e) { return ir::as_int(e) == 0; });
    return line("mma {} <- {}, {}", s.acc->buffer->name, whole ? s.a.fragment->buffer->name : text_of(s.a),
                s.b->buffer->name);
  }
  std::string text(const LdMatrix& s) const {
    return line("ldmatrix {} <- {}{}", text_of(s.dst), text_of(s.src), s.trans ? "^T" : "");
  }
  std::string text(const StMatrix& s) const {
    return line("stmatrix {} <- {} columns {}", text_of(s.dst), text_of(s.src), s.columns);
  }

  // Element work
  std::string text(const Each& s) const {
    std::string vars, stores;
    for (const Var& var : s.vars) vars += (vars.empty() ? "" : ", ") + var->name;
    for (const ElementStore& store : s.stores) {
      stores += fmt::format("{}{}[{}] = {}\n", margin(2), store.fragment->buffer->name, values_text(store.index),
                            ir::typed_text(store.value));
    }
    if (stores.empty()) stores = margin(2) + "pass\n";
    return fmt::format("each {} in {}:\n{}", vars, s.domain->buffer->name, stores);
  }
  std::string text(const RowReduce& s) const {
    return line("row_reduce {} {} <- {}", reduce_name(s.op), s.dst->buffer->name, s.src->buffer->name);
  }
  std::string text(const LaneReduce& s) const {
    return line("lane_reduce {} {} lanes {}", reduce_name(s.op), s.fragment->buffer->name, s.lanes);
  }
  std::string text(const Keep& s) const {
    std::string names;
    for (const Fragment& f : s.fragments) names += (names.empty() ? "" : ", ") + f->buffer->name;
    return line("keep {}", names);
  }
  std::string text(const LoadTensor& s) const {
    std::string pad = s.pad == nullptr ? "" : fmt::format(" pad {}", ir::typed_text(s.pad));
    return line("load {} <- {}{}{}", s.dst->buffer->name, text_of(s.src), pad, hint_text(s.hint));
  }
  std::string text(const StoreTensor& s) const {
    return line("store {} <- {}{}", text_of(s.dst), s.src->buffer->name, hint_text(s.hint));
  }
  std::string text(const LoadShared& s) const { return line("load {} <- {}", s.dst->buffer->name, text_of(s.src)); }
  std::string text(const StoreShared& s) const { return line("store {} <- {}", text_of(s.dst), s.src->buffer->name); }
  std::string text(const PutTensor& s) const { return line("put {} = {}", text_of(s.dst), ir::typed_text(s.value)); }
  std::string text(const PutShared& s) const { return line("put {} = {}", text_of(s.dst), ir::typed_text(s.value)); }
  std::string text(const PutPiece& s) const {
    return line("put {} <- {} bytes {}", text_of(s.dst), text_of(s.src), s.piece);
  }
  std::string text(const Atomic& s) const {
    return line("{} = {}({}, {})", s.result->name, atomic_word(s.op), text_of(s.dst), ir::typed_text(s.value));
  }
  std::string text(const AtomicShared& s) const {
    return line("{} = {}({}, {})", s.result->name, atomic_word(s.op), text_of(s.dst), ir::typed_text(s.value));
  }
  std::string text(const Shuffle& s) const {
    return line("{} = shuffle({}, {})", s.result->name, value_text(s.value), value_text(s.lane));
  }
  std::string text(const Broadcast& s) const { return line("{} = broadcast({})", s.result->name, value_text(s.value)); }
  std::string text(const Clock& s) const {
    return line("{} = {}()", s.result->name, s.global ? "globaltimer" : "clock");
  }

  int indent_;
};

std::string indexed(std::string_view name, const std::vector<ExprRef>& index) {
  return fmt::format("{}[{}]", name, values_text(index));
}

}  // namespace

std::string value_text(const ExprRef& e) {
  if (!std::holds_alternative<ir::IntLit>(e->node) || ir::is_bool(e->type)) return ir::expr_text(e);
  return e->type == DType::i32 ? ir::typed_text(e) : with_type(e);
}

std::string values_text(const std::vector<ExprRef>& list) {
  std::string out;
  for (const ExprRef& e : list) out += (out.empty() ? "" : ", ") + value_text(e);
  return out;
}

std::string text_of(const SmemRef& ref) { return indexed(ref.smem->buffer->name, ref.index); }
std::string text_of(const MbarRef& ref) { return indexed(ref.mbar->name, {ref.index}); }
std::string text_of(const ChannelRef& ref) { return indexed(ref.channel->name, {ref.index}); }
std::string text_of(const FragmentRef& ref) { return indexed(ref.fragment->buffer->name, ref.begin); }
std::string text_of(const TensorRef& ref) { return indexed(ref.tensor->name, ref.index); }

std::string_view kind_name(FragmentKind kind) {
  switch (kind) {
    case FragmentKind::wgmma_acc:
      return "wgmma_acc";
    case FragmentKind::wgmma_a:
      return "wgmma_a";
    case FragmentKind::mma_acc:
      return "mma_acc";
    case FragmentKind::mma_a:
      return "mma_a";
    case FragmentKind::mma_b:
      return "mma_b";
    case FragmentKind::vector:
      return "vector";
    case FragmentKind::rows:
      return "rows";
    case FragmentKind::columns:
      return "columns";
  }
  return "";
}

std::string_view reduce_name(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return "sum";
    case ReduceOp::max:
      return "max";
    case ReduceOp::min:
      return "min";
  }
  return "";
}

std::string text_of(const FragmentDecl& decl) {
  const ir::BufferDecl& b = *decl.buffer;
  std::string more;
  if (decl.kind == FragmentKind::vector) more = fmt::format(" vec {} lanes {}", decl.vec, decl.lanes);
  if (is_side(decl.kind) && decl.of != nullptr) more = " of " + decl.of->buffer->name;
  return fmt::format("{}: {}[{}] {}{}", b.name, ir::dtype_name(b.type), ir::exprs_text(b.shape), kind_name(decl.kind),
                     more);
}

std::string print(const Body& body, int indent) { return Printer(indent - 2).body(body); }
std::string print(const Stmt& stmt, int indent) { return Printer(indent).statement(stmt); }

}  // namespace plait::roles
