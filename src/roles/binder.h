#pragma once

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "lang/expressions.h"
#include "roles/program.h"

namespace plait::roles {

/// The statements that are written as `x = f(…)`, by f.
const std::map<std::string, std::string>& defining_forms();

/// Gives the names of a role program's text their meaning. Null operands give null or empty parts, silently: what made
/// them null was reported.
class Binder {
 public:
  explicit Binder(Diagnostics& diags) : names_(diags, defining_forms()), diags_(&diags) {}

  lang::Expressions& names() { return names_; }
  Diagnostics& diags() const { return *diags_; }
  /// Where reports go from now on; gives the former place.
  Diagnostics& report_to(Diagnostics& diags);

  // Declarations: each defines its name.
  void declare(const Smem& smem);
  void declare(const Mbar& mbar);
  void declare(const Map& map);
  void declare(const Channel& channel);
  void declare(const Fragment& fragment);
  /// A variable; `changes`: one that set may change.
  Var declare(const std::string& name, DType type, ir::VarKind kind, const Loc& loc, bool changes = false);

  /// Makes the name of a variable that exists visible here.
  void show(const Var& var) { names_.define(var->name, lang::Scalar{ir::var_ref(var, var->loc), {}}, var->loc); }

  // Values. An integer literal that nothing gives a type is an i32.
  ExprRef value(const syntax::ExprRef& e) { return e == nullptr ? nullptr : settle(raw(e), e->loc); }
  /// The same while literals may still take any type.
  ExprRef raw(const syntax::ExprRef& e);
  ExprRef settle(const ExprRef& e, const Loc& loc);
  ExprRef stored(DType type, const syntax::ExprRef& e);
  std::vector<ExprRef> values(const std::vector<syntax::ExprRef>& list);
  std::optional<std::int64_t> constant(const syntax::ExprRef& e, std::string_view what, std::int64_t least,
                                       std::int64_t most);
  std::vector<std::int64_t> constants(const std::vector<syntax::ExprRef>& list, std::string_view what,
                                      std::int64_t least, std::int64_t most);
  ir::Buffer buffer(const std::string& name, DType type, ir::Scope scope, const std::vector<syntax::ExprRef>& shape,
                    std::int64_t pad, const Loc& loc);

  /// Memory of the launch, whose extents are values of the host; defines the name.
  ir::Buffer workspace(const std::string& name, DType type, const std::vector<syntax::ExprRef>& shape, const Loc& loc);

  // Operands: `NAME` or `NAME[indices]`.
  bool is_tensor(const syntax::ExprRef& e) const;
  Smem smem_of(const syntax::ExprRef& e) const { return found(smems_, e); }
  Fragment fragment_of(const syntax::ExprRef& e) const { return found(fragments_, e); }
  SmemRef smem(const syntax::ExprRef& e);
  MbarRef mbar(const syntax::ExprRef& e);
  ChannelRef channel(const syntax::ExprRef& e);
  bool is_channel(const syntax::ExprRef& e) const { return found(channels_, e) != nullptr; }
  FragmentRef fragment(const syntax::ExprRef& e);
  TensorRef tensor(const syntax::ExprRef& e);
  Mbar mbar_name(const syntax::ExprRef& e);
  Map map_name(const syntax::ExprRef& e);
  Smem smem_name(const syntax::ExprRef& e);
  Fragment fragment_name(const syntax::ExprRef& e);
  std::pair<Map, std::vector<ExprRef>> map_at(const syntax::ExprRef& e);
  ir::Buffer tensor_name(const syntax::ExprRef& e);
  /// The variable that `set NAME` changes; null after a report.
  Var variable(const std::string& name, const Loc& loc);

 private:
  template <typename T>
  using Table = std::unordered_map<const ir::BufferDecl*, T>;

  /// What the base name of `e` stands for.
  ir::Buffer base(const syntax::ExprRef& e) const;
  template <typename T>
  T found(const Table<T>& table, const syntax::ExprRef& e) const {
    ir::Buffer buffer = base(e);
    auto it = table.find(buffer.get());
    return buffer == nullptr || it == table.end() ? nullptr : it->second;
  }
  template <typename T>
  T named(const Table<T>& table, const syntax::ExprRef& e, std::string_view what, std::string_view example);
  std::vector<ExprRef> indices(const syntax::ExprRef& e);
  void bare(const syntax::ExprRef& e, std::string_view what);
  void wrong(const syntax::ExprRef& e, std::string_view what, std::string_view example);
  ExprRef only_index(const syntax::ExprRef& e, std::string_view what);
  /// What a buffer that stands for a name stands for; empty: it is a buffer.
  std::string_view stands_for(const ir::BufferDecl* buffer) const;
  /// A buffer that stands for the name of an mbar, a map or a channel.
  ir::Buffer stand_in(const std::string& name, const Loc& loc);

  lang::Expressions names_;
  Diagnostics* diags_;
  Table<Smem> smems_;
  Table<Fragment> fragments_;
  Table<Mbar> mbars_;
  Table<Map> maps_;
  Table<Channel> channels_;
  std::unordered_set<Var> variables_;
};

}  // namespace plait::roles
