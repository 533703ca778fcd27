#include "roles/lower_channels.h"

#include <algorithm>
#include <unordered_map>

#include "ir/build.h"
#include "roles/channel.h"
#include "support/result.h"

namespace plait::roles {
namespace {

/// What was checked before cannot fail.
ExprRef binary(ir::BinaryOp op, const ExprRef& a, std::int64_t b) {
  Diagnostics diags;
  ExprRef made = ir::make_binary(op, a, ir::int_literal(b, a->loc), a->loc, diags);
  PLAIT_ASSERT(made != nullptr, "the number of an item of a channel is no integer:\n" + diags.render());
  return made;
}

ExprRef literal(std::int64_t value, const Loc& loc) { return ir::typed_int(DType::i32, value, loc); }

Mbar make_mbar(const ChannelDecl& channel, const char* suffix, std::int64_t count) {
  return std::make_shared<const MbarDecl>(MbarDecl{channel.name + suffix, channel.depth, count, channel.loc});
}

class Lowering {
 public:
  explicit Lowering(const Program& program) : program_(program), plan_(program) {}

  Program run() {
    Program out = program_;
    for (const Channel& channel : program_.channels) {
      Barriers made{make_mbar(*channel, "_full", plan_.full_count(*channel)),
                    make_mbar(*channel, "_empty", plan_.empty_count(*channel))};
      out.mbars.push_back(made.full);
      out.mbars.push_back(made.empty);
      barriers_[channel.get()] = std::move(made);
    }
    out.channels.clear();
    out.prologue = prologue();
    for (role_ = 0; role_ < out.roles.size(); ++role_) out.roles[role_].body = body(program_.roles[role_].body);
    return out;
  }

 private:
  struct Barriers {
    Mbar full, empty;
  };

  // The prologue
  Body prologue() const;
  StmtRef meeting(StmtNode node) const { return make(Stmt{program_.loc, {}, SyncWarp{}}, std::move(node)); }
  static bool has_meeting(const Body& prologue, bool cluster);

  // Statements
  Body body(const Body& in);
  void statement(const StmtRef& stmt, std::span<const StmtRef> rest, Body& out);
  template <typename Node>
  void nested(const StmtRef& stmt, const Node& node, Threads by, Body& out);
  void branch(const StmtRef& stmt, const If& node, Body& out);
  void acquire(const Stmt& from, const Acquire& s, std::span<const StmtRef> rest, Body& out) const;
  ExprRef copied(const Stmt& from, const Acquire& s, std::span<const StmtRef> rest) const;
  void receive(const Stmt& from, const ChannelRef& item, Body& out) const;
  void publish(const Stmt& from, const ChannelRef& item, Body& out) const;
  void release(const Stmt& from, const ChannelRef& item, Body& out) const;
  template <typename Copy>
  void copy(const StmtRef& stmt, Copy copy, Body& out) const;

  // Pieces
  static StmtRef make(const Stmt& from, StmtNode node) {
    return std::make_shared<const Stmt>(Stmt{from.loc, from.origin, std::move(node)});
  }
  const Barriers& barriers(const ChannelRef& item) const { return barriers_.at(item.channel.get()); }
  static MbarRef slot(const Mbar& mbar, const ChannelRef& item) {
    ExprRef index = mbar->size == 1 ? literal(0, item.index->loc) : binary(ir::BinaryOp::mod, item.index, mbar->size);
    return {mbar, std::move(index), item.loc};
  }
  static ExprRef phase(const ChannelRef& item) {
    return item.channel->depth == 1 ? item.index : binary(ir::BinaryOp::div, item.index, item.channel->depth);
  }
  /// The statements by one thread of those that run the channel's statement, or by each of them.
  void by_threads(const Stmt& from, bool one, const std::vector<StmtNode>& nodes, Body& out) const {
    Body made;
    for (const StmtNode& node : nodes) made.push_back(make(from, node));
    if (one && by_ == Threads::all) made = {make(from, Elect{std::move(made)})};
    out.insert(out.end(), made.begin(), made.end());
  }

  const Program& program_;
  ChannelPlan plan_;
  std::unordered_map<const ChannelDecl*, Barriers> barriers_;
  std::size_t role_ = 0;
  Threads by_ = Threads::all;
};

// ---- The prologue --------------------------------------------------------------------------------------------------

bool Lowering::has_meeting(const Body& prologue, bool cluster) {
  bool arrived = false;
  for (const StmtRef& stmt : prologue) {
    if (!cluster && std::holds_alternative<SyncThreads>(stmt->node)) return true;
    if (std::holds_alternative<ClusterWait>(stmt->node) && arrived) return true;
    arrived = arrived || std::holds_alternative<ClusterArrive>(stmt->node);
  }
  return false;
}

/// The inits, what the program does itself, and a barrier behind which all threads see the inits.
Body Lowering::prologue() const {
  Body inits;
  for (const Channel& channel : program_.channels) {
    const Barriers& made = barriers_.at(channel.get());
    for (const Mbar& mbar : {made.full, made.empty})
      inits.push_back(std::make_shared<const Stmt>(Stmt{channel->loc, {}, MbarInit{mbar}}));
  }
  inits.push_back(std::make_shared<const Stmt>(Stmt{program_.channels.front()->loc, {}, Fence{FenceKind::mbar_init}}));
  Body out = {meeting(Elect{std::move(inits)})};
  out.insert(out.end(), program_.prologue.begin(), program_.prologue.end());
  bool cluster = std::any_of(program_.channels.begin(), program_.channels.end(),
                             [&](const Channel& channel) { return plan_.multicast(*channel); });
  if (has_meeting(program_.prologue, cluster)) return out;
  if (cluster) {
    out.push_back(meeting(ClusterArrive{}));
    out.push_back(meeting(ClusterWait{}));
  } else {
    out.push_back(meeting(SyncThreads{}));
  }
  return out;
}

// ---- Statements ----------------------------------------------------------------------------------------------------

Body Lowering::body(const Body& in) {
  Body out;
  std::span<const StmtRef> rest(in);
  for (const StmtRef& stmt : in) {
    rest = rest.subspan(1);
    statement(stmt, rest, out);
  }
  return out;
}

void Lowering::statement(const StmtRef& stmt, std::span<const StmtRef> rest, Body& out) {
  std::visit(
      Overload{[&](const Acquire& s) { acquire(*stmt, s, rest, out); },
               [&](const Publish& s) { publish(*stmt, s.item, out); },
               [&](const Receive& s) { receive(*stmt, s.item, out); },
               [&](const Release& s) { release(*stmt, s.item, out); }, [&](const TmaLoad& s) { copy(stmt, s, out); },
               [&](const BulkLoad& s) { copy(stmt, s, out); }, [&](const For& s) { nested(stmt, s, by_, out); },
               [&](const While& s) { nested(stmt, s, by_, out); }, [&](const If& s) { branch(stmt, s, out); },
               [&](const Elect& s) { nested(stmt, s, Threads::one, out); },
               [&](const OneWarp& s) { nested(stmt, s, Threads::warp, out); },
               [&](const auto&) { out.push_back(stmt); }},
      stmt->node);
}

/// A statement around a body. Where nothing of the body of an elect or warp is left, that goes too.
template <typename Node>
void Lowering::nested(const StmtRef& stmt, const Node& node, Threads by, Body& out) {
  Threads outer = std::exchange(by_, by);
  Body inner = body(node.body);
  by_ = outer;
  if (inner == node.body) return out.push_back(stmt);
  bool choice = std::is_same_v<Node, Elect> || std::is_same_v<Node, OneWarp>;
  if (choice && inner.empty()) return;
  Node changed = node;
  changed.body = std::move(inner);
  out.push_back(make(*stmt, std::move(changed)));
}

void Lowering::branch(const StmtRef& stmt, const If& node, Body& out) {
  Body then_body = body(node.then_body), else_body = body(node.else_body);
  if (then_body == node.then_body && else_body == node.else_body) return out.push_back(stmt);
  If changed = node;
  changed.then_body = std::move(then_body);
  changed.else_body = std::move(else_body);
  out.push_back(make(*stmt, std::move(changed)));
}

/// The slot of item n is free when item n - depth was released, in the phase before; of the first items at once.
void Lowering::acquire(const Stmt& from, const Acquire& s, std::span<const StmtRef> rest, Body& out) const {
  const ChannelUse& use = plan_.use(role_, *s.item.channel);
  ExprRef parity = binary(ir::BinaryOp::add, phase(s.item), 1);
  std::vector<StmtNode> nodes = {Wait{slot(barriers(s.item).empty, s.item), std::move(parity)}};
  if (use.all_write()) {
    by_threads(from, false, nodes, out);
    nodes.clear();
  }
  if (use.copies) nodes.emplace_back(Expect{slot(barriers(s.item).full, s.item), copied(from, s, rest)});
  if (!nodes.empty()) by_threads(from, true, nodes, out);
}

/// What the copies of an item bring.
ExprRef Lowering::copied(const Stmt& from, const Acquire& s, std::span<const StmtRef> rest) const {
  if (s.bytes != nullptr) return s.bytes;
  auto known = s.item.channel->bytes ? s.item.channel->bytes : copied_bytes(s, rest, program_.cluster);
  PLAIT_ASSERT(known.has_value(), "the bytes of an item of channel " + s.item.channel->name + " are not known");
  return literal(*known, from.loc);
}

void Lowering::receive(const Stmt& from, const ChannelRef& item, Body& out) const {
  by_threads(from, !plan_.use(role_, *item.channel).all_read(), {Wait{slot(barriers(item).full, item), phase(item)}},
             out);
}

/// Copies arrive by their bytes; threads arrive for what they wrote themselves.
void Lowering::publish(const Stmt& from, const ChannelRef& item, Body& out) const {
  const ChannelDecl& channel = *item.channel;
  if (plan_.publish_arrivals(role_, channel, by_) == 0) return;
  std::vector<StmtNode> nodes;
  if (plan_.fences_publish(role_, channel)) nodes.emplace_back(Fence{FenceKind::proxy_async});
  nodes.emplace_back(Arrive{slot(barriers(item).full, item), nullptr});
  by_threads(from, !plan_.use(role_, channel).all_write(), nodes, out);
}

void Lowering::release(const Stmt& from, const ChannelRef& item, Body& out) const {
  const ChannelDecl& channel = *item.channel;
  std::vector<StmtNode> nodes;
  if (plan_.fences_release(role_, channel)) nodes.emplace_back(Fence{FenceKind::proxy_async});
  MbarRef empty = slot(barriers(item).empty, item);
  if (plan_.multicast(channel)) {
    for (int rank = 0; rank < program_.cluster; ++rank) nodes.emplace_back(Arrive{empty, literal(rank, from.loc)});
  } else {
    nodes.emplace_back(Arrive{empty, nullptr});
  }
  by_threads(from, !plan_.use(role_, channel).thread_reads, nodes, out);
}

template <typename Copy>
void Lowering::copy(const StmtRef& stmt, Copy copy, Body& out) const {
  if (copy.channel.channel == nullptr) return out.push_back(stmt);
  copy.mbar = slot(barriers(copy.channel).full, copy.channel);
  copy.channel = {};
  out.push_back(make(*stmt, std::move(copy)));
}

}  // namespace

Program lower_channels(const Program& program) { return program.channels.empty() ? program : Lowering(program).run(); }

}  // namespace plait::roles
