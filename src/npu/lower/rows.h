#pragma once

#include <map>
#include <set>

#include "npu/homes.h"

namespace plait::npu {

/// How the vector cores share out the element work of a kernel: each statement by the rows (the first dimension) of
/// what it writes, or done by each of them whole. All or nothing: where one statement allows neither, one core does
/// all.
class Rows {
 public:
  Rows(const ir::Kernel& kernel, const Homes& homes, const machine::Device& device);
  /// Replicas of the role `aiv`.
  int cores() const { return cores_; }
  /// By how many cores the rows of a statement are shared out.
  int shares(const ir::Stmt& stmt) const { return cores_ > 1 && split_.contains(&stmt) ? cores_ : 1; }
  /// Whether each vector core has a copy of its own of the buffer.
  bool is_repeated(const ir::Buffer& buffer) const { return cores_ > 1 && repeated_.contains(buffer.get()); }

 private:
  int cores_ = 1;
  std::set<const ir::Stmt*> split_;
  std::set<const ir::BufferDecl*> repeated_;
};

}  // namespace plait::npu
