#include "helpers.h"

namespace plait::syntax {
namespace {

std::string structure(const std::vector<ExprRef>& items) {
  std::string out;
  for (const ExprRef& item : items) out += " " + structure(item);
  return out;
}

std::string structure(const Slice& slice) {
  return structure(slice.begin) + (slice.is_range ? ":" + structure(slice.end) : "");
}

}  // namespace

std::string structure(const ExprRef& expr) {
  if (expr == nullptr) return "-";
  return std::visit(Overload{
                        [](const IntLit& e) { return std::to_string(e.value); },
                        [](const FloatLit& e) { return std::to_string(e.value); },
                        [](const BoolLit& e) { return std::string(e.value ? "true" : "false"); },
                        [](const StrLit& e) { return e.value; },
                        [](const Name& e) { return e.id; },
                        [](const Unary& e) { return "(" + e.op + " " + structure(e.a) + ")"; },
                        [](const Binary& e) { return "(" + e.op + " " + structure(e.a) + " " + structure(e.b) + ")"; },
                        [](const Call& e) {
                          std::string out = "(call " + e.callee;
                          for (const Arg& arg : e.args) out += " " + arg.name + "=" + structure(arg.value);
                          return out + ")";
                        },
                        [](const Index& e) {
                          std::string out = "(index " + structure(e.base);
                          for (const Slice& slice : e.slices) out += " " + structure(slice);
                          return out + ")";
                        },
                        [](const List& e) { return "(list" + structure(e.items) + ")"; },
                    },
                    expr->node);
}

}  // namespace plait::syntax
