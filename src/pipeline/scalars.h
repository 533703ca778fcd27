#pragma once

#include <set>

#include "analysis/interval.h"
#include "roles/builder.h"

namespace plait::pipeline {

using roles::build::Value;
using roles::build::Values;

/// Scalar expressions of the tile program in a role program. Index arithmetic is i64 in the tile language; it becomes
/// i32, which is what the device computes fast, wherever the result is proved to fit.
class Scalars {
 public:
  /// Extents up to this are computed with in 32 bits; require() states it for each that was.
  static constexpr std::int64_t kMostExtent = 2146435071;  // 2^31 - 2^20 - 1

  explicit Scalars(const ir::Kernel& kernel);

  /// What a variable of the tile program is called in the role being built.
  void bind(const ir::Var& var, const Value& value) { values_.insert_or_assign(var.get(), value); }
  void add_let(const ir::Let& let);
  /// Loop variables and conditions hold until the scope that is open at the time ends.
  void add_loop(const ir::For& loop);
  void assume(const ir::ExprRef& cond, bool holds);

  /// An open scope: what was bound and assumed inside is forgotten at its end.
  class Scope {
   public:
    explicit Scope(Scalars& of) : of_(of), domain_(of.domain_), values_(of.values_) {}
    ~Scope() {
      of_.domain_ = std::move(domain_);
      of_.values_ = std::move(values_);
      of_.ranges_.reset();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Scalars& of_;
    analysis::Domain domain_;
    std::unordered_map<const ir::VarDecl*, Value> values_;
  };

  using Element = std::function<Value(const ir::Load&, const Values& index)>;
  /// The same value; an i64 may come as i32. `element` gives the elements of buffers.
  Value convert(const ir::ExprRef& expr, const Element& element = {});
  /// As an i32; a value beyond 32 bits becomes the nearest one.
  Value index(const ir::ExprRef& expr, const Element& element = {});

  /// What gives the elements of buffers where convert() is not told.
  void elements(Element element) { element_ = std::move(element); }
  /// Whether the expression is proved to be at least that, or below the other one.
  bool is_least(const ir::ExprRef& expr, std::int64_t least);
  bool is_below(const ir::ExprRef& expr, const ir::ExprRef& end) const;

  const std::set<ir::Var>& narrowed() const { return narrowed_; }

  /// While it lives, what is not proved to fit in 32 bits is made to: a launch for which it does not is refused.
  class Demanding {
   public:
    explicit Demanding(Scalars& of) : of_(of), before_(of.demanding_) { of_.demanding_ = true; }
    ~Demanding() { of_.demanding_ = before_; }
    Demanding(const Demanding&) = delete;
    Demanding& operator=(const Demanding&) = delete;

   private:
    Scalars& of_;
    bool before_;
  };
  /// Conditions over dims that the launch has to check.
  const std::vector<ir::ExprRef>& demands() const { return demands_; }
  const analysis::Domain& domain() const { return domain_; }

 private:
  bool fits(const ir::ExprRef& expr);
  struct Reach {
    ir::ExprRef least, most;
  };
  std::optional<Reach> reach(const ir::ExprRef& expr);
  std::optional<Reach> reach(const ir::Var& var);
  bool demand(const ir::ExprRef& expr);
  Value binary(const ir::ExprRef& expr, const ir::Binary& node, const Element& element);
  ir::ExprRef divided(const ir::ExprRef& expr, const ir::Binary& node) const;
  Value cast(const ir::ExprRef& expr, const ir::Cast& node, const Element& element);
  Value variable(const ir::Var& var);

  Element element_;
  analysis::Domain domain_;
  std::unique_ptr<analysis::Ranges> ranges_;  ///< of domain_, made when asked for
  std::unordered_map<const ir::VarDecl*, Value> values_;
  bool demanding_ = false;
  std::vector<ir::ExprRef> demands_;
  std::set<ir::Var> narrowed_;  ///< dims that were computed with in 32 bits
};

}  // namespace plait::pipeline
