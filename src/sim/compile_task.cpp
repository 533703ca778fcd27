#include <algorithm>

#include "ir/visit.h"
#include "roles/visit.h"
#include "sim/compiler.h"

namespace plait::sim {
namespace {

/// The data that a statement itself reads and writes.
class Data {
 public:
  explicit Data(const std::function<int(const void*)>& number) : number_(number) {}

  Touched of(const roles::Stmt& stmt) {
    writes(stmt);
    roles::Visitor look;
    look.smem = [&](const roles::SmemRef& ref) { read(ref.smem->buffer); };
    look.fragment_at = [&](const roles::FragmentRef& ref) { read(ref.fragment->buffer); };
    look.fragment = [&](const roles::Fragment& fragment) { read(fragment->buffer); };
    look.tensor = [&](const roles::TensorRef& ref) { read(ref.tensor); };
    look.expr = [&](const ir::ExprRef& expr) {
      ir::walk(expr, [&](const ir::Expr& e) {
        if (const auto* load = std::get_if<ir::Load>(&e.node)) read(load->buffer);
      });
    };
    roles::visit(stmt, look);
    return std::move(out_);
  }

 private:
  void read(const ir::Buffer& buffer) { add(out_.reads, buffer); }
  void write(const ir::Buffer& buffer) { add(out_.writes, buffer); }
  void add(std::vector<int>& to, const ir::Buffer& buffer) {
    int number = number_(buffer.get());
    if (std::find(to.begin(), to.end(), number) == to.end()) to.push_back(number);
  }

  /// What is written is read as well, to be on the safe side; tasks' own lists apart.
  void writes(const roles::Stmt& stmt) {
    std::visit(Overload{
                   [&](const roles::Each& n) {
                     for (const roles::ElementStore& store : n.stores) write(store.fragment->buffer);
                   },
                   [&](const roles::RowReduce& n) { write(n.dst->buffer); },
                   [&](const roles::LaneReduce& n) { write(n.fragment->buffer); },
                   [&](const roles::LoadTensor& n) { write(n.dst->buffer); },
                   [&](const roles::LoadShared& n) { write(n.dst->buffer); },
                   [&](const roles::StoreTensor& n) { write(n.dst.tensor); },
                   [&](const roles::StoreShared& n) { write(n.dst.smem->buffer); },
                   [&](const roles::PutTensor& n) { write(n.dst.tensor); },
                   [&](const roles::PutShared& n) { write(n.dst.smem->buffer); },
                   [&](const roles::AtomicAdd& n) { write(n.dst.tensor); },
                   [&](const roles::Mma& n) { write(n.acc->buffer); },
                   [&](const roles::LdMatrix& n) { write(n.dst.fragment->buffer); },
                   [&](const roles::StMatrix& n) { write(n.dst.smem->buffer); },
                   [&](const roles::Wgmma& n) { write(n.acc.fragment->buffer); },
                   [&](const roles::TmaLoad& n) { write(n.dst.smem->buffer); },
                   [&](const roles::BulkLoad& n) { write(n.dst.smem->buffer); },
                   [&](const roles::CpAsync& n) { write(n.dst.smem->buffer); },
                   [&](const roles::TmaStore& n) { write(n.map->tensor); },
                   [&](const roles::BulkStore& n) { write(n.dst.tensor); },
                   [&](const roles::Issue& n) {
                     for (const roles::TaskOperand& operand : n.writes)
                       std::visit([&](const auto& ref) { write(buffer_of(ref)); }, operand);
                   },
                   [](const auto&) {},
               },
               stmt.node);
  }
  static const ir::Buffer& buffer_of(const roles::SmemRef& ref) { return ref.smem->buffer; }
  static const ir::Buffer& buffer_of(const roles::FragmentRef& ref) { return ref.fragment->buffer; }
  static const ir::Buffer& buffer_of(const roles::TensorRef& ref) { return ref.tensor; }

  const std::function<int(const void*)>& number_;
  Touched out_;
};

void join(std::vector<int>& to, const std::vector<int>& from) {
  for (int data : from) {
    if (std::find(to.begin(), to.end(), data) == to.end()) to.push_back(data);
  }
}

bool has_task(const roles::Body& body) {
  bool found = false;
  roles::walk(body, [&](const roles::Stmt& stmt) { found = found || std::holds_alternative<roles::Issue>(stmt.node); });
  return found;
}

}  // namespace

Touched Compiler::touched(const roles::Stmt& stmt) {
  std::function<int(const void*)> number = [&](const void* buffer) {
    return data_.try_emplace(buffer, static_cast<int>(data_.size())).first->second;
  };
  return Data(number).of(stmt);
}

void Compiler::find_tasks() { has_tasks_ = has_task(role_.body); }

/// What the statement's own data are waited for, in a role with tasks.
void Compiler::touch(const roles::Stmt& stmt) {
  if (!has_tasks_ || in_task_ || std::holds_alternative<roles::DefFragment>(stmt.node)) return;
  out_.instrs.back().touched = touched(stmt);
}

void Compiler::task(const roles::Stmt& stmt, const roles::Issue& node) {
  auto kept = [&](const ir::ExprRef& e) {
    if (e == nullptr) return Reg{};
    Reg from = value(e), to = allocate(from.per_lane);  // outlives the statement that computes it
    push(act::Assign{to, from, e->type});
    free_temporaries();
    return to;
  };
  act::TaskEnd end;
  end.unit = node.unit;
  end.latency = kept(node.latency);
  end.ii = kept(node.ii);
  end.touched = touched(stmt);
  roles::walk(node.body, [&](const roles::Stmt& inner) {
    Touched more = touched(inner);
    join(end.touched.reads, more.reads);
    join(end.touched.writes, more.writes);
  });
  push(act::TaskBegin{node.latency == nullptr});
  in_task_ = true;
  body(node.body);
  in_task_ = false;
  push(std::move(end));
}

}  // namespace plait::sim
