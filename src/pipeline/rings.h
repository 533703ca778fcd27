#pragma once

#include <algorithm>
#include <map>

#include "pipeline/touched.h"
#include "place/placed.h"
#include "plan/schedule.h"

namespace plait::pipeline {

/// Tiles that are loaded ahead of their readers, in `depth` slots, and read together: by a role for another, or by the
/// threads that read them.
struct Ring {
  std::string name;
  std::vector<ir::Buffer> buffers;
  std::int64_t depth = 1;
  std::int64_t least = 1;  ///< slots without which the roles would wait for each other
  bool planned = false;    ///< the schedule gives the depth
  bool own = false;        ///< the threads that compute load them, by cp.async
  bool gathered = false;   ///< those of the role that loads do, row by row

  std::int64_t slot_bytes() const;  ///< of shared memory, each tile aligned
};

/// The rings of a kernel and which of them each statement has to do with.
class Rings {
 public:
  /// Precondition: there are no obstacles.
  static Result<Rings> find(const place::Placed& placed, const plan::Schedule& schedule);
  /// Loads of tiles that are used before they are loaded, or by statements that do not see the load, and why.
  static std::map<const ir::Stmt*, std::string> obstacles(const place::Placed& placed, const plan::Schedule& schedule);

  const std::vector<Ring>& all() const { return rings_; }
  /// The ring that a copy fills; none for other statements.
  std::optional<std::size_t> filled_by(const ir::Stmt& stmt) const;
  /// The same of copies that another role makes, or that the threads that compute make.
  std::optional<std::size_t> filled_by_loader(const ir::Stmt& stmt) const;
  std::optional<std::size_t> filled_by_reader(const ir::Stmt& stmt) const;
  /// Whether all are filled by the threads that read them, so that there is no role that loads.
  bool all_own() const;
  /// Whether the role that loads gathers rows.
  bool any_gathered() const;
  /// Rings whose tiles a statement or its body reads, ascending.
  const std::vector<std::size_t>& read_by(const ir::Stmt& stmt) const;
  bool reads(const ir::Stmt& stmt, std::size_t ring) const;
  /// Rings that a statement or its body fills, ascending.
  const std::vector<std::size_t>& filled_within(const ir::Stmt& stmt) const;
  /// Whether another role loads within the statement or its body.
  bool loads_within(const ir::Stmt& stmt) const;
  std::optional<std::size_t> ring_of(const ir::Buffer& buffer) const;
  void need(std::size_t ring, std::int64_t least) { rings_[ring].least = std::max(rings_[ring].least, least); }
  void deepen(std::size_t ring, std::int64_t depth) { rings_[ring].depth = depth; }

 private:
  friend class RingFinder;
  std::vector<Ring> rings_;
  std::unordered_map<const ir::BufferDecl*, std::size_t> of_;
  std::unordered_map<const ir::Stmt*, std::vector<std::size_t>> reads_, fills_;
  std::unordered_map<const ir::Stmt*, std::size_t> filled_;
};

/// Whether the statement is a copy or a gather that is made ahead of its readers, and whether TMA makes it.
bool is_load(const ir::Stmt& stmt, const place::Placed& placed);
bool is_tma_load(const ir::Stmt& stmt, const place::Placed& placed);
/// Whether it gathers rows of a tensor, by the threads of the role that loads.
bool is_gather(const ir::Stmt& stmt, const place::Placed& placed);

}  // namespace plait::pipeline
