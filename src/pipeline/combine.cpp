#include "pipeline/lowering.h"
#include "roles/arena.h"

// Tiles that several blocks sum pieces of: who comes last adds them up.
namespace plait::pipeline {

using namespace ir;
using roles::build::at;
using roles::build::element;

/// Memory for the sums of pieces and for the number of those that are there.
void Lowering::declare_sums() {
  if (work_.pieces() == nullptr) return;
  arrivals_ = b_.workspace(fresh_in_head("arrivals"), DType::i32, {max(work_.tiles(), 1)}, true);
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

/// What follows the loop is done by the block that comes last to the tile, with the sums of all, added in the order of
/// the iterations: the same bits whoever is last.
void Lowering::combined(const std::function<void()>& rest) {
  const WorkMap::Piece& piece = work_.piece();
  Var last = b_.var(fresh("last"), DType::bool_, true);
  b_.if_(piece.of > 1, [&] {
    hand_over(piece);
    b_.set(last, element(arrived_, {0, 0}) == piece.of - 1);
    b_.if_(last, [&] { add_up(piece); });
  });
  b_.if_(last, [&] {
    BodyScope scope(*this);
    rest();
  });
}

void Lowering::hand_over(const WorkMap::Piece& piece) {
  const std::vector<Buffer>& sums = work_.pieces()->sums;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    Value row = row_of(0, own_rows(sums[i]));
    b_.add(roles::StoreTensor{at(parts_[i], {piece.slot(piece.own), row, 0}), fragment(sums[i])});
  }
  meet();
  b_.if_(Value(b_.builtins().replica) == 0, [&] {
    b_.elect([&] {
      b_.add(roles::Fence{roles::FenceKind::gpu});
      Value others = b_.atomic_add(fresh("others"), at(arrivals_, {piece.tile}), 1);
      b_.add(roles::Fence{roles::FenceKind::gpu});
      b_.put(at(arrived_, {0, 0}), others);
    });
  });
  meet();
}

void Lowering::add_up(const WorkMap::Piece& piece) {
  const std::vector<Buffer>& sums = work_.pieces()->sums;
  for (const Buffer& sum : sums) each(fragment(sum), [&](const Values&) { return zero_of(sum->type); });
  b_.loop(fresh("p"), {0, piece.of}, [&](const Value& p) {
    BodyScope scope(*this);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      Value slot = b_.let(fresh("slot"), piece.slot(p));
      Fragment sum = fragment(sums[i]);
      each(sum, [&](const Values& own) {
        return element(sum, own) + element(parts_[i], {slot, row_of(own[0], own_rows(sums[i])), own[1]});
      });
    }
  });
}

}  // namespace plait::pipeline
