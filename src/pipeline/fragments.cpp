#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/lowering.h"

// The fragments of the role that computes.
namespace plait::pipeline {

using namespace ir;

using roles::FragmentKind;

/// Rows of a fragment that one replica has.
std::int64_t Lowering::own_rows(const Buffer& buffer) const { return static_shape(*buffer)[0] / sharing(buffer); }

/// Replicas among which the fragment is shared out: each has all columns.
int Lowering::sharing(const Buffer& buffer) const {
  auto home = placed_.fragments.find(buffer.get());
  bool whole = home != placed_.fragments.end() && home->second.kind == FragmentKind::columns;
  return whole ? 1 : placed_.replicas;
}

Value Lowering::row_of(const Value& own, std::int64_t rows) const {
  return placed_.replicas == 1 ? own : Value(b_.builtins().replica) * rows + own;
}

/// All at the start of the role, in the order of the program, those that have rows of another behind it.
void Lowering::define_fragments() {
  std::vector<Buffer> later;
  auto define = [&](const Buffer& buffer) {
    const place::FragmentHome& home = placed_.fragments.at(buffer.get());
    std::vector<std::int64_t> shape = static_shape(*buffer);
    shape[0] /= sharing(buffer);
    Fragment of = home.of == nullptr ? nullptr : fragments_.at(home.of.get());
    fragments_[buffer.get()] =
        b_.fragment(fresh(buffer->name), buffer->type, shape, home.kind, {home.vec, home.lanes, of});
  };
  walk(kernel_.body, [&](const Stmt& stmt) {
    const auto* alloc = std::get_if<Alloc>(&stmt.node);
    if (alloc == nullptr || !placed_.in_registers(alloc->buffer)) return;
    if (placed_.fragments.at(alloc->buffer.get()).of != nullptr) {
      later.push_back(alloc->buffer);
    } else {
      define(alloc->buffer);
    }
  });
  for (const Buffer& buffer : later) define(buffer);
}

/// A fragment that lies as another does, of another type.
Lowering::Fragment Lowering::like(const Fragment& of, const std::string& name, DType type) {
  std::vector<std::int64_t> shape = static_shape(*of->buffer);
  FragmentKind kind = of->kind == FragmentKind::wgmma_a ? FragmentKind::wgmma_acc : of->kind;
  return b_.fragment(fresh(name), type, shape, kind, {of->vec, of->lanes, of->of});
}

void Lowering::each(const Fragment& domain, const std::function<Value(const Values&)>& value) {
  BodyScope scope(*this);
  bool flat = domain->buffer->shape.size() == 1;
  std::vector<std::string> names = flat ? std::vector<std::string>{"r"} : std::vector<std::string>{"r", "c"};
  for (std::string& name : names) name = fresh(name);
  b_.each(domain, names, [&](const Values& own) { return std::vector{assign(domain, own, value(own))}; });
}

/// Element by element, converted.
void Lowering::each(const Fragment& dst, const Fragment& src) {
  each(dst, [&](const Values& own) {
    Value value = roles::build::element(src, own);
    return dst->buffer->type == src->buffer->type ? value : roles::build::cast(dst->buffer->type, value);
  });
}

}  // namespace plait::pipeline
