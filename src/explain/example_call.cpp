#include "explain/example_call.h"

#include "ir/build.h"
#include "ir/visit.h"

namespace plait::explain {

using namespace ir;

namespace {

constexpr std::int64_t kTiled = 1024;

class Finder {
 public:
  explicit Finder(std::map<std::string, std::int64_t>& dims) : dims_(dims) {}

  void run(const Kernel& kernel) {
    for (const GridAxis& axis : kernel.grid) look(axis.extent);
    walk(kernel.body, [&](const Stmt& stmt) {
      if (const auto* let = std::get_if<Let>(&stmt.node)) lets_[let->var.get()] = substitute(let->value, lets_);
      for_each_expr(stmt, [&](const ExprRef& e) { look(substitute(e, lets_)); });
    });
  }

 private:
  void look(const ExprRef& root) {
    walk(root, [&](const Expr& e) {
      const auto* divided = std::get_if<Binary>(&e.node);
      bool divides = divided != nullptr && (divided->op == BinaryOp::ceil_div || divided->op == BinaryOp::div);
      if (!divides || as_int(divided->b).value_or(1) <= 1) return;
      walk(divided->a, [&](const Expr& inner) {
        const auto* ref = std::get_if<VarRef>(&inner.node);
        if (ref != nullptr && ref->var->kind == VarKind::dim) dims_[ref->var->name] = kTiled;
      });
    });
  }

  std::map<std::string, std::int64_t>& dims_;
  VarMap lets_;
};

}  // namespace

std::map<std::string, std::int64_t> example_dims(const Kernel& kernel) {
  std::map<std::string, std::int64_t> dims;
  for (const Var& dim : kernel.dims) dims[dim->name] = 1;
  Finder(dims).run(kernel);
  return dims;
}

}  // namespace plait::explain
