// The calls of the C++ form, each onto the state of its builder.
#include <fmt/format.h>

#include "lang/builder_state.h"
#include "lang/header.h"

namespace plait {

using detail::BuilderState;

namespace {

ir::LoopKind ir_kind(detail::LoopKind kind) {
  switch (kind) {
    case detail::LoopKind::range:
      return ir::LoopKind::serial;
    case detail::LoopKind::unrolled:
      return ir::LoopKind::unrolled;
    case detail::LoopKind::vectorized:
      return ir::LoopKind::vectorized;
    case detail::LoopKind::parallel:
      return ir::LoopKind::parallel;
    case detail::LoopKind::persistent:
      return ir::LoopKind::persistent;
  }
  return ir::LoopKind::serial;
}

}  // namespace

// ---- Buffers, elements and tiles
// -----------------------------------------------------------------------------------------

Ref Buffer::operator()(const Index& i, At at) const { return {*this, {i}, at}; }
Ref Buffer::operator()(const Index& i, const Index& j, At at) const { return {*this, {i, j}, at}; }
Ref Buffer::operator()(const Index& i, const Index& j, const Index& k, At at) const { return {*this, {i, j, k}, at}; }
Ref Buffer::operator()(const Index& i, const Index& j, const Index& k, const Index& l, At at) const {
  return {*this, {i, j, k, l}, at};
}
Ref Buffer::operator()(const Index& i, const Index& j, const Index& k, const Index& l, const Index& m, At at) const {
  return {*this, {i, j, k, l, m}, at};
}
Ref Buffer::operator()(const Index& i, const Index& j, const Index& k, const Index& l, const Index& m, const Index& n,
                       At at) const {
  return {*this, {i, j, k, l, m, n}, at};
}
Ref Buffer::operator()(const std::vector<Index>& index, At at) const { return {*this, index, at}; }

Ref::Ref(const Buffer& buffer, std::vector<Index> index, std::source_location at)
    : state_(buffer.state_), buffer_(buffer.buffer_), index_(std::move(index)), at_(at) {}

void Ref::operator=(const Value& value) const { state_->store(*this, std::nullopt, value); }
// Assigns the element, not the Ref. NOLINTNEXTLINE(bugprone-unhandled-self-assignment)
void Ref::operator=(const Ref& value) const { state_->store(*this, std::nullopt, value); }
void Ref::operator+=(const Value& value) const { state_->store(*this, ir::BinaryOp::add, value); }
void Ref::operator-=(const Value& value) const { state_->store(*this, ir::BinaryOp::sub, value); }
void Ref::operator*=(const Value& value) const { state_->store(*this, ir::BinaryOp::mul, value); }
void Ref::operator/=(const Value& value) const { state_->store(*this, ir::BinaryOp::div, value); }
void Ref::operator%=(const Value& value) const { state_->store(*this, ir::BinaryOp::mod, value); }
void Ref::operator&=(const Value& value) const { state_->store(*this, ir::BinaryOp::bit_and, value); }
void Ref::operator|=(const Value& value) const { state_->store(*this, ir::BinaryOp::bit_or, value); }
void Ref::operator^=(const Value& value) const { state_->store(*this, ir::BinaryOp::bit_xor, value); }

Tile::Tile(const Buffer& whole) : state_(whole.state_), buffer_(whole.buffer_) {}
Tile::Tile(const Ref& part) : state_(part.state_), buffer_(part.buffer_), index_(part.index_), at_(part.at_) {}

// ---- Kernels
// -------------------------------------------------------------------------------------------------------------

const std::string& Kernel::name() const { return ir_->name; }
std::string Kernel::text() const { return ir::print(*ir_); }

// ---- The header
// ----------------------------------------------------------------------------------------------------------

KernelBuilder::KernelBuilder(std::string name, At at)
    : state_(std::make_shared<BuilderState>(std::move(name), at)), at_(at) {}

Var KernelBuilder::dim(const std::string& name, At at) { return state_->dim(name, at); }

Buffer KernelBuilder::input(const std::string& name, DType type, const Extents& shape, const TensorOptions& options,
                            At at) {
  return state_->tensor(ir::ParamKind::in, name, type, shape, options, at);
}
Buffer KernelBuilder::output(const std::string& name, DType type, const Extents& shape, const TensorOptions& options,
                             At at) {
  return state_->tensor(ir::ParamKind::out, name, type, shape, options, at);
}
Buffer KernelBuilder::inout(const std::string& name, DType type, const Extents& shape, const TensorOptions& options,
                            At at) {
  return state_->tensor(ir::ParamKind::inout, name, type, shape, options, at);
}
Var KernelBuilder::scalar(const std::string& name, DType type, const std::optional<Value>& default_value, At at) {
  return state_->scalar(name, type, default_value, at);
}

std::array<Var, 1> KernelBuilder::grid(const Axis& x, At at) { return {state_->grid({&x}, at)[0]}; }
std::array<Var, 2> KernelBuilder::grid(const Axis& x, const Axis& y, At at) {
  std::vector<Var> vars = state_->grid({&x, &y}, at);
  return {vars[0], vars[1]};
}
std::array<Var, 3> KernelBuilder::grid(const Axis& x, const Axis& y, const Axis& z, At at) {
  std::vector<Var> vars = state_->grid({&x, &y, &z}, at);
  return {vars[0], vars[1], vars[2]};
}

void KernelBuilder::threads(int count, At at) {
  Loc loc = state_->begin(at);
  if (state_->top_level("threads", loc)) lang::set_threads(state_->kernel, count, loc, state_->diags);
}
void KernelBuilder::require(const Value& cond, const std::string& message, At at) {
  Loc loc = state_->begin(at);
  ir::ExprRef e = state_->use(cond, loc);
  if (state_->top_level("require", loc)) lang::add_require(state_->kernel, e, message, loc, state_->diags);
}
void KernelBuilder::fast_math() { state_->kernel.options.fast_math = true; }

// ---- Buffers and lets
// ----------------------------------------------------------------------------------------------------

Buffer KernelBuilder::shared(DType type, const Extents& shape, const BufferOptions& options, At at) {
  return state_->alloc(ir::Scope::shared, type, shape, options, at);
}
Buffer KernelBuilder::fragment(DType type, const Extents& shape, const BufferOptions& options, At at) {
  return state_->alloc(ir::Scope::fragment, type, shape, options, at);
}
Buffer KernelBuilder::local(DType type, const Extents& shape, const BufferOptions& options, At at) {
  return state_->alloc(ir::Scope::local, type, shape, options, at);
}
Var KernelBuilder::let(const std::string& name, const Value& value, At at) { return state_->let(name, value, at); }

// ---- Loops and branches
// --------------------------------------------------------------------------------------------------

void KernelBuilder::serial(detail::LoopKind kind, const Bounds& bounds, const LoopOptions& options,
                           const detail::LoopBody& body, std::size_t arity, At at) {
  Loc loc = state_->begin(at);
  state_->loop(ir_kind(kind), {state_->use(bounds, loc)}, options.names, {}, body, arity, loc);
}
void KernelBuilder::nest(detail::LoopKind kind, const Extents& extents, const LoopOptions& options,
                         const detail::LoopBody& body, std::size_t arity, At at) {
  Loc loc = state_->begin(at);
  std::vector<BuilderState::LoopBounds> axes;
  for (const ir::ExprRef& extent : state_->use_all(extents, loc)) {
    ir::ExprRef zero = ir::typed_int(ir::DType::i64, 0, loc), one = ir::typed_int(ir::DType::i64, 1, loc);
    axes.push_back({zero, lang::to_i64(extent, state_->diags), one});
  }
  state_->loop(ir_kind(kind), axes, options.names, {}, body, arity, loc);
}
void KernelBuilder::pipeline(const Bounds& bounds, const PipelineOptions& options, const detail::LoopBody& body,
                             std::size_t arity, At at) {
  Loc loc = state_->begin(at);
  ir::PipelineAttrs attrs{options.stages, options.order, options.stage};
  if (!lang::check_pipeline(attrs, loc, state_->diags)) attrs = {};
  std::vector<std::string> names;
  if (!options.name.empty()) names.push_back(options.name);
  state_->loop(ir::LoopKind::pipelined, {state_->use(bounds, loc)}, names, attrs, body, arity, loc);
}

void KernelBuilder::while_(const Value& cond, const std::function<void()>& body, At at) {
  Loc loc = state_->begin(at);
  ir::ExprRef e = lang::make_condition(state_->use(cond, loc), "while", loc, state_->diags);
  ir::Body statements = state_->block(body);
  if (e != nullptr) state_->emit(ir::While{std::move(e), std::move(statements)}, loc);
}
void KernelBuilder::if_(const Value& cond, const std::function<void()>& body, At at) {
  state_->if_branch(cond, body, at);
}
void KernelBuilder::elif_(const Value& cond, const std::function<void()>& body, At at) {
  state_->elif_branch(cond, body, at);
}
void KernelBuilder::else_(const std::function<void()>& body, At at) { state_->else_branch(body, at); }
void KernelBuilder::task(const TaskOptions& options, const std::function<void()>& body, At at) {
  Loc loc = state_->begin(at);
  ir::Task node{options.latency, options.ii, {}};
  bool ok = lang::check_task(node, loc, state_->diags);
  node.body = state_->block(body);
  if (ok) state_->emit(std::move(node), loc);
}
void KernelBuilder::break_(At at) {
  Loc loc = state_->begin(at);
  state_->emit(ir::Break{}, loc);
}
void KernelBuilder::continue_(At at) {
  Loc loc = state_->begin(at);
  state_->emit(ir::Continue{}, loc);
}

// ---- The rest
// ------------------------------------------------------------------------------------------------------------

void KernelBuilder::assert_(const Value& cond, const std::string& message, At at) {
  Loc loc = state_->begin(at);
  ir::ExprRef e = lang::make_condition(state_->use(cond, loc), "assert", loc, state_->diags);
  if (e != nullptr) state_->emit(ir::Assert{std::move(e), message}, loc);
}
void KernelBuilder::print(const std::string& text, std::initializer_list<Value> values, At at) {
  Loc loc = state_->begin(at);
  state_->emit(lang::make_print(text, state_->use_all(std::vector<Value>(values), loc), loc, state_->diags));
}

Kernel KernelBuilder::build() {
  state_->begin(at_);
  return Kernel(state_->build());
}

}  // namespace plait
