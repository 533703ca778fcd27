#include <algorithm>
#include <climits>

#include "ir/build.h"
#include "pipeline/threads.h"

// Copies and fills whose rows lie one element behind the other: pieces of up to 16 bytes, several under way.
namespace plait::pipeline {

using namespace ir;

namespace {

constexpr int kPieceBits = 128, kRegisterBits = 32;
constexpr std::int64_t kMostPieces = 4;  ///< of a thread, under way at one time

std::int64_t largest_divisor(std::int64_t of, std::int64_t most) {
  most = std::clamp<std::int64_t>(most, 1, of);
  while (of % most != 0) --most;
  return most;
}

/// Types whose elements are read, and made, within `each`.
bool is_read_in_each(DType type) { return dtype_bits(type) == 32 || type == DType::f16 || type == DType::bf16; }
bool is_made_in_each(DType type) { return is_read_in_each(type) || type == DType::e4m3 || type == DType::e5m2; }

}  // namespace

/// Neighbouring elements of a side's rows that are known to lie together in memory, aligned; 0 where nothing is.
int Threads::piece_of(const Side& side) const {
  const Region& region = *side.region;
  const Buffer& buffer = region.buffer;
  const int bits = dtype_bits(buffer->type);
  if (side.dims.empty() || side.dims.back() + 1 != region.ranges.size()) return 0;
  if (bits < 8 || bits > kRegisterBits || l_.locals_.contains(buffer.get())) return 0;
  std::int64_t piece = kPieceBits / bits;
  if (buffer->scope == Scope::global) {
    if (!buffer->strides.empty() && as_int(buffer->strides.back()) != 1) return 0;
    const place::Assumptions& known = l_.placed_.assumptions;
    if (known.unaligned.contains(buffer->name) || known.ragged.contains(buffer->name)) {
      auto granule = known.granules.find(buffer->name);
      std::int64_t bytes = granule == known.granules.end() ? 1 : granule->second;
      piece = std::clamp<std::int64_t>(bytes * 8 / bits, 1, piece);
    }
  } else if (l_.placed_.in_registers(buffer) && buffer->shape.size() != 2) {
    return 0;
  } else {
    while ((static_shape(*buffer).back() + buffer->pad) % piece != 0) piece /= 2;
  }
  while (piece > 1 && !place::is_multiple(region.ranges.back().begin, piece)) piece /= 2;
  return static_cast<int>(piece);
}

/// Whether accesses in pieces leave out what lies outside of the tensor: they see to its last two dimensions.
bool Threads::clips(const Side& side) {
  const Region& region = *side.region;
  if (region.buffer->scope != Scope::global) return true;
  std::size_t rank = region.ranges.size();
  for (std::size_t d = 0; d < rank; ++d) {
    const Range& range = region.ranges[d];
    const ExprRef& all = region.buffer->shape[d];
    if (!scalars_.is_least(range.begin, 0)) return false;
    if (d + 2 >= rank) continue;
    auto begin = as_int(range.begin), extent = as_int(range.extent), whole = as_int(all);
    bool literal = begin && extent && whole && *begin + *extent <= *whole;
    if (!literal && !(extent == 1 && scalars_.is_below(range.begin, all))) return false;
  }
  return true;
}

/// How threads share out what all sides have; none where pieces do not cover it evenly.
std::optional<Threads::Sweep> Threads::sweep_of(const Sides& sides) {
  Sweep how;
  how.has_rows = true;
  int piece = INT_MAX, widest = 1, narrowest = kRegisterBits;
  for (const Side* side : sides) {
    for (const Range& range : side->region->ranges) {
      if (!as_int(range.extent)) return {};
    }
    int bits = dtype_bits(side->region->buffer->type), own = piece_of(*side);
    if (own == 0 || !clips(*side)) return {};
    std::size_t walked = side->dims.size();
    how.has_rows = how.has_rows && walked > 1 && side->dims[walked - 2] + 2 == side->region->ranges.size();
    widest = std::max(widest, own);
    narrowest = std::min(narrowest, bits);
    if (own < kPieceBits / bits) piece = std::min(piece, own);
  }
  const Side& any = *sides.front();
  auto extent = [&](std::size_t behind) {
    return *as_int(any.region->ranges[any.dims[any.dims.size() - behind]].extent);
  };
  std::int64_t replicas = l_.placed_.replicas, threads = std::int64_t{l_.placed_.warps} * 32;
  how.own_columns = extent(1);
  how.own_rows = how.has_rows ? extent(2) : 1;
  bool by_rows = how.own_rows % replicas == 0;
  if (!by_rows && how.own_columns % replicas != 0) return {};
  (by_rows ? how.own_rows : how.own_columns) /= replicas;
  for (int vec = std::min(piece, widest); vec * narrowest >= kRegisterBits; vec /= 2) {
    std::int64_t lanes = threads & -threads;
    while (lanes > 1 && how.own_columns % (vec * lanes) != 0) lanes /= 2;
    if (how.own_columns % (vec * lanes) != 0 || how.own_rows % (threads / lanes) != 0) continue;
    how.vec = vec;
    how.lanes = static_cast<int>(lanes);
    how.along = how.own_columns / (vec * lanes);
    how.down = how.own_rows / (threads / lanes);
    std::int64_t together = largest_divisor(how.along, kMostPieces);
    std::int64_t rows = together == how.along ? largest_divisor(how.down, kMostPieces / together) : 1;
    how.along /= together;
    how.down /= rows;
    how.columns = vec * lanes * together;
    how.rows = threads / lanes * rows;
    if (by_rows) how.own_columns = 0;
    if (!by_rows) how.own_rows = 0;
    return how;
  }
  return {};
}

/// Calls `point` with where each access of all threads begins, one index a dimension that the side walks along.
void Threads::sweep(const Sweep& how, const Side& over, const Point& point) {
  std::size_t swept = how.has_rows ? 2 : 1, leading = over.dims.size() - swept;
  auto repeat = [&](std::int64_t times, const std::function<void(const Value&)>& body) {
    if (times == 1) return body(0);
    b_.loop(l_.fresh("e"), {0, times}, [&](const Value& e) {
      l_.swept_.insert(std::get<VarRef>(e.expr()->node).var.get());
      Lowering::BodyScope inner(l_);
      body(e);
    });
  };
  auto part = [&](const Value& turn, std::int64_t size, std::int64_t own) {
    Value at = as_int(turn.expr()) == 0 ? Value(0) : turn * size;
    if (l_.placed_.replicas == 1 || own == 0) return at;
    Value first = Value(b_.builtins().replica) * own;
    return as_int(at.expr()) == 0 ? first : first + at;
  };
  std::int64_t outer = 1;
  for (std::size_t d = 0; d < leading; ++d) outer *= *as_int(over.region->ranges[over.dims[d]].extent);
  Lowering::BodyScope scope(l_);
  repeat(outer, [&](const Value& number) {
    Values at(over.dims.size(), Value(0));
    Value rest = number;
    for (std::size_t d = leading; d-- > 0;) {
      std::int64_t extent = *as_int(over.region->ranges[over.dims[d]].extent);
      at[d] = d == 0 ? rest : rest % extent;
      rest = d == 0 ? rest : rest / extent;
    }
    repeat(how.down, [&](const Value& down) {
      repeat(how.along, [&](const Value& along) {
        if (how.has_rows) at[leading] = part(down, how.rows, how.own_rows);
        at.back() = part(along, how.columns, how.own_columns);
        point(at);
      });
    });
  });
}

Lowering::Fragment Threads::pieces(const Sweep& how, const std::string& name, DType type) {
  std::vector<std::int64_t> shape = {how.columns};
  if (how.rows > 1) shape.insert(shape.begin(), how.rows);
  return b_.fragment(l_.fresh(name), type, shape, roles::FragmentKind::vector, {how.vec, how.lanes, nullptr});
}

void Threads::load(const Lowering::Fragment& to, const Buffer& from, const Values& at, const CopyAttrs& attrs) {
  if (from->scope != Scope::global) return b_.add(roles::LoadShared{to, l_.place_of(from, at)});
  ExprRef pad = place::is_zero(attrs.pad) ? nullptr : place::pad_as(from->type, attrs.pad);
  auto hint = attrs.cache == CacheHint::evict_first ? roles::CacheHint::evict_first : roles::CacheHint::none;
  b_.add(roles::LoadTensor{to, roles::build::at(from, at), hint, pad});
}

void Threads::store(const Buffer& to, const Values& at, const Lowering::Fragment& from, roles::CacheHint hint) {
  if (to->scope != Scope::global) return b_.add(roles::StoreShared{l_.place_of(to, at), from});
  b_.add(roles::StoreTensor{roles::build::at(to, at), from, hint});
}

/// Whether it has been done: a copy without a row map or a valid part between rows that lie in pieces.
bool Threads::copy_wide(const TileOp& op, const Side& src, const Side& dst) {
  const CopyAttrs& attrs = std::get<CopyAttrs>(op.attrs);
  const Buffer &from = src.region->buffer, &to = dst.region->buffer;
  bool converts = from->type != to->type;
  if (attrs.rows || !attrs.valid.empty() || (converts && !(is_read_in_each(from->type) && is_made_in_each(to->type))))
    return false;
  if (from->scope == Scope::global && place::pad_as(from->type, attrs.pad) == nullptr) return false;
  auto how = sweep_of({&dst, &src});
  if (!how) return false;
  Lowering::Fragment read = pieces(*how, from->name + "_pieces", from->type), written = read;
  if (converts) written = l_.like(read, to->name + "_pieces", to->type);
  auto hint = attrs.cache == CacheHint::evict_first ? roles::CacheHint::evict_first : roles::CacheHint::none;
  sweep(*how, dst, [&](const Values& at) {
    load(read, from, index_at(src, at), attrs);
    if (converts) l_.each(written, read);
    store(to, index_at(dst, at), written, hint);
  });
  return true;
}

bool Threads::fill_wide(const Side& dst, const Value& value) {
  const Buffer& to = dst.region->buffer;
  if (!is_made_in_each(to->type)) return false;
  auto how = sweep_of({&dst});
  if (!how) return false;
  Lowering::Fragment filled = pieces(*how, to->name + "_pieces", to->type);
  l_.each(filled, [&](const Values&) { return value; });
  sweep(*how, dst, [&](const Values& at) { store(to, index_at(dst, at), filled, roles::CacheHint::none); });
  return true;
}

}  // namespace plait::pipeline
