#pragma once

#include <functional>

#include "sim/clock.h"

namespace plait::sim {

/// One access: who (a component of its cluster's clocks), when, by which statement.
struct Access {
  Component component = 0;
  Clock clock = 0;        ///< 0: no access
  std::int32_t site = 0;  ///< statement, see Code::sites
  std::uint16_t cluster = 0;
  bool atomic = false;
};

/// How an earlier access stands to a later one.
enum class Order {
  before,    ///< it happened before
  unfenced,  ///< it did, but no proxy fence makes that count
  racing,    ///< nothing orders the two
};
using OrderOf = std::function<Order(const Access& earlier)>;

/// What is wrong with an access.
struct Conflict {
  Access earlier;
  bool earlier_writes = false;
  bool unwritten = false;  ///< a read of bytes that nobody wrote
  Order order = Order::before;
  std::int64_t byte = 0;  ///< where
};

/// For every granule of a memory the last write, and the reads since, so that each access can be compared with those
/// that it may race with.
class Shadow {
 public:
  /// `written`: the memory has contents from the start.
  Shadow(std::int64_t bytes, std::int64_t granule, bool written);

  /// What the records of a memory take.
  static double bytes_for(double bytes, std::int64_t granule) {
    return bytes / static_cast<double>(granule) * sizeof(Cell);
  }

  std::int64_t granule() const { return granule_; }
  /// Records an access to bytes [begin, begin + bytes), whole granules; false with the first conflict in `conflict`.
  bool read(std::int64_t begin, std::int64_t bytes, const Access& access, const OrderOf& order, Conflict& conflict);
  bool write(std::int64_t begin, std::int64_t bytes, const Access& access, const OrderOf& order, Conflict& conflict);
  bool is_written(std::int64_t byte) const;

 private:
  struct Cell {
    Access write;
    Access read;             ///< one reader since the write, or an atomic before it that the write did not see
    std::int32_t more = -1;  ///< further readers, in more_
  };
  bool check_write(Cell& cell, const Access& access, const OrderOf& order, Conflict& conflict);
  void add_reader(Cell& cell, const Access& access);
  void keep_atomic(Cell& cell, const OrderOf& order);
  void clear_readers(Cell& cell);

  std::int64_t granule_;
  bool initialised_;
  std::vector<Cell> cells_;
  std::vector<std::vector<Access>> more_;
  std::vector<std::int32_t> free_;
};

}  // namespace plait::sim
