#include "pipeline/lowering.h"
#include "roles/arena.h"

// Tiles that several blocks sum pieces of.
namespace plait::pipeline {

using namespace ir;
using roles::build::at;
using roles::build::element;

/// Memory for the sums of pieces, and for the number of those that are there of two.
void Lowering::declare_sums() {
  if (work_.pieces() == nullptr) return;
  arrivals_ = b_.workspace(fresh_in_head("arrivals"), DType::i32, {max(work_.slots(), 1)}, true);
  for (const Buffer& sum : work_.pieces()->sums) {
    std::vector<std::int64_t> shape = static_shape(*sum);
    parts_.push_back(
        b_.workspace(fresh_in_head(sum->name + "_parts"), sum->type, {max(work_.slots(), 1), shape[0], shape[1]}));
  }
  arrived_ = b_.smem(fresh_in_head("arrived"), DType::i32, {1, 1});
  staged_bytes_ += roles::smem_bytes(*arrived_);
}

void Lowering::meet() {
  std::int64_t threads = std::int64_t{placed_.replicas} * placed_.warps * 32;
  b_.add(roles::BarrierSync{Value(kMeeting), threads});
}

/// Sums of neighbouring pieces are added up in pairs, then those of neighbouring pairs, and so on: whose partner is not
/// there yet leaves its sum behind, the other goes on with both. The tree is one of the pieces, so that the bits do not
/// depend on who comes when. What follows the loop is done by the block that has all of the tile.
void Lowering::combined(const std::function<void()>& rest) {
  const WorkMap::Piece& piece = work_.piece();
  Var goes_on = b_.var(fresh("goes_on"), DType::bool_, true);
  Var span = b_.var(fresh("span"), DType::i32, 1);
  b_.while_(Value(goes_on) && Value(span) < piece.of, [&] {
    BodyScope scope(*this);
    Value mine = b_.let(fresh("mine"), piece.own / span * span);
    Value left = b_.let(fresh("left"), piece.own / (2 * Value(span)) * (2 * Value(span)));
    Value right = b_.let(fresh("right"), left + span);
    b_.if_(right < piece.of, [&] {
      hand_over(piece.slot(mine), piece.slot(right));
      b_.set(goes_on, element(arrived_, {0, 0}) == 2);
      b_.if_(goes_on, [&] { add_up(b_.let(fresh("other"), piece.slot(left + right - mine))); });
    });
    b_.set(span, 2 * Value(span));
  });
  b_.if_(goes_on, [&] {
    BodyScope scope(*this);
    rest();
  });
}

/// Leaves the sums in a slot, and counts at another one.
void Lowering::hand_over(const Value& slot, const Value& counted) {
  const std::vector<Buffer>& sums = work_.pieces()->sums;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Value row = row_of(0, own_rows(sums[i]));
    b_.add(roles::StoreTensor{at(parts_[i], {slot, row, 0}), fragment(sums[i])});
  }
  meet();
  b_.if_(Value(b_.builtins().replica) == 0, [&] {
    b_.elect([&] {
      b_.add(roles::Fence{roles::FenceKind::gpu});
      Value others = b_.atomic_add(fresh("others"), at(arrivals_, {counted}), 1);
      b_.add(roles::Fence{roles::FenceKind::gpu});
      b_.put(at(arrived_, {0, 0}), others + 1);
    });
  });
  meet();
}

void Lowering::add_up(const Value& slot) {
  const std::vector<Buffer>& sums = work_.pieces()->sums;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Fragment sum = fragment(sums[i]);
    each(sum, [&](const Values& own) {
      return element(sum, own) + element(parts_[i], {slot, row_of(own[0], own_rows(sums[i])), own[1]});
    });
  }
}

}  // namespace plait::pipeline
