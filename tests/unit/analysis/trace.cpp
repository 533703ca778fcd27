#include "trace.h"

#include "support/result.h"

namespace plait::analysis::test {

namespace {
/// A division by zero ends the program.
struct ProgramError {};
}  // namespace

bool Tracer::run(const For& node) {
  try {
    loop(node, 0, true);
    return true;
  } catch (const ProgramError&) {
    return false;
  }
}

std::int64_t Tracer::value(const ExprRef& expr) {
  if (Value v = evaluate(expr, state_)) return *v;
  throw ProgramError{};
}

void Tracer::loop(const For& node, std::size_t number, bool outermost) {
  if (number == node.axes.size()) {
    if (outermost) ++iteration_;
    ++depth_;
    body(node.body);
    --depth_;
    return;
  }
  const LoopAxis& axis = node.axes[number];
  std::int64_t begin = value(axis.begin), end = value(axis.end), step = value(axis.step);
  for (std::int64_t v = begin; v < end; v += step) {
    state_.vars[axis.var.get()] = v;
    loop(node, number + 1, outermost);
  }
}

void Tracer::body(const Body& body) {
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (depth_ == 1) statement_ = i;
    statement(*body[i]);
  }
}

std::int64_t& Tracer::at(const Buffer& buffer, std::int64_t element) {
  return state_.contents.at(buffer.get())[static_cast<std::size_t>(element)];
}

void Tracer::touch(const Buffer& buffer, std::int64_t element, Event event) {
  auto size = static_cast<std::int64_t>(state_.contents.at(buffer.get()).size());
  event.statement = statement_;
  event.iteration = iteration_;
  event.buffer = buffer.get();
  event.instance = instances_[buffer.get()];
  event.element = element;
  event.stmt = stmt_;
  event.outside = element < 0 || element >= size;
  tell_(event);
}

namespace {
Event reading(const Expr* load = nullptr) {
  Event event;
  event.load = load;
  return event;
}
Event writing(bool atomic = false) {
  Event event;
  event.write = true;
  event.atomic = atomic;
  return event;
}
}  // namespace

void Tracer::reads(const ExprRef& expr) {
  if (const auto* e = std::get_if<Select>(&expr->node)) {
    reads(e->cond);
    return reads(value(e->cond) != 0 ? e->if_true : e->if_false);
  }
  const auto* e = std::get_if<Binary>(&expr->node);
  if (e != nullptr && (e->op == BinaryOp::logical_and || e->op == BinaryOp::logical_or)) {
    reads(e->a);
    if ((value(e->a) != 0) == (e->op == BinaryOp::logical_and)) reads(e->b);
    return;
  }
  for (const ExprRef& operand : operands(*expr)) reads(operand);
  if (const auto* load = std::get_if<Load>(&expr->node))
    touch(load->buffer, value(load->index[0]), reading(expr.get()));
}

std::vector<std::int64_t> Tracer::elements(const Region& region) {
  std::vector<std::int64_t> result;
  std::int64_t begin = value(region.ranges[0].begin), extent = value(region.ranges[0].extent);
  auto size = static_cast<std::int64_t>(state_.contents.at(region.buffer.get()).size());
  for (std::int64_t i = begin; i < begin + extent; ++i) {
    if (i >= 0 && i < size) result.push_back(i);
  }
  return result;
}

void Tracer::tile(const TileOp& node) {
  for (const Region& r : node.operands) {
    reads(r.ranges[0].begin);
    reads(r.ranges[0].extent);
  }
  const auto* reduce = std::get_if<ReduceAttrs>(&node.attrs);
  const Region& target = node.operands.back();
  bool has_source = node.operands.size() > 1, updates = reduce != nullptr && !reduce->clear;
  std::int64_t sum = 0;
  auto from = has_source ? elements(node.operands[0]) : std::vector<std::int64_t>{}, to = elements(target);
  for (std::int64_t e : from) {
    touch(node.operands[0].buffer, e, reading());
    sum += at(node.operands[0].buffer, e);
  }
  for (std::int64_t e : to) {
    if (updates) touch(target.buffer, e, reading());
  }
  for (std::int64_t e : to) {
    touch(target.buffer, e, writing());
    at(target.buffer, e) = (sum + e) % 5;
  }
}

void Tracer::statement(const Stmt& stmt) {
  const Stmt* outer = std::exchange(stmt_, &stmt);
  std::visit(Overload{[&](const For& s) {
                        for (const LoopAxis& axis : s.axes) {
                          reads(axis.begin);
                          reads(axis.end);
                        }
                        loop(s, 0, false);
                      },
                      [&](const If& s) {
                        reads(s.cond);
                        bool yes = value(s.cond) != 0;
                        ++depth_;
                        body(yes ? s.then_body : s.else_body);
                        --depth_;
                      },
                      [&](const Let& s) {
                        reads(s.value);
                        state_.vars[s.var.get()] = value(s.value);
                      },
                      [&](const Alloc& s) { ++instances_[s.buffer.get()]; },
                      [&](const Store& s) {
                        for (const ExprRef& e : s.index) reads(e);
                        reads(s.value);
                        std::int64_t element = value(s.index[0]), stored = value(s.value);
                        auto size = static_cast<std::int64_t>(state_.contents.at(s.buffer.get()).size());
                        touch(s.buffer, element, writing());
                        if (element < 0 || element >= size) return;
                        at(s.buffer, element) = stored % 7;
                      },
                      [&](const AtomicElement& s) {
                        for (const ExprRef& e : s.index) reads(e);
                        reads(s.value);
                        touch(s.buffer, value(s.index[0]), writing(true));
                      },
                      [&](const TileOp& s) { tile(s); }, [](const auto&) {}},
             stmt.node);
  stmt_ = outer;
}

State random_contents(std::uint64_t seed, const std::vector<Buffer>& buffers) {
  State state;
  state.zero_outside = true;
  std::mt19937_64 random(seed);
  for (const Buffer& b : buffers) {
    auto& values = state.contents[b.get()];
    values.resize(static_cast<std::size_t>(*small_literal(b->shape[0])));
    for (auto& v : values) v = static_cast<std::int64_t>(random() % 8);
  }
  return state;
}

namespace {

class LoopMaker {
 public:
  LoopMaker(std::uint64_t seed, Generator::Shape shape, bool elements_only)
      : seed_(seed), g_(seed, {}), shape_(shape), elements_only_(elements_only) {}

  RandomLoop make() {
    for (const char* name : {"A", "B", "T"}) result_.buffers.push_back(make_buffer(name, {E(g_.number(6, 10))}));
    auto k = make_var("k");
    E begin = g_.number(-1, 2), step = g_.chance(80) ? 1 : 2;
    vars_.push_back(k);
    Body body;
    for (std::int64_t n = g_.number(1, 4); n > 0; --n) statement(body, 2);
    LoopKind kind = elements_only_ ? LoopKind::parallel : LoopKind::serial;
    result_.loop = loop(kind, {axis(k, begin, begin + g_.number(1, 6), step)}, std::move(body));
    result_.outer = Domain{};
    return std::move(result_);
  }

 private:
  E index() {
    Generator g(++seed_ * 7919, vars_, shape_ == Generator::any ? result_.buffers : std::vector<Buffer>{});
    return g.chance(50) && shape_ == Generator::affine ? E(vars_.back()) + g.number(-1, 3) : g.integer(shape_, 2);
  }
  const Buffer& buffer() { return result_.buffers[static_cast<std::size_t>(g_.number(0, 2))]; }
  Region part() {
    return region(buffer(), {{g_.chance(40) ? E(0) : index(), g_.chance(40) ? E(10) : E(g_.number(1, 4))}});
  }

  StmtRef tile() {
    if (g_.chance(30)) return stmt(TileOp{OpKind::fill, {part()}, FillAttrs{int_expr(DType::i64, 0)}});
    if (g_.chance(50)) return stmt(TileOp{OpKind::copy, {part(), part()}, CopyAttrs{}});
    return stmt(TileOp{OpKind::reduce_sum, {part(), part()}, ReduceAttrs{0, g_.chance(50)}});
  }

  StmtRef element() {
    E value = load(buffer(), {index()});
    if (g_.chance(30)) value = value + load(buffer(), {index()});
    if (g_.chance(20)) value = select(index() > 2, value, 1);
    if (elements_only_ && g_.chance(25)) {
      return stmt(AtomicElement{AtomicOp::add, buffer(), {index().ref}, value.ref});
    }
    return store(buffer(), {index()}, value);
  }

  void statement(Body& body, int depth) {
    std::int64_t kind = g_.number(0, 9);
    if (depth > 0 && kind >= 8) {
      auto j = make_var("j");
      E begin = g_.number(0, 2), end = g_.chance(70) ? E(g_.number(1, 5)) : index();
      vars_.push_back(j);
      Body inner;
      for (std::int64_t n = g_.number(1, 2); n > 0; --n) statement(inner, depth - 1);
      vars_.pop_back();
      body.push_back(stmt(loop(LoopKind::serial, {axis(j, begin, end, g_.chance(80) ? 1 : 2)}, std::move(inner))));
      return;
    }
    if (depth > 0 && kind == 7) {
      Generator g(++seed_ * 31, vars_, shape_ == Generator::any ? result_.buffers : std::vector<Buffer>{});
      If node{g.boolean(shape_, 1).ref, {}, {}};
      statement(node.then_body, depth - 1);
      if (g_.chance(40)) statement(node.else_body, depth - 1);
      body.push_back(stmt(std::move(node)));
      return;
    }
    if (kind == 6 && depth == 2) {
      // Most later statements then use the private buffer.
      auto own = make_buffer("P", {E(g_.number(2, 6))}, Scope::local);
      body.push_back(stmt(Alloc{own}));
      allocated_.push_back(own);
      result_.buffers.push_back(own);
      body.push_back(store(own, {index()}, load(buffer(), {index()})));
      body.push_back(store(buffer(), {index()}, load(own, {index()})));
      return;
    }
    if (kind == 5) {
      auto x = make_var("x", VarKind::let);
      body.push_back(stmt(Let{x, (index() + 1).ref}));
      body.push_back(store(buffer(), {E(x) + index()}, 1));
      return;
    }
    body.push_back(elements_only_ || kind >= 3 ? element() : tile());
  }

  std::uint64_t seed_;
  Generator g_;
  Generator::Shape shape_;
  bool elements_only_;
  std::vector<Var> vars_;
  std::vector<Buffer> allocated_;
  RandomLoop result_;
};

}  // namespace

RandomLoop random_loop(std::uint64_t seed, Generator::Shape shape, bool elements_only) {
  return LoopMaker(seed, shape, elements_only).make();
}

std::string text(const RandomLoop& r) {
  std::string sizes;
  for (const Buffer& b : r.buffers) sizes += fmt::format("{}[{}] ", b->name, text(b->shape[0]));
  return sizes + "\n" + print(*stmt(r.loop));
}

}  // namespace plait::analysis::test
