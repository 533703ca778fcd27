#pragma once

#include <set>
#include <string>

#include "roles/program.h"

namespace plait::fuse {

/// The names of a program: of its head, and of what its bodies define.
struct ProgramNames {
  std::set<std::string> head, local, roles;
};
ProgramNames names_of(const roles::Program& program);

/// Gives out the names of the head of a fused program. Those that both programs use get the name of their program in
/// front: `M` of matmul becomes `matmul_M`.
class HeadNames {
 public:
  HeadNames(const ProgramNames& own, const ProgramNames& other, std::string prefix, std::set<std::string>& taken)
      : own_(own), other_(other), prefix_(std::move(prefix)), taken_(taken) {}

  /// With each of `behind` it is the name of nothing else.
  std::string operator()(const std::string& name, const std::vector<std::string>& behind = {""});

 private:
  bool is_free(const std::string& name, bool as_it_was) const;

  const ProgramNames& own_;
  const ProgramNames& other_;
  std::string prefix_;
  std::set<std::string>& taken_;  ///< given out to either program
};

}  // namespace plait::fuse
