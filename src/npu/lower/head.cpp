#include <fmt/format.h>

#include "ir/visit.h"
#include "npu/lower/lowering.h"
#include "npu/uses.h"
#include "roles/builtin_names.h"

// The head of the role program, and what is refused before any role is built.
namespace plait::npu {

using namespace ir;

namespace {

std::set<std::string> caller_names(const Kernel& kernel) {
  std::set<std::string> names;
  for (const Param& param : kernel.params) names.insert(param.buffer ? param.buffer->name : param.scalar->name);
  for (const Var& dim : kernel.dims) names.insert(dim->name);
  return names;
}

bool reads_chip(const ExprRef& expr) {
  bool found = false;
  walk(expr, [&](const Expr& e) {
    const auto* load = std::get_if<Load>(&e.node);
    found = found || (load != nullptr && load->buffer->scope != Scope::global);
  });
  return found;
}

}  // namespace

Lowering::Lowering(const Kernel& kernel, const plan::Schedule& schedule, const machine::Device& device)
    : kernel_(kernel),
      schedule_(schedule),
      device_(device),
      homes_(kernel.body),
      stmt_names_(graph::name_statements(kernel)),
      mail_(mail_of(kernel.body, homes_)),
      rows_(kernel, homes_, device),
      b_(kernel.name, device.name),
      scalars_(kernel),
      names_(caller_names(kernel)),
      work_(kernel_, schedule.place.work, nullptr, b_, scalars_, names_),
      elements_(b_, scalars_, names_, diags_,
                [this](const Buffer& buffer, const Values& index) { return place(buffer, index); }) {
  b_.origin(kernel_.loc);
  b_.taken(names_.of_head());
  for (const roles::BuiltinName& builtin : roles::builtin_names()) names_.take((b_.builtins().*builtin.var)->name);
  scalars_.elements([this](const Load& load, const Values& index) { return elements_.read(load.buffer, index); });
}

void Lowering::refuse(const Loc& loc, const std::string& what, const std::string& fix) {
  diags_.error(Rule::place_operation, loc, what, fix);
}

int Lowering::copies_of(const Buffer& buffer) const {
  int most = 1;
  for (const plan::LoopPlan& loop : schedule_.loops) most = std::max(most, loop.copies(buffer->name));
  return most;
}

/// [copies, copies of each vector core, rows, columns]
void Lowering::declare(const Buffer& buffer) {
  std::vector<std::int64_t> shape = static_shape(*buffer);
  if (shape.size() == 1) shape.insert(shape.begin(), 1);
  if (rows_.is_repeated(buffer)) shape.insert(shape.begin(), rows_.cores());
  shape.insert(shape.begin(), copies_of(buffer));
  tiles_[buffer.get()] = b_.smem(names_.in_head(buffer->name), Elements::stored_as(buffer->type), shape);
}

void Lowering::head() {
  work_.declare();
  walk(kernel_.body, [&](const Stmt& stmt) {
    const auto* alloc = std::get_if<Alloc>(&stmt.node);
    if (alloc == nullptr || !uses_of(alloc->buffer, kernel_.body).any()) return;
    if (alloc->buffer->scope == Scope::local) refuse(stmt.loc, "`local` buffers have no placement on an NPU yet");
    buffers_.push_back(alloc->buffer);
    declare(alloc->buffer);
  });
  for (const Mail& mail : mail_) {
    const roles::Smem& tile = tiles_.at(mail.buffer.get());
    std::string name = names_.in_head(mail.buffer->name + "_ring", {"", "_full", "_empty"});
    channels_.push_back(b_.channel(name, copies_of(mail.buffer), {tile}));
  }
  names_.close_head();
}

/// A tensor that one kind of core writes is no other's: nothing orders their accesses.
void Lowering::check_tensors() {
  struct Touch {
    std::set<Core> reads, writes;
    Loc loc;
  };
  std::map<const BufferDecl*, Touch> tensors;
  auto note = [&](const Buffer& buffer, Core core, bool writes, const Loc& loc) {
    if (buffer->scope != Scope::global) return;
    Touch& touch = tensors[buffer.get()];
    (writes ? touch.writes : touch.reads).insert(core);
    touch.loc = loc;
  };
  walk(kernel_.body, [&](const Stmt& stmt) {
    Core core = core_of(stmt, homes_);
    if (const auto* op = std::get_if<TileOp>(&stmt.node)) {
      for (std::size_t i = 0; i < op->operands.size(); ++i)
        note(op->operands[i].buffer, core, op_info(op->kind).effects[i] != Effect::read, stmt.loc);
    }
    if (const auto* store = std::get_if<Store>(&stmt.node)) note(store->buffer, Core::vector, true, stmt.loc);
    if (const auto* atomic = std::get_if<AtomicElement>(&stmt.node)) note(atomic->buffer, Core::vector, true, stmt.loc);
    for_each_expr(stmt, [&](const ExprRef& root) {
      walk(root, [&](const Expr& e) {
        const auto* load = std::get_if<Load>(&e.node);
        if (load != nullptr) note(load->buffer, Core::vector, false, stmt.loc);
      });
    });
  });
  for (const auto& [tensor, touch] : tensors) {
    std::set<Core> all = touch.reads;
    all.insert(touch.writes.begin(), touch.writes.end());
    if (!touch.writes.empty() && all.size() > 1)
      refuse(touch.loc,
             fmt::format("the cube core and vector cores both access `{}`, which one of them writes", tensor->name),
             "let one of them do it: move results through a fragment that `parallel` code uses");
  }
}

/// What comes from a buffer on chip is known to the vector cores alone.
void Lowering::check_computed() {
  auto is_computed = [&](const ExprRef& root) {
    bool found = reads_chip(root);
    walk(root, [&](const Expr& e) {
      const auto* ref = std::get_if<VarRef>(&e.node);
      found = found || (ref != nullptr && computed_.contains(ref->var.get()));
    });
    return found;
  };
  walk(kernel_.body, [&](const Stmt& stmt) {
    if (const auto* let = std::get_if<Let>(&stmt.node)) {
      if (is_computed(let->value)) computed_.insert(let->var.get());
      return;
    }
    const auto* nest = std::get_if<For>(&stmt.node);
    bool leaf = nest != nullptr && nest->kind == LoopKind::parallel;
    bool controls =
        !leaf && (nest != nullptr || std::holds_alternative<If>(stmt.node) || std::holds_alternative<While>(stmt.node));
    bool of_cube = std::holds_alternative<TileOp>(stmt.node) && core_of(stmt, homes_) == Core::cube;
    if (!of_cube && !(controls && has_part(stmt, Core::cube, homes_))) return;
    for_each_expr(stmt, [&](const ExprRef& root) {
      if (is_computed(root))
        refuse(stmt.loc, "the cube core would have to know a value that vector cores compute",
               "compute it from tensors and scalars, or keep products out of what depends on it");
    });
  });
}

/// What a schedule may say that means nothing here.
void Lowering::check_schedule() {
  for (const plan::Role& role : schedule_.place.roles) {
    if (role.name != "aic" && role.name != "aiv")
      refuse(role.at.loc, fmt::format("the role `{}`: those of an NPU are `aic` and `aiv`", role.name));
    if (role.regs) refuse(role.at.loc, "registers of a role: cores of an NPU have no such share");
  }
  for (const plan::Atom& atom : schedule_.place.atoms)
    refuse(atom.at.loc, fmt::format("the instruction of {}: on an NPU the unit says it", graph::text_of(atom.stmt)));
  for (const plan::Staging& staging : schedule_.place.stagings)
    refuse(staging.at.loc, fmt::format("the way of `{}` to a tensor: an NPU has one", staging.buffer));
  for (const plan::LoopPlan& loop : schedule_.loops) {
    for (const plan::Token& token : loop.tokens)
      refuse(token.at.loc, "a token: the vector cores of an NPU work on their rows side by side");
  }
  walk(kernel_.body, [&](const Stmt& stmt) {
    const auto* alloc = std::get_if<Alloc>(&stmt.node);
    if (alloc != nullptr && copies_of(alloc->buffer) > 1) check_versions(kernel_.body, alloc->buffer);
  });
}

/// Which of its copies a buffer's users outside of a loop would mean is not worked out.
void Lowering::check_versions(const Body& body, const Buffer& buffer) {
  for (const StmtRef& stmt : body) {
    auto inner = [&](const Body& of) { check_versions(of, buffer); };
    const auto* loop = std::get_if<For>(&stmt->node);
    if (loop != nullptr && loop->kind != LoopKind::parallel) {
      const plan::LoopPlan* plan = schedule_.find(stmt_names_.at(stmt.get()));
      if (plan == nullptr || plan->copies(buffer->name) == 1) inner(loop->body);
    } else if (const auto* node = std::get_if<If>(&stmt->node)) {
      inner(node->then_body);
      inner(node->else_body);
    } else if (const auto* repeat = std::get_if<While>(&stmt->node)) {
      inner(repeat->body);
    } else if (const auto* task = std::get_if<Task>(&stmt->node)) {
      inner(task->body);
    } else {
      Uses uses = uses_of(buffer, *stmt);
      uses.fills = false;
      if (uses.any())
        refuse(stmt->loc, fmt::format("`{}` has several versions in a loop, and is used outside of it", buffer->name),
               "leave the buffer at one version");
    }
  }
}

bool Lowering::supported() {
  const plan::Work& work = schedule_.place.work;
  bool plain = work.kind == plan::WorkKind::plain || work.kind == plan::WorkKind::persistent;
  if (!plain || work.split_k > 1 || work.cluster_x > 1 || work.cluster_y > 1)
    refuse(schedule_.at.loc.source == nullptr ? kernel_.loc : schedule_.at.loc,
           "NPUs have no work maps other than plain and persistent, without clusters and pieces");
  check_schedule();
  check_tensors();
  check_computed();
  walk(kernel_.body, [&](const Stmt& stmt) {
    const auto* loop = std::get_if<For>(&stmt.node);
    bool persistent = loop != nullptr && loop->kind == LoopKind::persistent;
    std::string_view what = persistent                                    ? "`persistent` loops have"
                            : std::holds_alternative<Break>(stmt.node)    ? "`break` has"
                            : std::holds_alternative<Continue>(stmt.node) ? "`continue` has"
                            : std::holds_alternative<Assert>(stmt.node)   ? "`assert` has"
                            : std::holds_alternative<Print>(stmt.node)    ? "`print` has"
                                                                          : "";
    if (!what.empty()) refuse(stmt.loc, fmt::format("{} no placement on an NPU yet", what));
  });
  return !diags_.has_errors();
}

Result<roles::Program> Lowering::run() {
  if (!supported()) return diags_;
  head();
  for (Core core : {Core::cube, Core::vector}) {
    bool part = false;
    for (const StmtRef& stmt : kernel_.body) part = part || has_part(*stmt, core, homes_);
    if (part) role(core);
  }
  if (diags_.has_errors()) return diags_;
  roles::Program program = b_.build();
  program.params = kernel_.params;
  program.dims = kernel_.dims;
  program.requires_ = kernel_.requires_;
  for (const Var& dim : scalars_.narrowed()) {
    program.requires_.push_back(
        {Value(dim) <= Value(Scalars::kMostExtent), "larger extents take 64-bit arithmetic", kernel_.loc});
  }
  program.loc = kernel_.loc;
  return program;
}

}  // namespace plait::npu
