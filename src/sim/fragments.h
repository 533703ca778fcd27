#pragma once

#include "sim/exec.h"

/// The registers of fragments.
namespace plait::sim {

inline const FragmentCode& fragment_code_of(const Warp& w, int fragment) {
  return w.code.fragments[static_cast<std::size_t>(fragment)];
}
/// The fragment's elements, of all threads of the replica.
FragmentStore& fragment_store(Warp& w, int fragment);

/// An ordinary statement uses rows [row, row + rows) of a fragment: no wgmma may be at work on them, and the next one
/// needs a fence. Reports otherwise.
void use_registers(Machine& m, Warp& w, int fragment, std::int64_t row, std::int64_t rows);
inline void use_registers(Machine& m, Warp& w, int fragment) {
  use_registers(m, w, fragment, 0, fragment_code_of(w, fragment).rows);
}

/// Where element number `element` of a lane lies in the store.
inline std::size_t element_slot(const Warp& w, const FragmentCode& f, int lane, std::int32_t element) {
  return static_cast<std::size_t>(f.base[static_cast<std::size_t>(w.index * kLanes + lane)] +
                                  f.offset[static_cast<std::size_t>(element)]);
}

inline Value get(const FragmentCode& f, const FragmentStore& store, std::size_t slot) {
  return f.floats ? interp::float_value(store.narrow[slot]) : store.wide[slot];
}
inline void put(const FragmentCode& f, FragmentStore& store, std::size_t slot, Value value) {
  if (f.floats) {
    store.narrow[slot] = static_cast<float>(value.f);
  } else {
    store.wide[slot] = value;
  }
  store.content[slot] = Content::value;
}
/// Reports an element that was never written; false then.
bool check_written(Machine& m, const Warp& w, int fragment, const FragmentStore& store, std::size_t slot, int lane);
void report_unwritten(Machine& m, std::int32_t site, const std::string& who, const FragmentCode& f, Content content);

}  // namespace plait::sim
