#include "roles/visit.h"

#include "roles/fields.h"

namespace plait::roles {
namespace {

/// Shows one member of a statement to the visitor; an overload a type.
class Member {
 public:
  explicit Member(const Visitor& visitor) : to_(visitor) {}

  void operator()(const ExprRef& e) const {
    if (e != nullptr && to_.expr) to_.expr(e);
  }
  void operator()(const std::vector<ExprRef>& list) const {
    for (const ExprRef& e : list) (*this)(e);
  }
  void operator()(const Var& var) const {
    if (to_.define) to_.define(var);
  }
  void operator()(const std::vector<Var>& vars) const {
    for (const Var& var : vars) (*this)(var);
  }
  void operator()(const SmemRef& ref) const {
    if (to_.smem) to_.smem(ref);
    (*this)(ref.index);
  }
  void operator()(const MbarRef& ref) const {
    if (ref.mbar == nullptr) return;  // a copy on a channel
    if (to_.mbar) to_.mbar(ref);
    (*this)(ref.index);
  }
  void operator()(const ChannelRef& ref) const {
    if (ref.channel == nullptr) return;  // a copy on an mbar
    if (to_.channel) to_.channel(ref);
    (*this)(ref.index);
  }
  void operator()(const FragmentRef& ref) const {
    if (to_.fragment_at) to_.fragment_at(ref);
    (*this)(ref.begin);
  }
  void operator()(const TensorRef& ref) const {
    if (to_.tensor) to_.tensor(ref);
    (*this)(ref.index);
  }
  void operator()(const MatrixOperand& operand) const { std::visit(*this, operand); }
  void operator()(const Fragment& fragment) const {
    if (to_.fragment) to_.fragment(fragment);
  }
  void operator()(const std::vector<Fragment>& fragments) const {
    for (const Fragment& fragment : fragments) (*this)(fragment);
  }
  void operator()(const Map& map) const {
    if (to_.map) to_.map(map);
  }
  void operator()(const Body& body) const {
    if (to_.body) to_.body(body);
  }
  void operator()(const std::vector<ElementStore>& stores) const {
    for (const ElementStore& store : stores) {
      fields(store, [&](const auto&... members) { ((*this)(members), ...); });
    }
  }
  void operator()(const std::vector<TaskOperand>& operands) const {
    for (const TaskOperand& operand : operands) std::visit(*this, operand);
  }
  void operator()(const Mbar&) const {}
  void operator()(const std::string&) const {}
  template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(T) const {}

 private:
  const Visitor& to_;
};

}  // namespace

void visit(const Stmt& stmt, const Visitor& visitor) {
  Member member(visitor);
  std::visit([&](const auto& s) { fields(s, [&](const auto&... members) { (member(members), ...); }); }, stmt.node);
}

void walk(const Body& body, const std::function<void(const Stmt&)>& fn) {
  for (const StmtRef& stmt : body) {
    fn(*stmt);
    Visitor inner;
    inner.body = [&](const Body& nested) { walk(nested, fn); };
    visit(*stmt, inner);
  }
}

void for_each_body(const Program& program, const std::function<void(const Body&)>& fn) {
  fn(program.prologue);
  for (const Role& role : program.roles) fn(role.body);
}

}  // namespace plait::roles
