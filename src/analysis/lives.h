#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/kernel.h"

namespace plait::analysis {

/// From one statement to another, by their numbers in the program's order, both included.
struct Life {
  int first = 0, last = 0;
  bool overlaps(const Life& other) const { return first <= other.last && other.first <= last; }
};

/// During which statements of a kernel the contents of its buffers matter. A nest of parallel loops is one statement,
/// and so, to what is used in it, is a pipelined loop, whose iterations overlap. A buffer that is used in another loop
/// lives through all of it, unless every iteration begins by overwriting all of the buffer and nothing outside uses it.
class Lives {
 public:
  explicit Lives(const ir::Kernel& kernel);

  /// Nothing for a buffer that no statement uses.
  std::optional<Life> of(const ir::BufferDecl& buffer) const;
  /// Of what is used in this statement alone.
  Life of(const ir::Stmt& stmt) const;

 private:
  struct Loop {
    Life range;
    bool pipelined = false;
  };
  struct Use {
    int at = 0;
    std::vector<std::size_t> loops;  ///< around it, outermost first
    bool overwrites = false;         ///< all of the buffer, whenever the innermost loop's body is executed
  };
  void body(const ir::Body& body, bool certain);
  void statement(const ir::StmtRef& stmt, bool certain);
  void loop(const ir::Stmt& stmt, const ir::Body& inner, bool pipelined);
  void uses(const ir::Stmt& stmt, bool certain);
  void use(const ir::BufferDecl* buffer, bool overwrites);
  bool begins_anew(const std::vector<Use>& uses, std::size_t loop) const;

  int now_ = 0;
  std::vector<std::size_t> open_;  ///< loops around
  std::vector<Loop> loops_;
  std::map<const ir::BufferDecl*, std::vector<Use>> uses_;
  std::map<const ir::Stmt*, Life> statements_;
};

}  // namespace plait::analysis
