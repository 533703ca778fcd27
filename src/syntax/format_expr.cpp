#include <fmt/format.h>

#include <cmath>

#include "support/precedence.h"
#include "syntax/format.h"
#include "syntax/literal.h"

namespace plait::syntax {
namespace {

/// Appends to one string, so that the cost of deep trees stays linear.
class ExprPrinter {
 public:
  explicit ExprPrinter(std::string& out) : out_(out) {}

  /// Parentheses surround what binds weaker than `least`.
  void print(const Expr& expr, int least);
  void args(const std::vector<Arg>& args);
  void list(const std::vector<ExprRef>& items);

 private:
  void unary(const Unary& node);
  void binary(const Binary& node);
  void index(const Index& node);
  void slice(const Slice& slice);

  std::string& out_;
};

/// A literal made by a program has no spelling; one that reads back as the same value is found for it.
std::string spelled(const FloatLit& literal) {
  if (!literal.spelling.empty()) return literal.spelling;
  if (std::isnan(literal.value)) return "nan";
  if (std::isinf(literal.value)) return literal.value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", literal.value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string spelled(const IntLit& literal) {
  return literal.spelling.empty() ? std::to_string(literal.value) : literal.spelling;
}

int precedence(const Expr& expr) {
  return std::visit(Overload{
                        [](const Unary& u) -> int { return u.op == "not" ? kNot : kUnary; },
                        [](const Binary& b) -> int { return infix_precedence(b.op); },
                        [](const FloatLit& f) -> int { return spelled(f).front() == '-' ? kUnary : kAtom; },
                        [](const auto&) -> int { return kAtom; },
                    },
                    expr.node);
}

bool is_short(const ExprRef& expr) { return expr == nullptr || precedence(*expr) >= kUnary; }

void ExprPrinter::print(const Expr& expr, int least) {
  bool parentheses = precedence(expr) < least;
  if (parentheses) out_ += '(';
  std::visit(Overload{
                 [&](const IntLit& e) { out_ += spelled(e); },
                 [&](const FloatLit& e) { out_ += spelled(e); },
                 [&](const BoolLit& e) { out_ += e.value ? "true" : "false"; },
                 [&](const StrLit& e) { out_ += quoted(e.value); },
                 [&](const Name& e) { out_ += e.id; },
                 [&](const Unary& e) { unary(e); },
                 [&](const Binary& e) { binary(e); },
                 [&](const Call& e) {
                   out_ += e.callee;
                   out_ += '(';
                   args(e.args);
                   out_ += ')';
                 },
                 [&](const Index& e) { index(e); },
                 [&](const List& e) {
                   out_ += '[';
                   list(e.items);
                   out_ += ']';
                 },
             },
             expr.node);
  if (parentheses) out_ += ')';
}

void ExprPrinter::unary(const Unary& node) {
  bool is_not = node.op == "not";
  out_ += node.op;
  const Unary* inner = std::get_if<Unary>(&node.a->node);
  if (is_not || (node.op == "-" && inner != nullptr && inner->op == "-")) out_ += ' ';
  print(*node.a, is_not ? kNot : kUnary);
}

/// Equal precedence groups to the left, and comparisons not at all. Few people know how bit operators bind: what they
/// combine is put in parentheses even where precedence does not ask for it.
void ExprPrinter::binary(const Binary& node) {
  int level = infix_precedence(node.op);
  bool bits = level >= kBitOr && level <= kShift;
  auto mixes = [&](const Expr& side) { return bits && precedence(side) < kUnary && precedence(side) != level; };
  print(*node.a, mixes(*node.a) ? kAtom : level == kCompare ? level + 1 : level);
  out_ += ' ';
  out_ += node.op;
  out_ += ' ';
  print(*node.b, mixes(*node.b) ? kAtom : level + 1);
}

void ExprPrinter::index(const Index& node) {
  print(*node.base, kAtom);
  out_ += '[';
  for (std::size_t i = 0; i < node.slices.size(); ++i) {
    if (i > 0) out_ += ", ";
    slice(node.slices[i]);
  }
  out_ += ']';
}

/// `0:N`, but `i * 4 : i * 4 + 4`.
void ExprPrinter::slice(const Slice& slice) {
  bool spaced = slice.is_range && slice.begin != nullptr && slice.end != nullptr &&
                !(is_short(slice.begin) && is_short(slice.end));
  if (slice.begin != nullptr) print(*slice.begin, kNone);
  if (slice.is_range) out_ += spaced ? " : " : ":";
  if (slice.end != nullptr) print(*slice.end, kNone);
}

void ExprPrinter::args(const std::vector<Arg>& args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (i > 0) out_ += ", ";
    if (!args[i].name.empty()) out_ += args[i].name + '=';
    print(*args[i].value, kNone);
  }
}

void ExprPrinter::list(const std::vector<ExprRef>& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out_ += ", ";
    print(*items[i], kNone);
  }
}

}  // namespace

std::string text_of(const Expr& expr) {
  std::string out;
  ExprPrinter(out).print(expr, kNone);
  return out;
}

std::string text_of(const std::vector<ExprRef>& exprs) {
  std::string out;
  ExprPrinter(out).list(exprs);
  return out;
}

std::string text_of(const std::vector<Arg>& args) {
  std::string out;
  ExprPrinter(out).args(args);
  return out;
}

std::string text_of(const std::vector<Clause>& clauses) {
  std::string out;
  for (const Clause& clause : clauses) out += fmt::format(" {} {}", clause.keyword, text_of(*clause.value));
  return out;
}

}  // namespace plait::syntax
