#pragma once

#include <set>
#include <unordered_map>
#include <variant>

#include "ir/build.h"

namespace plait::lang {

/// Size of an expression as it is when every shared part is counted as often as it occurs.
struct Cost {
  std::int64_t nodes = 1;
  int depth = 1;
};

// What a name stands for.

/// Its definition was wrong and has been reported; uses give nothing, silently.
struct Poison {};
/// A variable, a literal, or an expression that takes the name's place.
struct Scalar {
  ir::ExprRef expr;
  Cost cost;
};
/// A region given to a function; `element` when it was written with plain indices, so that it also names an element.
struct Tile {
  ir::RegionSpec spec;
  bool element = false;
  Cost cost;
};
using Entity = std::variant<Poison, Scalar, ir::Buffer, ir::DType, Tile>;
/// "a scalar", "a buffer", … for messages.
std::string_view entity_kind(const Entity& entity);

struct Symbol {
  Entity entity;
  Loc loc;
};

/// The names visible at a place, innermost block last.
class Scopes {
 public:
  Scopes() { push(); }
  void push() { levels_.emplace_back(); }
  void pop() { levels_.pop_back(); }
  /// The symbol of that name, or null.
  const Symbol* find(const std::string& name) const;
  /// Defines or, after an error was reported, replaces a name of the innermost block.
  void define(const std::string& name, Symbol symbol);
  std::vector<std::string> names() const;

 private:
  std::vector<std::unordered_map<std::string, Symbol>> levels_;
};

/// Hands out names for variables and buffers that come from functions or have no name of their own.
class NameTable {
 public:
  /// False where the name is taken already.
  bool take(const std::string& name) { return taken_.insert(name).second; }
  void release(const std::string& name) { taken_.erase(name); }
  /// `base`, or `base_1`, `base_2`, … : the first that is free; it is taken then.
  std::string fresh(const std::string& base);

 private:
  std::set<std::string> taken_;
  std::unordered_map<std::string, int> next_;
};

}  // namespace plait::lang
