#pragma once

#include "analysis/translate.h"

namespace plait::analysis {

/// Answers questions about one domain. Conditions can be put on top of it for a while. Starts isl only when ranges do
/// not suffice.
class Solver {
 public:
  /// The domain must outlive the solver.
  explicit Solver(const Domain& domain, unsigned long max_operations = 100'000);
  explicit Solver(Domain&&, unsigned long = 0) = delete;

  Truth decide(const ir::ExprRef& cond);
  Bounds bounds(const ir::ExprRef& expr);

  void push(const ir::ExprRef& cond);
  void pop();

  Ranges& ranges() { return ranges_; }
  Translator& translator() { return translator_; }
  /// For questions built from sets: start one, translate, ask.
  Translator& begin_question();
  /// The points of the domain; a superset where conditions could not be expressed.
  IslSet points();
  /// The same without what is known of the symbols by their types and ranges.
  IslSet condition_points();
  isl_ctx* context() const { return ctx_.get(); }
  Truth decide_set(const IslSet& set);
  /// Whether the set is known to hold nowhere in the domain.
  bool impossible(const IslSet& set);
  Bounds bounds_of(const IslPwAff& value);
  /// Whether, whatever the dims and scalars, if `given` holds somewhere in the domain at all then `bad` holds there
  /// too, at least once. Never true for inexact domains.
  bool sure_witness(const IslSet& given, const IslSet& bad);

 private:
  /// The domain itself is the lowest level.
  struct Level {
    ir::ExprRef cond;
    Ranges::State before;
    IslSet points;  ///< set only while this is the top: a translation relies on all conditions then in force
  };
  void meet(IslSet& points, IslSet with);
  void meet_var(IslSet& points, const DomainVar& v);
  void meet_domain(IslSet& points);
  bool is_argument(const ir::ExprRef& expr, int levels = 0);
  bool is_argument(const Symbol& symbol);
  IslSet arguments_of(IslSet set);

  const Domain& domain_;
  Ranges ranges_;
  IslContext ctx_;
  Translator translator_;
  bool incomplete_ = false;  ///< something of the domain was left out for want of time
  std::vector<Level> levels_;
};

/// Whether a parameter matters to a set.
bool involves(const IslSet& set, const IslId& parameter);
/// A value taken from isl, where it is an integer of 64 bits.
std::optional<std::int64_t> isl_number(isl_val* taken);

}  // namespace plait::analysis
