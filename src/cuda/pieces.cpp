#include "cuda/pieces.h"

#include <algorithm>

#include "support/result.h"

namespace plait::cuda {
namespace {

constexpr std::int64_t kBulkBits = 128;     ///< of cp.async and the bulk copies
constexpr std::int64_t kRegisterBits = 32;  ///< neighbours in one register of a matrix operand

std::int64_t fragment_piece(const roles::FragmentDecl& fragment) {
  switch (fragment.kind) {
    case roles::FragmentKind::vector:
      return std::min<std::int64_t>(fragment.vec, kBulkBits / ir::dtype_bits(fragment.buffer->type));
    case roles::FragmentKind::wgmma_acc:
    case roles::FragmentKind::mma_acc:
      return 2;
    case roles::FragmentKind::wgmma_a:
    case roles::FragmentKind::mma_a:
    case roles::FragmentKind::mma_b:
      return std::max<std::int64_t>(kRegisterBits / ir::dtype_bits(fragment.buffer->type), 1);
    case roles::FragmentKind::rows:
      return 1;
    case roles::FragmentKind::columns:
      if (fragment.of->kind != roles::FragmentKind::vector) return fragment_piece(*fragment.of);
      return std::min<std::int64_t>(fragment.of->vec, kBulkBits / ir::dtype_bits(fragment.buffer->type));
  }
  throw InternalError("a kind of fragment without a piece");
}

class Collector {
 public:
  void body(const roles::Body& statements) {
    for (const roles::StmtRef& stmt : statements) {
      std::visit(
          Overload{
              [&](const roles::For& s) { body(s.body); },
              [&](const roles::While& s) { body(s.body); },
              [&](const roles::If& s) {
                body(s.then_body);
                body(s.else_body);
              },
              [&](const roles::Elect& s) { body(s.body); },
              [&](const roles::OneWarp& s) { body(s.body); },
              [&](const roles::LoadTensor& s) { add(s.src, fragment_piece(*s.dst), true); },
              [&](const roles::StoreTensor& s) { add(s.dst, fragment_piece(*s.src), true); },
              [&](const roles::CpAsync& s) { add(s.src, s.piece * 8 / ir::dtype_bits(s.src.tensor->type), true); },
              [&](const roles::PutPiece& s) { add(s.dst, s.piece * 8 / ir::dtype_bits(s.dst.tensor->type), true); },
              [&](const roles::BulkLoad& s) { add(s.src, bulk_piece(s.src), false); },
              [&](const roles::BulkStore& s) { add(s.dst, bulk_piece(s.dst), false); },
              // Every other statement moves no rows of a tensor, or does so through a map.
              [](const auto&) {},
          },
          stmt->node);
    }
  }
  std::map<const ir::BufferDecl*, Piece> found;

 private:
  static std::int64_t bulk_piece(const roles::TensorRef& ref) { return kBulkBits / ir::dtype_bits(ref.tensor->type); }
  void add(const roles::TensorRef& ref, std::int64_t elements, bool whole) {
    if (elements <= 1) return;
    Piece& piece = found[ref.tensor.get()];
    piece.elements = std::max(piece.elements, elements);
    piece.whole = piece.whole || whole;
  }
};

}  // namespace

std::map<const ir::BufferDecl*, Piece> pieces(const roles::Program& program) {
  Collector collector;
  collector.body(program.prologue);
  for (const roles::Role& role : program.roles) collector.body(role.body);
  return std::move(collector.found);
}

}  // namespace plait::cuda
