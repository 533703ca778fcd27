#pragma once

#include <functional>
#include <unordered_map>

#include "roles/program.h"

namespace plait::fuse {

/// Copies parts of a role program: every variable, tile and declaration is one of the copy's own, so that a program may
/// hold what another one holds, or the same twice. What is not given another meaning keeps its name.
class Copier {
 public:
  /// The name that a declaration of this name gets in the copy.
  using Rename = std::function<std::string(const std::string&)>;

  // Declarations, each before what uses it
  roles::Var var(const roles::Var& of, const Rename& rename = {});
  ir::Buffer buffer(const ir::Buffer& of, const Rename& rename = {});
  roles::Smem smem(const roles::Smem& of, const Rename& rename, std::optional<std::int64_t> offset);
  /// The tile as often as `count` says, of which statements use the one of the number `which`.
  struct Times {
    std::int64_t count = 1;
    roles::ExprRef which;
  };
  roles::Smem smem(const roles::Smem& of, const Rename& rename, const Times& times);
  roles::Mbar mbar(const roles::Mbar& of, const Rename& rename);
  roles::Channel channel(const roles::Channel& of, const Rename& rename);
  roles::Map map(const roles::Map& of, const Rename& rename);

  /// What stands for a variable that the copy does not define itself.
  void put(const roles::Var& of, roles::ExprRef value) { values_[of.get()] = std::move(value); }
  /// How the names of variables and fragments that bodies define are made; without it they stay.
  void name_locals(Rename rename) { locals_ = std::move(rename); }
  /// What is done with a copied statement; `of` is the statement that it was made of.
  using Change = std::function<roles::StmtNode(const roles::Stmt& of, roles::StmtNode made)>;
  void on_statement(Change change) { change_ = std::move(change); }

  roles::ExprRef expr(const roles::ExprRef& of);
  roles::Body body(const roles::Body& of);

 private:
  friend class Members;
  roles::Fragment fragment(const roles::Fragment& of);
  roles::StmtRef statement(const roles::Stmt& of);
  void choose(const ir::BufferDecl* of, std::vector<roles::ExprRef>& index) const;

  std::unordered_map<const ir::VarDecl*, roles::ExprRef> values_;
  std::unordered_map<const ir::VarDecl*, roles::Var> vars_;
  std::unordered_map<const ir::BufferDecl*, ir::Buffer> buffers_;
  std::unordered_map<const roles::SmemDecl*, roles::Smem> smem_;
  std::unordered_map<const ir::BufferDecl*, roles::ExprRef> chosen_;  ///< of tiles that are there several times: which
  std::unordered_map<const roles::MbarDecl*, roles::Mbar> mbars_;
  std::unordered_map<const roles::ChannelDecl*, roles::Channel> channels_;
  std::unordered_map<const roles::MapDecl*, roles::Map> maps_;
  std::unordered_map<const roles::FragmentDecl*, roles::Fragment> fragments_;
  Rename locals_;
  Change change_;
};

}  // namespace plait::fuse
