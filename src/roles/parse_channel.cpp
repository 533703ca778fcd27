#include <fmt/format.h>

#include <array>

#include "machine/device.h"
#include "roles/parser.h"
#include "syntax/literal.h"

namespace plait::roles {
namespace {

constexpr machine::UnitKind kUnits[] = {
#define PLAIT_UNIT(id, unit, what) machine::UnitKind::id,
#include "machine/kinds.def"
#undef PLAIT_UNIT
};

std::optional<machine::UnitKind> unit_of(std::string_view name) {
  for (machine::UnitKind kind : kUnits) {
    if (machine::name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

std::string unit_names() {
  std::string out;
  for (machine::UnitKind kind : kUnits) out += fmt::format("{}{}", out.empty() ? "" : ", ", machine::name_of(kind));
  return out;
}

}  // namespace

/// `NAME depth D of TILE {, TILE} [writers W] [readers R] [bytes B]`
void RoleParser::channel() {
  ChannelDecl decl;
  decl.loc = errors_.loc(cur());
  decl.name = new_name("the name of the channel");
  if (!expect_word("depth", "the name of the channel")) return;
  decl.depth = count("the slots of the channel", 1, kMaxCount);
  if (!expect_word("of", "the depth")) return;
  do {
    decl.tiles.push_back(bind_.smem_name(operand("the name of a tile")));
  } while (accept(Tok::comma));
  if (accept_word("writers")) decl.writers = count("the writers of an item", 1, kMaxCount);
  if (accept_word("readers")) decl.readers = count("the readers of an item", 1, kMaxCount);
  if (accept_word("bytes")) decl.bytes = count("the bytes of an item", 1, kMaxCount);
  if (panic_) return;
  auto made = std::make_shared<const ChannelDecl>(std::move(decl));
  bind_.declare(made);
  program_.channels.push_back(made);
}

ChannelRef RoleParser::item() { return bind_.channel(operand("an item of a channel such as ring[n]")); }

void RoleParser::acquire(const Loc& loc) {
  Acquire node{item(), nullptr};
  if (accept_word("bytes")) node.bytes = bind_.value(expression());
  emit(loc, std::move(node));
}

void RoleParser::publish(const Loc& loc) { emit(loc, Publish{item()}); }
void RoleParser::receive(const Loc& loc) { emit(loc, Receive{item()}); }
void RoleParser::release(const Loc& loc) { emit(loc, Release{item()}); }

/// What a copy completes on: one of an mbar array, or an item of a channel.
void RoleParser::completion(MbarRef& mbar, ChannelRef& channel) {
  Source on = operand("an mbar such as full[i] or a channel such as ring[n]");
  if (bind_.is_channel(on)) {
    channel = bind_.channel(on);
  } else {
    mbar = bind_.mbar(on);
  }
}

/// `UNIT "task" [latency E] [ii E] [reads OPERANDS] [writes OPERANDS]:` and what it computes
void RoleParser::issue(const Loc& loc) {
  auto unit = unit_of(text(cur()));
  if (!unit) return expected("the name of a unit behind 'issue'", fmt::format("it is one of {}", unit_names()));
  advance();
  Token name = cur();
  if (!expect(Tok::string, "the name of the task in double quotes",
              "write issue tensor \"scores\" latency 128 ii 128:"))
    return;
  Issue node{*unit, syntax::string_value(text(name)), nullptr, nullptr, {}, {}, {}};
  if (accept_word("latency")) node.latency = bind_.value(expression());
  if (accept_word("ii")) node.ii = bind_.value(expression());
  if (accept_word("reads")) node.reads = task_operands();
  if (accept_word("writes")) node.writes = task_operands();
  node.body = body("the task");
  emit(loc, std::move(node));
}

std::vector<TaskOperand> RoleParser::task_operands() {
  std::vector<TaskOperand> out;
  do {
    Source e = operand("a tile, fragment or tensor with its indices");
    if (bind_.fragment_of(e) != nullptr) {
      out.emplace_back(bind_.fragment(e));
    } else if (bind_.is_tensor(e)) {
      out.emplace_back(bind_.tensor(e));
    } else {
      out.emplace_back(bind_.smem(e));
    }
  } while (accept(Tok::comma));
  return out;
}

}  // namespace plait::roles
