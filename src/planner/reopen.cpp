#include "planner/reopen.h"

#include "ir/build.h"
#include "ir/rebuild.h"

namespace plait::planner {

using namespace ir;

namespace {

Body reopened(const Body& body) {
  Body made;
  for (const StmtRef& stmt : body) {
    StmtRef inner = with_bodies(stmt, [](const Body& of) { return reopened(of); });
    const auto* loop = std::get_if<For>(&inner->node);
    if (loop == nullptr) {
      made.push_back(std::move(inner));
      continue;
    }
    For open = *loop;
    open.pipeline = {};
    made.push_back(make_stmt(std::move(open), stmt->loc));
  }
  return made;
}

}  // namespace

Kernel reopened(const Kernel& kernel) {
  Kernel made = kernel;
  made.body = reopened(kernel.body);
  return made;
}

}  // namespace plait::planner
