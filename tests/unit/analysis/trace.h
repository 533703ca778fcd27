#pragma once

#include "support.h"

namespace plait::analysis::test {

/// One touch of an element of a 1-D buffer, as a run of the loop body made it.
struct Event {
  std::size_t statement = 0;   ///< number in the body of the traced loop
  std::int64_t iteration = 0;  ///< counted from 0
  const BufferDecl* buffer = nullptr;
  std::int64_t instance = 0;  ///< counts the allocations of the buffer
  std::int64_t element = 0;
  bool write = false, atomic = false;
  const Stmt* stmt = nullptr;
  const Expr* load = nullptr;  ///< for reads of elements
  bool outside = false;        ///< the element lies outside its buffer
};

/// Runs a loop over 1-D integer buffers serially, with real values, and tells every touch of an element that lies
/// inside its buffer.
class Tracer {
 public:
  Tracer(State& state, std::function<void(const Event&)> tell) : state_(state), tell_(std::move(tell)) {}
  /// False when a division by zero ended it.
  bool run(const For& loop);

 private:
  void body(const Body& body);
  void statement(const Stmt& stmt);
  void loop(const For& loop, std::size_t axis, bool outermost);
  void tile(const TileOp& node);
  void reads(const ExprRef& expr);
  std::int64_t value(const ExprRef& expr);
  std::vector<std::int64_t> elements(const Region& region);
  void touch(const Buffer& buffer, std::int64_t element, Event event);
  std::int64_t& at(const Buffer& buffer, std::int64_t element);

  State& state_;
  std::function<void(const Event&)> tell_;
  std::map<const BufferDecl*, std::int64_t> instances_;
  std::size_t statement_ = 0;
  const Stmt* stmt_ = nullptr;
  std::int64_t iteration_ = -1;
  int depth_ = 0;
};

/// A loop of a few statements over 1-D buffers: element stores, tile operations, inner loops, guards.
struct RandomLoop {
  For loop;
  Domain outer;
  std::vector<Buffer> buffers;
};
/// `elements_only`: no tile operations, and the loop is `parallel`.
RandomLoop random_loop(std::uint64_t seed, Generator::Shape shape, bool elements_only);

std::string text(const RandomLoop& r);
/// All buffers with small numbers in them.
State random_contents(std::uint64_t seed, const std::vector<Buffer>& buffers);

}  // namespace plait::analysis::test
