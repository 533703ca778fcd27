#include "sim/fragments.h"

#include <fmt/format.h>

#include "sim/access.h"

namespace plait::sim {

FragmentStore& fragment_store(Warp& w, int fragment) {
  FragmentStore& store = w.replica->fragments[static_cast<std::size_t>(fragment)];
  if (!store.content.empty()) return store;
  const FragmentCode& f = fragment_code_of(w, fragment);
  auto size = static_cast<std::size_t>(f.size);
  if (f.floats) store.narrow.resize(size);
  if (!f.floats) store.wide.resize(size, interp::int_value(0));
  store.content.resize(size);
  return store;
}

void use_registers(Machine& m, Warp& w, int fragment, std::int64_t row, std::int64_t rows) {
  std::vector<Section>& sections = w.sections[static_cast<std::size_t>(fragment)];
  if (sections.empty()) return;
  for (std::int64_t i = row / 64; i * 64 < row + rows; ++i) {
    Section& section = sections[static_cast<std::size_t>(i)];
    section.touched = true;
    if (section.group <= w.wgmma_awaited) continue;
    Diagnostic& d = m.fail(Rule::sim_locked, w.site,
                           fmt::format("{} by {} uses registers of {} that the wgmma at {} works on: no await of its "
                                       "group stands in between",
                                       m.site(w.site).word, describe_warp(m, w),
                                       fragment_code_of(w, fragment).decl->buffer->name, place_of(m, section.site)));
    m.note(d, section.site, "issued here");
    section.group = 0;  // told once
  }
}

void report_unwritten(Machine& m, std::int32_t site, const std::string& who, const FragmentCode& f, Content content) {
  if (m.told(Rule::sim_unwritten, site)) return;
  const char* what =
      content == Content::none ? "was never written" : "was read from shared memory that nothing had written";
  m.fail(Rule::sim_unwritten, site,
         fmt::format("{} by {} uses an element of {} that {}", m.site(site).word, who, f.decl->buffer->name, what));
}

bool check_written(Machine& m, const Warp& w, int fragment, const FragmentStore& store, std::size_t slot, int lane) {
  if (store.content[slot] == Content::value) return true;
  report_unwritten(m, w.site, describe_thread(m, w.block, w.first_thread + lane), fragment_code_of(w, fragment),
                   store.content[slot]);
  return false;
}

/// A fragment that is defined again, as in a loop, has no values from before.
Step run(Machine& m, Warp& w, const act::DefFragment& a) {
  if (!m.checks()) return Step::next;
  const FragmentCode& f = fragment_code_of(w, a.fragment);
  FragmentStore& store = fragment_store(w, a.fragment);
  for (int lane = 0; lane < kLanes; ++lane) {
    for (std::size_t e = 0; e < f.offset.size(); ++e)
      store.content[element_slot(w, f, lane, static_cast<std::int32_t>(e))] = Content::none;
  }
  return Step::next;
}

}  // namespace plait::sim
