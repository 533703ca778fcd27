#include <fmt/format.h>

#include "interp/handlers.h"
#include "interp/machine.h"

namespace plait::interp {

namespace {

bool report_outside(Machine& m, const ElementCode& code, std::size_t dim) {
  const std::int64_t extent = m.storage(code.reach).extents[dim];
  return m.fail(code.reach.site, Rule::out_of_bounds,
                fmt::format("index {} of dimension {} of {} is outside [0, {})", m.integer(code.index[dim]), dim,
                            m.describe(code.reach.buffer), extent),
                code.reach.buffer);
}

/// The element a program names; false after reporting an index outside its extent.
bool locate(Machine& m, const ElementCode& code, Place& place) {
  const Storage& storage = m.storage(code.reach);
  const bool on_chip = storage.on_chip();
  for (std::size_t d = 0; d < code.index.size(); ++d) {
    const std::int64_t index = m.integer(code.index[d]);
    if (static_cast<std::uint64_t>(index) >= static_cast<std::uint64_t>(storage.extents[d])) {
      return report_outside(m, code, d);
    }
    place.number += index * storage.steps[d];
    if (!on_chip) place.offset += index * storage.strides[d];
  }
  return true;
}

const ElementCode& element(Machine& m, const Instr& in) { return m.program().elements[static_cast<std::size_t>(in.a)]; }

}  // namespace

const Instr* run_load(Machine& m, const Instr& in) {
  const ElementCode& code = element(m, in);
  Place place;
  if (!locate(m, code, place)) return nullptr;
  return m.read(code.reach, {place, 1, 1, 1}, &m.reg(in.dst)) ? &in + 1 : nullptr;
}

const Instr* run_store(Machine& m, const Instr& in) {
  const ElementCode& code = element(m, in);
  Place place;
  if (!locate(m, code, place)) return nullptr;
  return m.write(code.reach, {place, 1, 1, 1}, &m.reg(in.b)) ? &in + 1 : nullptr;
}

const Instr* run_atomic(Machine& m, const Instr& in) {
  const ElementCode& code = element(m, in);
  Place place;
  if (!locate(m, code, place)) return nullptr;
  const auto op = static_cast<ir::AtomicOp>(in.c);
  return m.update(code.reach, place, op, m.reg(in.b)) ? &in + 1 : nullptr;
}

const Instr* run_alloc(Machine& m, const Instr& in) {
  m.renew(in.a);
  return &in + 1;
}

}  // namespace plait::interp
