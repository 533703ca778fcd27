#include <algorithm>
#include <unordered_set>

#include "ir/visit.h"
#include "roles/visit.h"
#include "sim/compiler.h"

namespace plait::sim {
namespace {

using Slot = std::function<Reg(const ir::BufferDecl&, const std::vector<ir::ExprRef>&)>;

/// Collects the data that statements read and write.
class Data {
 public:
  /// `number`: of a buffer, less than 0: of no account. `slot`: which copy of a tile indices name, where that is known.
  Data(std::function<int(const ir::BufferDecl*)> number, Slot slot)
      : number_(std::move(number)), slot_(std::move(slot)) {}

  void statement(const roles::Stmt& stmt) {
    roles::Visitor look;
    look.smem = [&](const roles::SmemRef& ref) { read(ref); };
    look.fragment_at = [&](const roles::FragmentRef& ref) { read(ref); };
    look.fragment = [&](const roles::Fragment& fragment) { read(fragment); };
    look.tensor = [&](const roles::TensorRef& ref) { read(ref); };
    look.expr = [&](const ir::ExprRef& expr) {
      ir::walk(expr, [&](const ir::Expr& e) {
        if (const auto* load = std::get_if<ir::Load>(&e.node)) add(out_.reads, *load->buffer, load->index);
      });
    };
    roles::visit(stmt, look);  // what is written counts as read, too: it only makes the list longer
    written(stmt);
  }
  Touched take() { return std::move(out_); }

 private:
  void read(const roles::SmemRef& ref) { add(out_.reads, *ref.smem->buffer, ref.index); }
  void read(const roles::FragmentRef& ref) { add(out_.reads, *ref.fragment->buffer, {}); }
  void read(const roles::Fragment& fragment) { add(out_.reads, *fragment->buffer, {}); }
  void read(const roles::TensorRef& ref) { add(out_.reads, *ref.tensor, {}); }
  void write(const roles::SmemRef& ref) { add(out_.writes, *ref.smem->buffer, ref.index); }
  void write(const roles::FragmentRef& ref) { add(out_.writes, *ref.fragment->buffer, {}); }
  void write(const roles::Fragment& fragment) { add(out_.writes, *fragment->buffer, {}); }
  void write(const roles::TensorRef& ref) { add(out_.writes, *ref.tensor, {}); }

  void add(std::vector<Touch>& to, const ir::BufferDecl& buffer, const std::vector<ir::ExprRef>& index) {
    Touch touch{number_(&buffer), {}};
    if (touch.data < 0) return;
    touch.slot = slot_(buffer, index);
    auto same = [&](const Touch& t) { return t.data == touch.data && t.slot.at == touch.slot.at; };
    if (std::none_of(to.begin(), to.end(), same)) to.push_back(touch);
  }

  void written(const roles::Stmt& stmt) {
    std::visit(Overload{
                   [&](const roles::Each& n) {
                     for (const roles::ElementStore& store : n.stores) write(store.fragment);
                   },
                   [&](const roles::RowReduce& n) { write(n.dst); },
                   [&](const roles::LaneReduce& n) { write(n.fragment); },
                   [&](const roles::LoadTensor& n) { write(n.dst); },
                   [&](const roles::LoadShared& n) { write(n.dst); },
                   [&](const roles::StoreTensor& n) { write(n.dst); },
                   [&](const roles::StoreShared& n) { write(n.dst); },
                   [&](const roles::PutTensor& n) { write(n.dst); },
                   [&](const roles::PutShared& n) { write(n.dst); },
                   [&](const roles::PutPiece& n) { write(n.dst); },
                   [&](const roles::Atomic& n) { write(n.dst); },
                   [&](const roles::AtomicShared& n) { write(n.dst); },
                   [&](const roles::Mma& n) { write(n.acc); },
                   [&](const roles::LdMatrix& n) { write(n.dst); },
                   [&](const roles::StMatrix& n) { write(n.dst); },
                   [&](const roles::Wgmma& n) { write(n.acc); },
                   [&](const roles::TmaLoad& n) { write(n.dst); },
                   [&](const roles::BulkLoad& n) { write(n.dst); },
                   [&](const roles::CpAsync& n) { write(n.dst); },
                   [&](const roles::TmaStore& n) { write(roles::TensorRef{n.map->tensor, {}, {}}); },
                   [&](const roles::BulkStore& n) { write(n.dst); },
                   [&](const roles::Issue& n) {
                     for (const roles::TaskOperand& operand : n.writes)
                       std::visit([&](const auto& ref) { write(ref); }, operand);
                   },
                   [](const auto&) {},
               },
               stmt.node);
  }

  std::function<int(const ir::BufferDecl*)> number_;
  Slot slot_;
  Touched out_;
};

bool has_task(const roles::Body& body) {
  bool found = false;
  roles::walk(body, [&](const roles::Stmt& stmt) { found = found || std::holds_alternative<roles::Issue>(stmt.node); });
  return found;
}

/// Variables and fragments that a body defines.
std::unordered_set<const void*> defined_in(const roles::Body& body) {
  std::unordered_set<const void*> out;
  roles::walk(body, [&](const roles::Stmt& stmt) {
    roles::Visitor look;
    look.define = [&](const ir::Var& var) { out.insert(var.get()); };
    roles::visit(stmt, look);
    if (const auto* def = std::get_if<roles::DefFragment>(&stmt.node)) out.insert(def->fragment->buffer.get());
  });
  return out;
}

/// Whether a body changes variables that are defined outside of it.
bool sets_others(const roles::Body& body) {
  std::unordered_set<const void*> own = defined_in(body);
  bool found = false;
  roles::walk(body, [&](const roles::Stmt& stmt) {
    const auto* set = std::get_if<roles::Set>(&stmt.node);
    found = found || (set != nullptr && !own.contains(set->var.get()));
  });
  return found;
}

bool uses_any(const ir::ExprRef& expr, const std::unordered_set<const void*>& vars) {
  bool found = false;
  ir::walk(expr, [&](const ir::Expr& e) {
    const auto* ref = std::get_if<ir::VarRef>(&e.node);
    found = found || (ref != nullptr && vars.contains(ref->var.get())) || std::holds_alternative<ir::Load>(e.node);
  });
  return found;
}

}  // namespace

int Compiler::data_number(const ir::BufferDecl* buffer) {
  return data_.try_emplace(buffer, static_cast<int>(data_.size())).first->second;
}

void Compiler::find_tasks() { has_tasks_ = has_task(role_.body); }

/// What the statement's own data are waited for, in a role with tasks.
void Compiler::touch(const roles::Stmt& stmt) {
  if (!has_tasks_ || in_task_ || std::holds_alternative<roles::DefFragment>(stmt.node)) return;
  Data data([&](const ir::BufferDecl* buffer) { return data_number(buffer); },
            [](const ir::BufferDecl&, const std::vector<ir::ExprRef>&) { return Reg{}; });
  data.statement(stmt);
  out_.instrs.back().touched = data.take();
}

/// A register of its own, which lives through the task.
Reg Compiler::kept(const ir::ExprRef& expr) {
  Reg from = value(expr), to = allocate(from.per_lane);
  push(act::Assign{to, from, expr->type});
  free_temporaries();
  return to;
}

/// The data of a task, before its body. Leading indices of a tile tell its copies apart.
Touched Compiler::data_of(const roles::Stmt& stmt, const roles::Issue& node) {
  constexpr std::size_t kCopies = 3;  // dims from which on the first counts copies
  std::unordered_set<const void*> own = defined_in(node.body);
  std::unordered_map<const ir::Expr*, Reg> slots;
  Data data([&](const ir::BufferDecl* buffer) { return own.contains(buffer) ? -1 : data_number(buffer); },
            [&](const ir::BufferDecl& buffer, const std::vector<ir::ExprRef>& index) {
              if (buffer.scope != ir::Scope::shared || index.size() < kCopies || uses_any(index.front(), own))
                return Reg{};
              auto [it, fresh] = slots.try_emplace(index.front().get());
              if (fresh) it->second = kept(index.front());
              return it->second;
            });
  data.statement(stmt);
  roles::walk(node.body, [&](const roles::Stmt& inner) { data.statement(inner); });
  return data.take();
}

void Compiler::task(const roles::Stmt& stmt, const roles::Issue& node) {
  act::TaskEnd end;
  end.unit = node.unit;
  if (node.latency != nullptr) end.latency = kept(node.latency);
  if (node.ii != nullptr) end.ii = kept(node.ii);
  end.touched = data_of(stmt, node);
  push(act::TaskBegin{node.latency == nullptr, -1});
  std::size_t begin = out_.instrs.size() - 1;
  in_task_ = true;
  body(node.body);
  in_task_ = false;
  if (node.latency != nullptr && !sets_others(node.body))
    std::get<act::TaskBegin>(out_.instrs[begin].action).end = here();
  push(std::move(end));
}

}  // namespace plait::sim
