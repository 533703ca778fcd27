#include <fmt/format.h>

#include <algorithm>

#include "emit/cuda/emitter.h"

namespace plait::emit::cuda {

namespace {

/// Whether an instruction issued above, and not awaited yet, uses the fragment.
bool under_way(const Emitter& e, const roles::Fragment& fragment) {
  auto holds = [&](const WgmmaGroup& group) { return std::find(group.begin(), group.end(), fragment) != group.end(); };
  return holds(e.issued) || std::any_of(e.committed.begin(), e.committed.end(), holds);
}

}  // namespace

void emit(Emitter& e, const roles::MbarInit& s) {
  e.needs_sm(80, s.mbar->loc, "an mbarrier");
  std::string init = e.helper("mbar_init");
  std::string name = Emitter::name(s.mbar->name);
  if (s.mbar->size == 1) {
    e.line(fmt::format("{}({}, {});", init, name, s.mbar->count));
    return;
  }
  e.line("#pragma unroll");
  e.line(fmt::format("for (int i = 0; i < {}; ++i) {}({} + i * 8, {});", s.mbar->size, init, name, s.mbar->count));
}

void emit(Emitter& e, const roles::Wait& s) {
  e.needs_sm(kHopper, s.mbar.loc, "waiting on an mbarrier");
  e.line(fmt::format("{}({}, {} & 1);", e.helper("mbar_wait"), mbar_address(e, s.mbar),
                     expr_text(e, s.parity, Level::product)));
}

void emit(Emitter& e, const roles::Arrive& s) {
  if (s.rank) {
    e.needs_sm(kHopper, s.mbar.loc, "an arrival in another block");
    e.line(fmt::format("{}({}, {});", e.helper("mbar_arrive_at"), mbar_address(e, s.mbar), expr_text(e, s.rank)));
    return;
  }
  e.line(fmt::format("{}({});", e.helper("mbar_arrive"), mbar_address(e, s.mbar)));
}

void emit(Emitter& e, const roles::Expect& s) {
  e.needs_sm(kHopper, s.mbar.loc, "expecting bytes");
  e.line(fmt::format("{}({}, {});", e.helper("mbar_expect"), mbar_address(e, s.mbar), expr_text(e, s.bytes)));
}

void emit(Emitter& e, const roles::Fence& s) {
  switch (s.kind) {
    case roles::FenceKind::mbar_init:
      e.line(e.helper("fence_mbar_init") + "();");
      return;
    case roles::FenceKind::proxy_async:
      e.line(e.helper("fence_proxy_async") + "();");
      return;
    case roles::FenceKind::gpu:
      e.line("__threadfence();");
      return;
    case roles::FenceKind::wgmma:
      // What was computed before stays before: else the assembler puts fences of its own behind it.
      for (const roles::Fragment& f : e.fenced.empty() ? e.accumulators : e.fenced)
        if (!under_way(e, f)) e.line(fmt::format("{}({});", e.helper("keep"), Emitter::name(f->buffer->name)));
      e.line(e.helper("wgmma_fence") + "();");
      return;
  }
}

void emit(Emitter& e, const roles::BarrierSync& s) {
  e.line(fmt::format("{}({}, {});", e.helper("barrier_sync"), expr_text(e, s.id), s.threads));
}

void emit(Emitter& e, const roles::BarrierArrive& s) {
  e.line(fmt::format("{}({}, {});", e.helper("barrier_arrive"), expr_text(e, s.id), s.threads));
}

}  // namespace plait::emit::cuda
