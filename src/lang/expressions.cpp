#include "lang/expressions.h"

#include "lang/elaborator.h"

namespace plait::lang {

Expressions::Expressions(Diagnostics& diags, std::map<std::string, std::string> statements)
    : elaborator_(std::make_unique<Elaborator>(no_functions_, diags)) {
  elaborator_->wide_index_ = false;
  elaborator_->statements_ = std::move(statements);
}

Expressions::~Expressions() = default;

void Expressions::push() { elaborator_->scopes_.push(); }
void Expressions::pop() { elaborator_->scopes_.pop(); }
const Symbol* Expressions::find(const std::string& name) const { return elaborator_->scopes_.find(name); }
std::vector<std::string> Expressions::names() const { return elaborator_->scopes_.names(); }

bool Expressions::define(const std::string& name, Entity entity, const Loc& loc) {
  return elaborator_->define(name, std::move(entity), loc);
}

ir::ExprRef Expressions::value(const syntax::ExprRef& e) { return elaborator_->eval(e); }

std::optional<std::int64_t> Expressions::constant(const syntax::ExprRef& e, std::string_view what, std::int64_t least,
                                                  std::int64_t most) {
  return e == nullptr ? std::nullopt : elaborator_->constant_int_in(e, what, least, most);
}

std::optional<ir::DType> Expressions::dtype(const std::string& name, const Loc& loc) {
  return elaborator_->dtype(name, loc);
}

Expressions::Header Expressions::header(const syntax::Kernel& source, const Loc& loc, const Bindings& bindings) {
  elaborator_->compile_params(source, loc, bindings);
  elaborator_->bind_dims(source);
  elaborator_->params(source);
  return {elaborator_->kernel_.params, elaborator_->kernel_.dims};
}

Diagnostics& Expressions::report_to(Diagnostics& diags) {
  elaborator_->stopped_ = false;
  return *std::exchange(elaborator_->diags_, &diags);
}

}  // namespace plait::lang
