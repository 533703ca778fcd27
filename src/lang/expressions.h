#pragma once

#include "lang/elaborate.h"
#include "lang/scope.h"

namespace plait::lang {

class Elaborator;

/// Names, types, headers and expressions of the tile language for other text forms: role programs. Indices keep their
/// integer type. Members that return a pointer return null after an error was reported (or for a null operand).
class Expressions {
 public:
  /// `statements`: what looks like a function and is a statement that defines a name, and how that is written.
  explicit Expressions(Diagnostics& diags, std::map<std::string, std::string> statements = {});
  ~Expressions();

  void push();
  void pop();
  const Symbol* find(const std::string& name) const;
  std::vector<std::string> names() const;
  /// Defines a name unless it hides another one, which is reported.
  bool define(const std::string& name, Entity entity, const Loc& loc);

  ir::ExprRef value(const syntax::ExprRef& e);
  std::optional<std::int64_t> constant(const syntax::ExprRef& e, std::string_view what, std::int64_t least,
                                       std::int64_t most);
  std::optional<ir::DType> dtype(const std::string& name, const Loc& loc);

  struct Header {
    std::vector<ir::Param> params;
    std::vector<ir::Var> dims;
  };
  /// Compile-time parameters, dims and parameters of a kernel's header; defines their names.
  Header header(const syntax::Kernel& source, const Loc& loc, const Bindings& bindings);

  /// Where reports go from now on; gives the former place. Whether anything stopped the elaboration is forgotten, so
  /// that reports to a place that is thrown away do not silence those to the other one.
  Diagnostics& report_to(Diagnostics& diags);

 private:
  syntax::File no_functions_;
  std::unique_ptr<Elaborator> elaborator_;
};

}  // namespace plait::lang
