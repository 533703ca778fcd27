#include "pipeline/work_map.h"

// Work items that are pieces of tiles, and items that are handed out as blocks get free.
namespace plait::pipeline {

using namespace ir;

/// split_k: each tile in as many pieces, whose slots follow each other. stream_k: rounds of whole tiles, while enough
/// are left that the rest is a tile or more for each block (Osama et al., "Stream-K", 2023, section 5.2); the
/// iterations of the rest, one behind the other, in equal shares. A block has a slot for the tile that it enters in the
/// middle, and one for the tile that it leaves there.
void WorkMap::declare_pieces() {
  steps_ = let("steps", scalars_.index(pieces_->trips));
  Value most = resident();
  if (work_.kind == plan::WorkKind::stream_k) {
    steps_ = let("steps_or_one", max(steps_, 1));  // a tile without iterations is still to be written
    Value blocks = let("stream_blocks", min(most, items_ * steps_));
    Value some = let("some_blocks", max(blocks, 1));
    rounds_ = let("rounds", select(items_ % some == 0, items_ / some, max(items_ / some - 1, 0)));
    Value all = let("streamed_steps", (items_ - rounds_ * blocks) * steps_);
    share_ = let("share", all / some);
    more_ = let("more", all % some);
    slots_ = let("slots", 2 * blocks);
    return b_.launch({blocks});
  }
  slots_ = let("pieces", items_ * std::int64_t{work_.split_k});
  b_.launch({stays() ? min(most, slots_) : slots_});
}

void WorkMap::bind_piece(const Value& begin, const Value& end) {
  scalars_.bind(pieces_->begin, begin);
  scalars_.bind(pieces_->end, end);
}

/// The first iteration of a block's share.
Value WorkMap::begin_of_block(const Value& block) const { return block * share_ + min(block, more_); }

/// The block whose share holds an iteration.
Value WorkMap::block_of(const Value& step) const {
  Value longer = more_ * (share_ + 1);
  return select(step < longer, step / (share_ + 1), more_ + (step - longer) / max(share_, 1));
}

void WorkMap::stream(const std::function<void()>& item) {
  const Var &block = b_.builtins().block, &blocks = b_.builtins().blocks;
  Var round = b_.var(names_.in_role("round"), DType::i32, 0);
  Var at = b_.var(names_.in_role("at"), DType::i32, begin_of_block(block));
  Value last = let("last", begin_of_block(Value(block) + 1));
  b_.while_(Value(round) < rounds_ || Value(at) < last, [&] {
    OpenBody scope(scalars_, names_);
    Value whole = let("whole", Value(round) < rounds_);
    Value streamed = let("streamed", Value(at) / steps_);
    Value start = let("start", streamed * steps_);
    Value stop = let("stop", min(last, start + steps_));
    Value tile = let("of_tile", select(whole, Value(block) + Value(round) * blocks, rounds_ * blocks + streamed));
    Value first_block = let("first_block", select(whole, block, block_of(start)));
    piece_.own = let("piece", Value(block) - first_block);
    piece_.of = let("of_pieces", select(whole, 1, block_of(start + steps_ - 1) - first_block + 1));
    piece_.slot = [=](const Value& piece) { return 2 * (first_block + piece) + select(piece == 0, 1, 0); };
    Value trips = scalars_.index(pieces_->trips);
    bind_piece(let("from", select(whole, 0, min(Value(at) - start, trips))),
               let("to", select(whole, trips, min(stop - start, trips))));
    at_place(tile, item);
    b_.if_(whole, [&] { b_.set(round, Value(round) + 1); }, [&] { b_.set(at, stop); });
  });
}

void WorkMap::declare_tickets() {
  next_ = b_.workspace(names_.in_head("next_item"), DType::i32, {1}, true);
  constexpr int kDepth = 2;
  roles::Smem ticket = b_.smem(names_.in_head("ticket"), DType::i32, {kDepth, 1, 1});
  tickets_ = b_.channel(names_.in_head("tickets", {"", "_full", "_empty"}), kDepth, {ticket});
}

/// Each block begins with the item of its own number; the role that loads takes the following ones from a counter of
/// the launch and tells the role that computes, at last a number beyond all.
void WorkMap::hand_out(Side side, const std::function<void()>& item) {
  const roles::Builtins& own = b_.builtins();
  const roles::Smem& ticket = tickets_->tiles.front();
  Var n = b_.var(names_.in_role("n_tickets"), DType::u32, 0);
  Var number = b_.var(names_.in_role("number"), DType::i32, own.block);
  auto slot = [&] { return roles::build::Values{Value(n) % tickets_->depth, 0, 0}; };
  auto pass = [&] {
    if (side == Side::loads) {
      b_.add(roles::Acquire{roles::build::at(tickets_, n), nullptr});
      b_.put(roles::build::at(ticket, slot()), number);
      b_.add(roles::Publish{roles::build::at(tickets_, n)});
    } else {
      b_.add(roles::Receive{roles::build::at(tickets_, n)});
      b_.set(number, roles::build::element(ticket, slot()));
      b_.add(roles::Release{roles::build::at(tickets_, n)});
    }
    b_.set(n, Value(n) + 1);
  };
  pass();
  b_.while_(Value(number) < all_items(), [&] {
    OpenBody scope(scalars_, names_);
    Value now = let("item", number);
    at_number(now, item);
    if (side == Side::loads) {
      Value taken = b_.atomic_add(names_.in_role("taken"), roles::build::at(next_, {0}), 1);
      b_.set(number, Value(own.blocks) + taken);
    }
    pass();
  });
}

}  // namespace plait::pipeline
