#include "interp/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace plait::interp {

namespace {

/// Elements of all on-chip buffers together that a run will hold (12 bytes each, and more where accesses are watched).
constexpr std::int64_t max_on_chip_elements = std::int64_t{1} << 26;

void set_extents(Storage& storage, std::vector<std::int64_t> extents) {
  storage.extents = std::move(extents);
  storage.steps.assign(storage.extents.size(), 1);
  for (std::size_t d = storage.extents.size(); d-- > 1;) storage.steps[d - 1] = storage.steps[d] * storage.extents[d];
}

/// Product of the extents, at most `limit` + 1.
std::int64_t count_elements(const std::vector<std::int64_t>& extents, std::int64_t limit) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) {
    if (extent > limit / count) return limit + 1;
    count *= extent;
  }
  return count;
}

template <typename T>
double read_as(const void* data, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return static_cast<double>(value);
}

template <typename T>
void write_as(void* data, std::int64_t index, double value) {
  const T narrow = static_cast<T>(value);
  std::memcpy(static_cast<char*>(data) + index * static_cast<std::int64_t>(sizeof(T)), &narrow, sizeof(T));
}

}  // namespace

Value load_place(const Storage& storage, const Place& place) {
  if (storage.on_chip()) return storage.values[static_cast<std::size_t>(place.number)];
  if (storage.type == ir::DType::f32) return float_value(read_as<float>(storage.data, place.offset));
  if (storage.type == ir::DType::f64) return float_value(read_as<double>(storage.data, place.offset));
  if (ir::is_float(storage.type)) return float_value(ir::load_float(storage.type, storage.data, place.offset));
  return int_value(ir::load_int(storage.type, storage.data, place.offset));
}

void store_place(Storage& storage, const Place& place, Value value) {
  if (storage.on_chip()) {
    storage.values[static_cast<std::size_t>(place.number)] = value;
    storage.written[static_cast<std::size_t>(place.number)] = storage.life;
  } else if (storage.type == ir::DType::f32) {
    write_as<float>(storage.data, place.offset, value.f);
  } else if (storage.type == ir::DType::f64) {
    write_as<double>(storage.data, place.offset, value.f);
  } else if (ir::is_float(storage.type)) {
    ir::store_float(storage.type, storage.data, place.offset, value.f);
  } else {
    ir::store_int(storage.type, storage.data, place.offset, value.i);
  }
}

Machine::Machine(const ir::Kernel& kernel, const ir::BoundArgs& args, const Options& options)
    : kernel_(kernel), args_(args), options_(options), program_(make_program(kernel)) {}

Diagnostics Machine::run() {
  if (!prepare(args_)) return findings_;
  blocks_ = 1;
  for (const std::int64_t extent : args_.grid) blocks_ *= extent;
  for (block_ = 0; block_ < blocks_; ++block_) {
    std::int64_t rest = block_;
    for (std::size_t axis = 0; axis < args_.grid.size(); ++axis) {
      reg(program_.grid[axis]).i = rest % args_.grid[axis];
      rest /= args_.grid[axis];
    }
    if (!within_limits(-1) || !run_block()) return findings_;
  }
  if (options_.whole_outputs) check_outputs();
  return findings_;
}

bool Machine::look_at_limits(std::int32_t site) {
  constexpr std::uint64_t steps_between_looks = 1 << 16;
  if (options_.max_steps != 0 && steps_ > options_.max_steps)
    return fail(site, Rule::step_limit, fmt::format("more than {} steps", options_.max_steps));
  next_look_ = steps_ + steps_between_looks;
  if (options_.max_steps != 0) next_look_ = std::min(next_look_, options_.max_steps + 1);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
  if (options_.max_seconds <= 0 || spent.count() <= options_.max_seconds) return true;
  return fail(site, Rule::time_limit, fmt::format("the interpreter has run for more than {} s", options_.max_seconds));
}

bool Machine::check_outputs() {
  constexpr std::size_t shown = 4;
  for (std::size_t n = 0; n < storages_.size(); ++n) {
    const Storage& storage = storages_[n];
    if (!storage.code->out) continue;
    const auto buffer = static_cast<std::int32_t>(n);
    std::vector<std::string> names;
    std::int64_t missing = 0;
    const std::int64_t elements = count_elements(storage.extents, std::numeric_limits<std::int64_t>::max() - 1);
    for (std::int64_t number = 0; number < elements; ++number) {
      if (storage.tables[0].written(number)) continue;
      if (++missing <= static_cast<std::int64_t>(shown)) names.push_back(element_name(buffer, number));
    }
    if (missing == 0) continue;
    findings_.error(Rule::output_unwritten, storage.code->decl->loc,
                    fmt::format("{} elements of {} were not written: {}{}", missing, describe(buffer),
                                fmt::join(names, ", "), missing > static_cast<std::int64_t>(shown) ? ", …" : ""));
  }
  return findings_.empty();
}

bool Machine::run_block() {
  LevelState& grid = level(0);
  grid.now = static_cast<std::uint32_t>(std::min<std::int64_t>(block_ + 1, TouchTable::largest_number));
  const Instr* instr = program_.code.data();
  while (instr != nullptr) {
    ++steps_;
    instr = instr->run(*this, *instr);
  }
  return findings_.empty();
}

bool Machine::prepare(const ir::BoundArgs& args) {
  registers_ = program_.registers;
  for (std::size_t n = 0; n < program_.dims.size(); ++n) reg(program_.dims[n]).i = args.dims[n];
  for (std::size_t n = 0; n < program_.scalars.size(); ++n) reg(program_.scalars[n]) = from_scalar(args.scalars[n]);
  loops_.resize(program_.loops.size());
  levels_.resize(static_cast<std::size_t>(program_.levels));
  storages_.resize(program_.buffers.size());
  std::int64_t budget = max_on_chip_elements;
  for (std::size_t n = 0; n < storages_.size(); ++n) {
    Storage& storage = storages_[n];
    storage.code = &program_.buffers[n];
    storage.type = storage.code->decl->type;
    if (storage.on_chip()) {
      if (!allocate(storage, budget)) return false;
    } else {
      bind_parameter(storage, args.tensors[static_cast<std::size_t>(storage.code->param)]);
    }
    const std::int64_t elements =
        count_elements(storage.extents, std::int64_t{1} << 61);  // a table's pages are made when touched
    for (std::int32_t l = 0; l <= storage.code->last_level; ++l) storage.tables.emplace_back(elements);
  }
  return true;
}

void Machine::bind_parameter(Storage& storage, const ir::TensorView& view) {
  set_extents(storage, view.shape);
  storage.strides = view.strides;
  storage.data = view.data;
}

bool Machine::allocate(Storage& storage, std::int64_t& budget) {
  const ir::BufferDecl& decl = *storage.code->decl;
  std::vector<std::int64_t> extents = ir::static_shape(decl);
  const std::int64_t elements = count_elements(extents, budget);
  if (elements > budget) {
    findings_.error(Rule::memory_limit, decl.loc,
                    fmt::format("{}[{}] and the buffers before it have more than {} elements, which is the most the "
                                "interpreter holds for a block",
                                decl.name, fmt::join(extents, ", "), max_on_chip_elements));
    return false;
  }
  budget -= elements;
  set_extents(storage, std::move(extents));
  try {
    storage.values.resize(static_cast<std::size_t>(elements));
    storage.written.resize(static_cast<std::size_t>(elements));
  } catch (const std::bad_alloc&) {
    findings_.error(Rule::out_of_memory, decl.loc,
                    fmt::format("there is no memory for the {} elements of {}", elements, decl.name),
                    "make the buffer smaller");
    return false;
  }
  return true;
}

void Machine::renew(std::int32_t buffer) {
  Storage& storage = storages_[static_cast<std::size_t>(buffer)];
  if (++storage.life == 0) {
    std::fill(storage.written.begin(), storage.written.end(), 0);
    storage.life = 1;
  }
}

void Machine::begin_parallel(std::int32_t number, std::int32_t loop) {
  LevelState& state = level(number);
  state.loop = loop;
  if (state.last_used > TouchTable::largest_number / 2) {
    for (Storage& storage : storages_) {
      if (static_cast<std::size_t>(number) < storage.tables.size())
        storage.tables[static_cast<std::size_t>(number)].clear();
    }
    state.last_used = 0;
  }
  state.first = state.last_used + 1;
  next_iteration(number);
}

void Machine::next_iteration(std::int32_t number) {
  LevelState& state = level(number);
  // A loop of more iterations than there are numbers runs on with its last number, and is watched no more.
  if (state.last_used < TouchTable::largest_number) ++state.last_used;
  state.now = state.last_used;
}

bool Machine::is_written(const Reach& reach, const Storage& storage, std::int64_t number) const {
  if (storage.on_chip()) return storage.written[static_cast<std::size_t>(number)] == storage.life;
  return !program_.buffers[static_cast<std::size_t>(reach.buffer)].out || storage.tables[0].written(number);
}

bool Machine::check_written(const Reach& reach, const Storage& storage, std::int64_t number) {
  if (is_written(reach, storage, number)) return true;
  return fail(reach.site, Rule::unwritten_read, element_name(reach.buffer, number) + " is read, but was never written",
              reach.buffer);
}

bool Machine::check_local(const Reach& reach) {
  if (!reach.forbidden_write) return true;
  return fail(reach.site, Rule::local_in_parallel,
              describe(reach.buffer) + " is local and defined outside the parallel loop that writes it", reach.buffer);
}

bool Machine::note(const Reach& reach, std::int64_t number, Access access) {
  Storage& buffer = storage(reach);
  for (std::int32_t l = reach.first_level; l <= reach.last_level; ++l) {
    const LevelState& running = level(l);
    const std::uint32_t other =
        buffer.tables[static_cast<std::size_t>(l)].note(number, access, running.now, running.first);
    if (other != 0) return report_overlap(reach, number, access, l, other);
  }
  return true;
}

bool Machine::read(const Reach& reach, const Row& row, Value* out) {
  const Storage& buffer = storage(reach);
  Place place = row.first;
  for (std::int64_t n = 0; n < row.count; ++n) {
    if (!check_written(reach, buffer, place.number) || !note(reach, place.number, Access::read)) return false;
    out[n] = load_place(buffer, place);
    place.number += row.number_step;
    place.offset += row.offset_step;
  }
  return true;
}

bool Machine::write(const Reach& reach, const Row& row, const Value* in) {
  if (!check_local(reach)) return false;
  Storage& buffer = storage(reach);
  Place place = row.first;
  for (std::int64_t n = 0; n < row.count; ++n) {
    if (!note(reach, place.number, Access::write)) return false;
    store_place(buffer, place, in[n]);
    place.number += row.number_step;
    place.offset += row.offset_step;
  }
  return true;
}

bool Machine::update(const Reach& reach, const Place& place, ir::AtomicOp op, Value operand) {
  Storage& buffer = storage(reach);
  if (!check_local(reach) || !check_written(reach, buffer, place.number)) return false;
  if (!note(reach, place.number, Access::atomic)) return false;
  const ir::BinaryOp step = op == ir::AtomicOp::add   ? ir::BinaryOp::add
                            : op == ir::AtomicOp::max ? ir::BinaryOp::max
                                                      : ir::BinaryOp::min;
  store_place(buffer, place, combine(step, buffer.type, load_place(buffer, place), operand));
  return true;
}

}  // namespace plait::interp
