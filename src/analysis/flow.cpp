#include "analysis/flow.h"

#include <isl/flow.h>
#include <isl/union_map.h>

#include <algorithm>
#include <string>

#include "analysis/solver.h"
#include "support/result.h"

namespace plait::analysis {

using namespace ir;

namespace {

using IslUnionMap = IslHandle<isl_union_map, isl_union_map_copy, isl_union_map_free>;

constexpr unsigned long max_operations = 1'000'000;

std::string tuple_name(std::size_t access) { return "A" + std::to_string(access); }
std::size_t access_of(isl_map* map, isl_dim_type side) { return std::stoul(isl_map_get_tuple_name(map, side) + 1); }

/// Bounds, strides and guards of the loops between the analysed loop (included) and the access.
std::vector<ExprRef> conditions_of(const LoopAccess& a) {
  std::vector<ExprRef> result;
  for (const DomainVar& v : a.inner.vars) {
    ExprRef var = var_expr(v.var);
    result.push_back(binary_expr(BinaryOp::ge, var, v.begin ? v.begin : int_expr(var->type, 0)));
    if (v.end) result.push_back(binary_expr(BinaryOp::lt, var, v.end));
    auto step = v.step ? small_literal(v.step) : 1;
    if (!step || *step <= 1) continue;
    ExprRef offset = binary_expr(BinaryOp::mod, binary_expr(BinaryOp::sub, var, v.begin), v.step);
    result.push_back(binary_expr(BinaryOp::eq, offset, int_expr(offset->type, 0)));
  }
  result.insert(result.end(), a.inner.conditions.begin(), a.inner.conditions.end());
  return result;
}

bool literal_steps(const LoopAccess& a) {
  return std::all_of(a.inner.vars.begin(), a.inner.vars.end(),
                     [](const DomainVar& v) { return !v.step || small_literal(v.step); });
}

/// The vector without distance in the space of `like`.
IslSet zero(const IslSet& like) {
  IslSet set(isl_set_universe(isl_set_get_space(like.get())));
  auto size = static_cast<unsigned>(isl_set_dim(set.get(), isl_dim_set));
  for (unsigned d = 0; d < size; ++d) set = IslSet(isl_set_fix_si(set.take(), isl_dim_set, d, 0));
  return set;
}

std::vector<Var> vars_of(const LoopAccess& a) {
  std::vector<Var> vars;
  for (const Step& step : a.path) {
    if (step.var) vars.push_back(step.var);
  }
  return vars;
}

/// All accesses over one set of symbols, as relations { A<n>[loop variables] -> B[elements] } with dims, outer
/// variables and opaque values that do not change during the loop as parameters.
class FlowProblem {
 public:
  FlowProblem(const std::vector<LoopAccess>& accesses, const For& loop, const Domain& outer)
      : accesses_(accesses), loop_(loop), domain_(everything(accesses, outer)), solver_(domain_, max_operations) {}

  std::optional<std::vector<FlowEdge>> solve();

 private:
  struct Relation {
    IslSet points;
    bool affine = false;  ///< the indices are
    bool whole = false;   ///< exactly what is touched: such a write hides what was written before
  };

  static Domain everything(const std::vector<LoopAccess>& accesses, const Domain& outer);
  void collect_inner();
  void make_elements();
  Relation relation(std::size_t n);
  IslSet surroundings(const std::vector<Relation>& relations);
  IslSet element_points(const LoopAccess& a);
  IslUnionMap as_map(IslSet set, std::size_t n);
  isl_multi_id* tuple(const std::string& name, const std::vector<IslId>& ids);
  std::vector<IslId> instance_ids(const LoopAccess& a);
  bool is_shared(const Symbol& symbol);
  bool involves_hidden(const IslSet& set, const LoopAccess& a);
  std::vector<IslId> hidden_ids(const LoopAccess& a);
  std::string schedule() const;
  void add_edges(DependenceKind kind, const IslUnionMap& sinks, const IslUnionMap& must, const IslUnionMap& may,
                 const IslUnionMap& kill);
  void add_edge(DependenceKind kind, IslMap dependence);
  FlowEdge measure(FlowEdge edge, IslSet deltas) const;

  const std::vector<LoopAccess>& accesses_;
  const For& loop_;
  Domain domain_;
  Solver solver_;
  std::vector<const VarDecl*> inner_;  ///< variables and lets whose value belongs to one iteration
  std::vector<IslId> elements_;
  std::vector<bool> affine_;
  std::vector<FlowEdge> edges_;
  bool failed_ = false;
};

Domain FlowProblem::everything(const std::vector<LoopAccess>& accesses, const Domain& outer) {
  Domain domain = outer;
  std::unordered_set<const VarDecl*> known;
  for (const LoopAccess& a : accesses) {
    for (const auto& let : a.inner.lets) {
      if (known.insert(let.first.get()).second) domain.lets.push_back(let);
    }
  }
  return domain;
}

void FlowProblem::collect_inner() {
  for (const LoopAccess& a : accesses_) {
    for (const auto& v : a.inner.vars) inner_.push_back(v.var.get());
    for (const auto& let : a.inner.lets) inner_.push_back(let.first.get());
  }
}

void FlowProblem::make_elements() {
  std::size_t count = accesses_[0].access.ranges.size() + accesses_[0].private_vars;
  Translator& t = solver_.begin_question();
  for (std::size_t i = 0; i < count; ++i) {
    t.fresh();
    elements_.push_back(t.symbols().back().id);
  }
}

/// Whether a symbol stands for the same value in all iterations.
bool FlowProblem::is_shared(const Symbol& symbol) {
  auto inner = [&](const VarDecl* var) { return std::find(inner_.begin(), inner_.end(), var) != inner_.end(); };
  if (symbol.var) return !inner(symbol.var.get());
  if (!symbol.opaque || !symbol.stable) return false;
  return !any_of_tree(symbol.opaque, [&](const Expr& e) {
    const auto* ref = std::get_if<VarRef>(&e.node);
    return ref != nullptr && inner(ref->var.get());
  });
}

std::vector<IslId> FlowProblem::instance_ids(const LoopAccess& a) {
  std::vector<IslId> ids;
  for (const Var& var : vars_of(a)) ids.push_back(solver_.translator().id(var));
  return ids;
}

/// Symbols with a value of their own in each iteration that are neither loop variables nor elements.
std::vector<IslId> FlowProblem::hidden_ids(const LoopAccess& a) {
  std::vector<IslId> known = instance_ids(a), hidden;
  known.insert(known.end(), elements_.begin(), elements_.end());
  for (const Symbol& symbol : solver_.translator().symbols()) {
    bool is_known = std::any_of(known.begin(), known.end(), [&](auto& id) { return id.get() == symbol.id.get(); });
    if (!is_known && !is_shared(symbol)) hidden.push_back(symbol.id);
  }
  return hidden;
}

bool FlowProblem::involves_hidden(const IslSet& set, const LoopAccess& a) {
  std::vector<IslId> hidden = hidden_ids(a);
  return std::any_of(hidden.begin(), hidden.end(), [&](const IslId& id) { return involves(set, id); });
}

/// The elements of the ranges that lie inside the buffer, in terms of the loop variables.
IslSet FlowProblem::element_points(const LoopAccess& a) {
  Translator& t = solver_.translator();
  t.next_time();
  IslSet set = t.universe();
  auto meet = [&](isl_set* with) { set = IslSet(isl_set_intersect(set.take(), with)); };
  std::vector<Var> vars = vars_of(a);
  for (std::size_t i = 0; i < a.private_vars; ++i) {
    meet(isl_pw_aff_eq_set(t.of_id(elements_[i]).take(), t.var(vars[i]).take()));
  }
  for (std::size_t d = 0; d < a.access.ranges.size(); ++d) {
    IslPwAff element = t.of_id(elements_[a.private_vars + d]);
    meet(isl_pw_aff_nonneg_set(element.copy()));
    meet(isl_pw_aff_lt_set(element.copy(), t.value(a.access.buffer->shape[d]).take()));
    const Range& range = a.access.ranges[d];
    if (!range.begin) continue;
    auto [begin, extent] = t.index(range);
    meet(isl_pw_aff_ge_set(element.copy(), begin.copy()));
    meet(isl_pw_aff_lt_set(element.take(), isl_pw_aff_add(begin.take(), extent.take())));
  }
  return set;
}

isl_multi_id* FlowProblem::tuple(const std::string& name, const std::vector<IslId>& ids) {
  isl_ctx* ctx = solver_.context();
  isl_id_list* list = isl_id_list_alloc(ctx, static_cast<int>(ids.size()));
  for (const IslId& id : ids) list = isl_id_list_add(list, id.copy());
  isl_space* space = isl_space_params_alloc(ctx, 0);
  isl_id* name_id = isl_id_alloc(ctx, name.c_str(), nullptr);
  space = isl_space_add_named_tuple_id_ui(space, name_id, static_cast<unsigned>(ids.size()));
  return isl_multi_id_from_id_list(space, list);
}

IslUnionMap FlowProblem::as_map(IslSet set, std::size_t n) {
  IslSet elements(isl_set_unbind_params(set.take(), tuple("B", elements_)));
  isl_multi_id* instance = tuple(tuple_name(n), instance_ids(accesses_[n]));
  return IslUnionMap(isl_union_map_from_map(isl_set_unbind_params_insert_domain(elements.take(), instance)));
}

FlowProblem::Relation FlowProblem::relation(std::size_t n) {
  const LoopAccess& a = accesses_[n];
  std::vector<ExprRef> conditions = conditions_of(a);
  for (const ExprRef& cond : conditions) solver_.push(cond);
  Translator& t = solver_.translator();
  IslSet points = t.universe(), elements = element_points(a);
  for (const ExprRef& cond : conditions) {
    t.next_time();
    points = IslSet(isl_set_intersect(points.take(), t.holds(cond).take()));
  }
  Relation result;
  result.affine = elements && !involves_hidden(elements, a);
  result.whole = a.access.certain && result.affine && literal_steps(a) && !involves_hidden(points, a);
  points = IslSet(isl_set_intersect(points.take(), elements.take()));
  IslSet facts = t.facts([&](const Symbol& symbol) { return !is_shared(symbol); });
  points = IslSet(isl_set_intersect(points.take(), facts.take()));
  for (const IslId& id : hidden_ids(a)) points = IslSet(isl_set_project_out_param_id(points.take(), id.copy()));
  result.points = IslSet(isl_set_drop_unused_params(points.take()));
  for (std::size_t i = 0; i < conditions.size(); ++i) solver_.pop();
  return result;
}

/// What holds around the loop, said of the shared symbols that the relations speak of.
IslSet FlowProblem::surroundings(const std::vector<Relation>& relations) {
  Translator& t = solver_.translator();
  IslSet set = solver_.condition_points();
  set = IslSet(isl_set_intersect(set.take(), t.facts([&](const Symbol& s) { return is_shared(s); }).take()));
  for (const Symbol& symbol : t.symbols()) {
    bool used = is_shared(symbol) && std::any_of(relations.begin(), relations.end(), [&](const Relation& r) {
                  return isl_set_find_dim_by_id(r.points.get(), isl_dim_param, symbol.id.get()) >= 0;
                });
    if (!used) set = IslSet(isl_set_project_out_param_id(set.take(), symbol.id.copy()));
  }
  return set;
}

/// The serial order: numbers in bodies and loop variables from the outside in; an access reads before it writes.
std::string FlowProblem::schedule() const {
  std::size_t length = 0;
  for (const LoopAccess& a : accesses_) length = std::max(length, a.path.size());
  std::string text;
  for (std::size_t n = 0; n < accesses_.size(); ++n) {
    std::string vars, times;
    std::size_t count = 0;
    for (const Step& step : accesses_[n].path) {
      std::string name = step.var ? "i" + std::to_string(count++) : std::to_string(step.number);
      if (step.var) vars += (vars.empty() ? "" : ", ") + name;
      times += name + ", ";
    }
    for (std::size_t i = accesses_[n].path.size(); i < length; ++i) times += "0, ";
    times += accesses_[n].access.touch == Touch::write ? "1" : "0";
    text += (n == 0 ? "" : "; ") + tuple_name(n) + "[" + vars + "] -> [" + times + "]";
  }
  return "{ " + text + " }";
}

FlowEdge FlowProblem::measure(FlowEdge edge, IslSet deltas) const {
  deltas = IslSet(isl_set_project_out_all_params(deltas.take()));
  bool single = loop_.axes.size() == 1;
  auto step = single && loop_.axes[0].step ? small_literal(loop_.axes[0].step) : 1;
  if (!single || !step) {
    IslSet rest(isl_set_subtract(deltas.copy(), zero(deltas).take()));
    edge.exact = isl_set_is_empty(rest.get()) == isl_bool_true;
    if (edge.exact) edge.distance = 0;
    return edge;
  }
  auto min = isl_number(isl_set_dim_min_val(deltas.copy(), 0)), max = isl_number(isl_set_dim_max_val(deltas.copy(), 0));
  edge.exact = min && min == max;
  bool known = edge.exact || (affine_[edge.from] && affine_[edge.to]);
  // isl's least value may lie below that of the integers in the set; what is behind is reached in a later iteration.
  bool ahead = accesses_[edge.from].statement < accesses_[edge.to].statement;
  if (min && known) edge.distance = std::max<std::int64_t>(*min / *step, ahead ? 0 : 1);
  return edge;
}

void FlowProblem::add_edge(DependenceKind kind, IslMap dependence) {
  FlowEdge edge{kind, access_of(dependence.get(), isl_dim_in), access_of(dependence.get(), isl_dim_out), {}, false};
  auto axes = static_cast<unsigned>(loop_.axes.size());
  for (isl_dim_type side : {isl_dim_in, isl_dim_out}) {
    auto size = static_cast<unsigned>(isl_map_dim(dependence.get(), side));
    dependence = IslMap(isl_map_project_out(dependence.take(), side, axes, size - axes));
    dependence = IslMap(isl_map_reset_tuple_id(dependence.take(), side));
  }
  IslSet deltas(isl_map_deltas(dependence.take()));
  if (accesses_[edge.from].statement == accesses_[edge.to].statement) {
    deltas = IslSet(isl_set_subtract(deltas.copy(), zero(deltas).take()));
  }
  isl_bool empty = isl_set_is_empty(deltas.get());
  if (empty == isl_bool_error) failed_ = true;
  if (empty == isl_bool_false) edges_.push_back(measure(edge, std::move(deltas)));
}

void FlowProblem::add_edges(DependenceKind kind, const IslUnionMap& sinks, const IslUnionMap& must,
                            const IslUnionMap& may, const IslUnionMap& kill) {
  isl_union_map* order = isl_union_map_read_from_str(solver_.context(), schedule().c_str());
  isl_union_access_info* info = isl_union_access_info_from_sink(sinks.copy());
  info = isl_union_access_info_set_must_source(info, must.copy());
  info = isl_union_access_info_set_may_source(info, may.copy());
  info = isl_union_access_info_set_kill(info, kill.copy());
  info = isl_union_access_info_set_schedule_map(info, order);
  isl_union_flow* flow = isl_union_access_info_compute_flow(info);
  IslUnionMap found(isl_union_flow_get_may_dependence(flow));
  isl_union_flow_free(flow);
  auto visit = [](isl_map* map, void* user) {
    auto& [self, what] = *static_cast<std::pair<FlowProblem*, DependenceKind>*>(user);
    self->add_edge(what, IslMap(map));
    return isl_stat_ok;
  };
  std::pair<FlowProblem*, DependenceKind> user{this, kind};
  if (!found || isl_union_map_foreach_map(found.get(), visit, &user) != isl_stat_ok) failed_ = true;
}

std::optional<std::vector<FlowEdge>> FlowProblem::solve() {
  collect_inner();
  make_elements();
  IslUnionMap none(isl_union_map_empty_ctx(solver_.context()));
  IslUnionMap reads = none, must = none, may = none;
  std::vector<Relation> relations;
  for (std::size_t n = 0; n < accesses_.size(); ++n) relations.push_back(relation(n));
  IslSet around = surroundings(relations);
  for (std::size_t n = 0; n < accesses_.size(); ++n) {
    Relation& r = relations[n];
    affine_.push_back(r.affine);
    IslSet points(isl_set_intersect(r.points.take(), around.copy()));
    IslUnionMap& to = accesses_[n].access.touch == Touch::read ? reads : (r.whole ? must : may);
    to = IslUnionMap(isl_union_map_union(to.take(), as_map(std::move(points), n).take()));
  }
  IslUnionMap writes(isl_union_map_union(must.copy(), may.copy()));
  add_edges(DependenceKind::flow, reads, must, may, none);
  add_edges(DependenceKind::anti, writes, none, reads, must);
  add_edges(DependenceKind::output, writes, must, may, none);
  if (failed_) return std::nullopt;
  return std::move(edges_);
}

}  // namespace

std::optional<std::vector<FlowEdge>> flow_edges(const std::vector<LoopAccess>& accesses, const For& loop,
                                                const Domain& outer) {
  return FlowProblem(accesses, loop, outer).solve();
}

}  // namespace plait::analysis
