#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ir/build.h"
#include "ir/visit.h"
#include "layout/role_layout.h"
#include "roles/arena.h"
#include "roles/live.h"
#include "roles/print.h"
#include "roles/verify_parts.h"
#include "support/result.h"

namespace plait::roles {
namespace {

/// Whether two maps put the same elements into the same places of the same threads.
bool alike(const layout::FragmentMap& a, const layout::FragmentMap& b) {
  if (a == b) return true;
  if (a.threads() != b.threads() || a.elements_per_thread() != b.elements_per_thread() || a.rows() != b.rows() ||
      a.columns() != b.columns())
    return false;
  for (std::int64_t thread = 0; thread < a.threads(); ++thread) {
    if (a.coord(thread, 0) != b.coord(thread, 0)) return false;
  }
  for (std::int64_t element = 0; element < a.elements_per_thread(); ++element) {
    if (a.coord(0, element) != b.coord(0, element)) return false;
  }
  return true;
}

/// Looks at one role; every replica is the same to it.
class Elements {
 public:
  Elements(const Check& check, const Role* role) : check_(check), role_(role) {}

  void run(const Body& body) {
    define(body);
    if (!sound_ || role_ == nullptr) return;
    registers();
    walk(body, [&](const Stmt& stmt) {
      stmt_ = &stmt;
      std::visit([&](const auto& s) { check(s); }, stmt.node);
    });
  }

 private:
  void error(Rule rule, const Loc& part, std::string message, std::string fix = {}) {
    check_.diags.error(rule, loc_of(part, *stmt_), std::move(message), std::move(fix));
  }
  std::int64_t threads() const { return replica_threads(*role_); }
  /// Computed once a fragment.
  const layout::FragmentMap& map_of(const Fragment& fragment) {
    auto it = maps_.find(fragment);
    if (it == maps_.end()) it = maps_.emplace(fragment, layout::fragment_map(*fragment, threads())).first;
    return it->second;
  }
  const layout::FragmentMap& rows_of(const Fragment& fragment) {
    auto it = rows_.find(fragment);
    if (it == rows_.end()) it = rows_.emplace(fragment, layout::rows_map(map_of(fragment))).first;
    return it->second;
  }

  void define(const Body& body);
  void registers();
  bool defined(const DefFragment& s, const Loc& loc);
  void element(const Each& each, const Fragment& fragment, const std::vector<ExprRef>& index, const Loc& loc);

  void check(const Each& s);
  void check(const RowReduce& s);
  void check(const LaneReduce& s);
  void check(const LoadTensor& s);
  void check(const StoreTensor& s) { tensor(s.src, s.dst.tensor, s.dst.loc); }
  void check(const LoadShared& s) { tensor(s.dst, s.src.smem->buffer, s.src.loc); }
  void check(const StoreShared& s) { tensor(s.src, s.dst.smem->buffer, s.dst.loc); }
  template <typename Other>
  void check(const Other&) {}
  /// A fragment and the tensor or tile it goes to or comes from.
  void tensor(const Fragment& fragment, const ir::Buffer& other, const Loc& loc);

  const Check& check_;
  const Role* role_;
  const Stmt* stmt_ = nullptr;
  bool sound_ = true;
  std::map<const ir::BufferDecl*, Fragment> fragments_;
  std::map<Fragment, layout::FragmentMap> maps_, rows_;
};

void Elements::define(const Body& body) {
  roles::walk(body, [&](const Stmt& stmt) {
    const auto* def = std::get_if<DefFragment>(&stmt.node);
    if (def != nullptr && defined(*def, stmt.loc)) fragments_[def->fragment->buffer.get()] = def->fragment;
  });
}

void Elements::registers() {
  std::int64_t budget = role_->regs.value_or(launch_registers(check_.program, check_.limits));
  budget = std::min<std::int64_t>(budget, check_.limits.thread_registers);
  const Pressure most = pressure(*role_);
  if (most.registers == 0 || most.registers + kOtherRegisters <= budget) return;
  std::vector<std::string> parts;
  for (const Fragment& fragment : most.fragments)
    parts.push_back(fmt::format("`{}` {}", fragment->buffer->name, fragment_registers(*fragment, threads())));
  check_.diags.error(
      Rule::fragment_registers, role_->loc,
      fmt::format("the fragments of role `{}` take {} registers at one time, {} with {} for everything else",
                  role_->name, most.registers, most.registers + kOtherRegisters, kOtherRegisters),
      fmt::format("a thread of the role has {}, and there live at one time {}: make them smaller, or spread them over "
                  "more warps",
                  budget, fmt::join(parts, ", ")));
}

bool Elements::defined(const DefFragment& s, const Loc& loc) {
  const Loc& at = s.fragment->loc.known() ? s.fragment->loc : loc;
  std::string what = fmt::format("`{}`", s.fragment->buffer->name);
  if (role_ == nullptr) {
    sound_ = false;
    check_.diags.error(Rule::fragment_shape, at, what + " is a fragment, and fragments belong to roles");
    return false;
  }
  bool ok = clean(check_, Rule::fragment_shape, at, what, layout::fragment_error(*s.fragment, threads()));
  sound_ = sound_ && ok;
  return ok;
}

void Elements::check(const Each& s) {
  for (const ElementStore& store : s.stores) {
    element(s, store.fragment, store.index, stmt_->loc);
    ir::walk(store.value, [&](const ir::Expr& x) {
      const auto* load = std::get_if<ir::Load>(&x.node);
      if (load == nullptr) return;
      auto it = fragments_.find(load->buffer.get());
      if (it != fragments_.end()) element(s, it->second, load->index, x.loc);
    });
  }
}

/// `fragment[index]` within an each.
void Elements::element(const Each& each, const Fragment& fragment, const std::vector<ExprRef>& index, const Loc& loc) {
  const std::string &name = fragment->buffer->name, &domain = each.domain->buffer->name;
  bool row = fragment->kind == FragmentKind::rows && each.domain->kind != FragmentKind::rows;
  bool column = fragment->kind == FragmentKind::columns && each.domain->kind != FragmentKind::columns;
  std::vector<ir::Var> wanted = each.vars;
  if (row) wanted = {each.vars.front()};
  if (column) wanted = {each.vars.back()};
  bool exact = index.size() == wanted.size();
  for (std::size_t d = 0; d < wanted.size() && exact; ++d) {
    const auto* ref = std::get_if<ir::VarRef>(&index[d]->node);
    exact = ref != nullptr && ref->var == wanted[d];
  }
  if (!exact) {
    std::string coordinates;
    for (std::size_t d = 0; d < wanted.size(); ++d) coordinates += (d == 0 ? "" : ", ") + wanted[d]->name;
    return error(Rule::fragment_element, loc,
                 fmt::format("`{}` is accessed at [{}]: a thread has only the elements at its own coordinates", name,
                             values_text(index)),
                 fmt::format("write {}[{}]", name, coordinates));
  }
  const layout::FragmentMap& own = map_of(each.domain);
  if (alike(map_of(fragment), row ? rows_of(each.domain) : column ? layout::columns_map(own) : own)) return;
  error(
      Rule::fragment_alike, loc,
      fmt::format("`{}` ({}) does not lie as `{}` ({}) does", name, text_of(*fragment), domain, text_of(*each.domain)));
}

void Elements::check(const RowReduce& s) {
  const std::string &dst = s.dst->buffer->name, &src = s.src->buffer->name;
  if (s.dst->kind != FragmentKind::rows || s.src->buffer->shape.size() != 2) {
    return error(Rule::reduce_operand, {}, fmt::format("row_reduce goes from `{}` to `{}`", src, dst),
                 fmt::format("the source has two dimensions; declare the destination as `rows of {}`", src));
  }
  if (!alike(map_of(s.dst), rows_of(s.src)))
    return error(Rule::fragment_alike, {}, fmt::format("`{}` does not have the rows of `{}`", dst, src),
                 fmt::format("declare it as `rows of {}`", src));
  if (s.dst->buffer->type == s.src->buffer->type) return;
  error(Rule::reduce_operand, {},
        fmt::format("`{}` is of {}, and `{}` of {}", dst, ir::dtype_name(s.dst->buffer->type), src,
                    ir::dtype_name(s.src->buffer->type)),
        "give both the same type");
}

void Elements::check(const LaneReduce& s) {
  if (s.lanes >= 2 && s.lanes <= kWarp && (s.lanes & (s.lanes - 1)) == 0) return;
  error(Rule::reduce_operand, {}, fmt::format("lane_reduce over {} lanes", s.lanes), "write 2, 4, 8, 16 or 32");
}

void Elements::check(const LoadTensor& s) {
  tensor(s.dst, s.src.tensor, s.src.loc);
  if (s.pad == nullptr || (ir::is_literal(s.pad) && s.pad->type == s.dst->buffer->type)) return;
  error(Rule::vector_access, s.pad->loc,
        fmt::format("`{}` is padded with {}", s.dst->buffer->name, values_text({s.pad})),
        fmt::format("write a literal of {}", ir::dtype_name(s.dst->buffer->type)));
}

void Elements::tensor(const Fragment& fragment, const ir::Buffer& other, const Loc& loc) {
  const ir::BufferDecl& own = *fragment->buffer;
  if (own.shape.size() > other->shape.size()) {
    error(Rule::vector_access, loc,
          fmt::format("`{}` has {} dimensions, and `{}` {}", own.name, own.shape.size(), other->name,
                      other->shape.size()));
  }
  if (own.type == other->type) return;
  error(Rule::vector_access, loc,
        fmt::format("`{}` is of {}, and `{}` of {}", own.name, ir::dtype_name(own.type), other->name,
                    ir::dtype_name(other->type)),
        "load and store do not convert: convert within each");
}

}  // namespace

void check_elements(const Check& check) {
  Elements(check, nullptr).run(check.program.prologue);
  for (const Role& role : check.program.roles) Elements(check, &role).run(role.body);
}

}  // namespace plait::roles
