#include "sim/shadow.h"

namespace plait::sim {

namespace {

bool same_source(const Access& a, const Access& b) { return a.component == b.component && a.cluster == b.cluster; }

}  // namespace

Shadow::Shadow(std::int64_t bytes, std::int64_t granule, bool written)
    : granule_(granule), initialised_(written), cells_(static_cast<std::size_t>((bytes + granule - 1) / granule)) {}

void Shadow::add_reader(Cell& cell, const Access& access) {
  if (cell.read.clock == 0 || same_source(cell.read, access)) {
    cell.read = access;
    return;
  }
  if (cell.more < 0) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::int32_t>(more_.size()));
      more_.emplace_back();
    }
    cell.more = free_.back();
    free_.pop_back();
  }
  std::vector<Access>& readers = more_[static_cast<std::size_t>(cell.more)];
  for (Access& reader : readers) {
    if (!same_source(reader, access)) continue;
    reader = access;
    return;
  }
  readers.push_back(access);
}

void Shadow::clear_readers(Cell& cell) {
  cell.read = {};
  if (cell.more < 0) return;
  more_[static_cast<std::size_t>(cell.more)].clear();
  free_.push_back(cell.more);
  cell.more = -1;
}

/// Atomics need not meet each other: the last one stays behind the next, for plain accesses to be compared with, where
/// that has not seen it.
void Shadow::keep_atomic(Cell& cell, const OrderOf& order) {
  std::vector<Access> kept;
  auto keep = [&](const Access& earlier) {
    if (earlier.clock != 0 && earlier.atomic && order(earlier) != Order::before) kept.push_back(earlier);
  };
  keep(cell.write);
  keep(cell.read);
  if (cell.more >= 0) {
    for (const Access& reader : more_[static_cast<std::size_t>(cell.more)]) keep(reader);
  }
  clear_readers(cell);
  for (const Access& earlier : kept) add_reader(cell, earlier);
}

bool Shadow::read(std::int64_t begin, std::int64_t bytes, const Access& access, const OrderOf& order,
                  Conflict& conflict) {
  bool fine = true;
  for (std::int64_t i = begin / granule_; i * granule_ < begin + bytes; ++i) {
    Cell& cell = cells_[static_cast<std::size_t>(i)];
    if (fine && cell.write.clock == 0 && !initialised_) {
      conflict = {{}, false, true, Order::racing, i * granule_};
      fine = false;
    } else if (fine && cell.write.clock != 0) {
      auto before = [&](const Access& earlier, bool writes) {
        Order found = !writes && !earlier.atomic ? Order::before : order(earlier);
        if (found == Order::before) return true;
        conflict = {earlier, true, false, found, i * granule_};
        return false;
      };
      fine = before(cell.write, true) && (cell.read.clock == 0 || before(cell.read, false));
      for (std::size_t r = 0; fine && cell.more >= 0 && r < more_[static_cast<std::size_t>(cell.more)].size(); ++r)
        fine = before(more_[static_cast<std::size_t>(cell.more)][r], false);
    }
    add_reader(cell, access);
  }
  return fine;
}

bool Shadow::check_write(Cell& cell, const Access& access, const OrderOf& order, Conflict& conflict) {
  auto clashes = [&](const Access& earlier, bool writes) {
    if (earlier.clock == 0 || (earlier.atomic && access.atomic)) return false;
    Order found = order(earlier);
    if (found == Order::before) return false;
    conflict = {earlier, writes, false, found, 0};
    return true;
  };
  if (clashes(cell.write, true) || clashes(cell.read, false)) return false;
  if (cell.more < 0) return true;
  for (const Access& reader : more_[static_cast<std::size_t>(cell.more)]) {
    if (clashes(reader, false)) return false;
  }
  return true;
}

bool Shadow::write(std::int64_t begin, std::int64_t bytes, const Access& access, const OrderOf& order,
                   Conflict& conflict) {
  bool fine = true;
  for (std::int64_t i = begin / granule_; i * granule_ < begin + bytes; ++i) {
    Cell& cell = cells_[static_cast<std::size_t>(i)];
    if (fine && !check_write(cell, access, order, conflict)) {
      conflict.byte = i * granule_;
      fine = false;
    }
    if (access.atomic) {
      keep_atomic(cell, order);
    } else {
      clear_readers(cell);
    }
    cell.write = access;
  }
  return fine;
}

bool Shadow::is_written(std::int64_t byte) const {
  return initialised_ || cells_[static_cast<std::size_t>(byte / granule_)].write.clock != 0;
}

}  // namespace plait::sim
