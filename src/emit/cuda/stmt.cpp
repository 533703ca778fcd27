#include <fmt/format.h>

#include "emit/cuda/emitter.h"
#include "ir/build.h"
#include "roles/visit.h"

namespace plait::emit::cuda {
namespace {

void print(Emitter& e, const roles::Let& s) {
  e.line(fmt::format("const {} {} = {};", value_type(s.var->type), Emitter::name(s.var->name), expr_text(e, s.value)));
}

void print(Emitter& e, const roles::VarDef& s) {
  e.line(fmt::format("{} {} = {};", value_type(s.var->type), Emitter::name(s.var->name), expr_text(e, s.init)));
}

void print(Emitter& e, const roles::Set& s) {
  e.line(fmt::format("{} = {};", Emitter::name(s.var->name), expr_text(e, s.value)));
}

void print(Emitter& e, const roles::For& s) {
  switch (s.unroll) {
    case roles::Unroll::none:
      e.line("#pragma unroll 1");
      break;
    case roles::Unroll::full:
      e.line("#pragma unroll");
      break;
    case roles::Unroll::by:
      e.line(fmt::format("#pragma unroll {}", s.factor));
      break;
  }
  std::string var = Emitter::name(s.var->name);
  std::string step = ir::as_int(s.step) == 1 ? "++" + var : fmt::format("{} += {}", var, expr_text(e, s.step));
  e.open(fmt::format("for ({} {} = {}; {} < {}; {})", value_type(s.var->type), var, expr_text(e, s.begin), var,
                     expr_text(e, s.end, Level::shift), step));
  emit_body(e, s.body);
  e.close();
}

void print(Emitter& e, const roles::While& s) {
  e.line("#pragma unroll 1");
  e.open(fmt::format("while ({})", expr_text(e, s.cond)));
  emit_body(e, s.body);
  e.close();
}

void print(Emitter& e, const roles::If& s) {
  e.open(fmt::format("if ({})", expr_text(e, s.cond)));
  emit_body(e, s.then_body);
  e.close();
  if (s.else_body.empty()) return;
  e.open("else");
  emit_body(e, s.else_body);
  e.close();
}

void print(Emitter& e, const roles::Elect& s) {
  e.open(fmt::format("if ({} == 0)", e.role ? e.use(e.program.builtins.thread) : "threadIdx.x"));
  emit_body(e, s.body);
  e.close();
}

void print(Emitter& e, const roles::OneWarp& s) {
  e.open(fmt::format("if ({} == {})", e.use(e.program.builtins.warp), s.warp));
  emit_body(e, s.body);
  e.close();
}

void print(Emitter& e, const roles::DefFragment& s) {
  e.line(declare_fragment(e, *s.fragment));
  e.fragments.emplace(s.fragment->buffer.get(), s.fragment);
  if (s.fragment->kind == roles::FragmentKind::wgmma_acc) e.accumulators.push_back(s.fragment);
}

void print(Emitter& e, const roles::SyncThreads&) { e.line("__syncthreads();"); }
void print(Emitter& e, const roles::SyncWarp&) { e.line("__syncwarp();"); }
void print(Emitter& e, const roles::ClusterArrive&) { e.line(e.helper("cluster_arrive") + "();"); }
void print(Emitter& e, const roles::ClusterWait&) { e.line(e.helper("cluster_wait") + "();"); }
void print(Emitter& e, const roles::BulkCommit&) { e.line(e.helper("bulk_commit") + "();"); }
void print(Emitter& e, const roles::Prefetch& s) { e.line(fmt::format("{}({});", e.helper("prefetch"), e.use(s.map))); }
void print(Emitter& e, const roles::CpCommit&) { e.line(e.helper("cp_commit") + "();"); }
void print(Emitter& e, const roles::CpWait& s) { e.line(fmt::format("{}<{}>();", e.helper("cp_wait"), s.pending)); }

void print(Emitter& e, const roles::Broadcast& s) {
  e.line(fmt::format("const {} {} = __shfl_sync(0xffffffff, {}, 0);", value_type(s.result->type),
                     Emitter::name(s.result->name), expr_text(e, s.value)));
}

void print(Emitter& e, const roles::Shuffle& s) {
  e.line(fmt::format("const {} {} = __shfl_sync(0xffffffff, {}, {});", value_type(s.result->type),
                     Emitter::name(s.result->name), expr_text(e, s.value), expr_text(e, s.lane)));
}

void print(Emitter& e, const roles::Clock& s) {
  e.line(fmt::format("const {} {} = {}();", value_type(s.result->type), Emitter::name(s.result->name),
                     e.helper(s.global ? "nanoseconds" : "cycles")));
}

// emit() has made mbarriers of channels, and emit_body() refuses tasks.
void print(Emitter&, const roles::Acquire&) {}
void print(Emitter&, const roles::Publish&) {}
void print(Emitter&, const roles::Receive&) {}
void print(Emitter&, const roles::Release&) {}
void print(Emitter&, const roles::Issue&) {}

/// A statement that stands for several instructions shows itself above them.
template <typename Node>
void print(Emitter& e, const Node& s) {
  emit(e, s);
}

bool is_explained(const roles::StmtNode& node) {
  return std::holds_alternative<roles::TmaLoad>(node) || std::holds_alternative<roles::TmaStore>(node) ||
         std::holds_alternative<roles::CpAsync>(node) || std::holds_alternative<roles::Wgmma>(node) ||
         std::holds_alternative<roles::Mma>(node) || std::holds_alternative<roles::LdMatrix>(node) ||
         std::holds_alternative<roles::StMatrix>(node) || std::holds_alternative<roles::RowReduce>(node) ||
         std::holds_alternative<roles::LaneReduce>(node) || std::holds_alternative<roles::LoadTensor>(node) ||
         std::holds_alternative<roles::StoreTensor>(node) || std::holds_alternative<roles::LoadShared>(node) ||
         std::holds_alternative<roles::StoreShared>(node) || std::holds_alternative<roles::PutPiece>(node);
}

}  // namespace

void comment(Emitter& e, const roles::Stmt& stmt) {
  std::string text = roles::print(stmt);
  e.line("// " + text.substr(0, text.find('\n')));
}

namespace {

/// Fragments of the wgmma instructions from a fence to the commit behind it.
std::vector<roles::Fragment> operands_behind(const roles::Body& body, std::size_t fence) {
  std::vector<roles::Fragment> found;
  bool committed = false;
  auto add = [&](const roles::Fragment& fragment) {
    if (std::find(found.begin(), found.end(), fragment) == found.end()) found.push_back(fragment);
  };
  auto look = [&](const roles::Stmt& stmt) {
    committed = committed || std::holds_alternative<roles::WgmmaCommit>(stmt.node);
    const auto* wgmma = std::get_if<roles::Wgmma>(&stmt.node);
    if (wgmma == nullptr || committed) return;
    add(wgmma->acc.fragment);
    if (const auto* a = std::get_if<roles::FragmentRef>(&wgmma->a)) add(a->fragment);
  };
  for (std::size_t i = fence + 1; i < body.size() && !committed; ++i) roles::walk({body[i]}, look);
  return found;
}

}  // namespace

void emit_body(Emitter& e, const roles::Body& body) {
  std::size_t outer = e.accumulators.size();
  const Loc around = e.origin;
  for (std::size_t at = 0; at < body.size(); ++at) {
    const roles::StmtRef& stmt = body[at];
    e.origin = stmt->origin;
    if (const auto* fence = std::get_if<roles::Fence>(&stmt->node); fence && fence->kind == roles::FenceKind::wgmma)
      e.fenced = operands_behind(body, at);
    if (const auto* task = std::get_if<roles::Issue>(&stmt->node)) {
      e.unsupported(stmt->loc, fmt::format("the task \"{}\" is not printed to CUDA", task->task),
                    "write the instructions that do it in its place");
    }
    if (is_explained(stmt->node)) comment(e, *stmt);
    std::visit([&](const auto& node) { print(e, node); }, stmt->node);
  }
  e.origin = around;
  e.accumulators.resize(outer);  // those of this body end with it
}

}  // namespace plait::emit::cuda
