#include <fmt/format.h>

#include <numeric>

#include "ir/build.h"
#include "place/placer.h"

namespace plait::place {

using namespace ir;

namespace {

constexpr int kAccessBits = 128;
/// Lanes over which a row is reduced by shuffles alone.
constexpr int kWarp = 32;
/// Registers of fragments a thread, above which more threads share them.
constexpr std::int64_t kMostRegisters = 64;

}  // namespace

int widest_piece(DType type) { return std::max(kAccessBits / std::max(dtype_bits(type), 8), 1); }

void Placer::move_out(const Buffer& buffer, const std::string& why) {
  if (moved_.try_emplace(buffer.get(), why).second) again_ = true;
}

/// Those for which no product dictates a layout, by what ties them together.
std::vector<Placer::Family> Placer::families() const {
  std::vector<Buffer> free;
  std::unordered_map<const BufferDecl*, std::size_t> number;
  for (const Buffer& buffer : buffers_) {
    if (!may_hold(buffer) || placed_.fragments.contains(buffer.get()) || buffer->shape.size() > 2) continue;
    number[buffer.get()] = free.size();
    free.push_back(buffer);
  }
  std::vector<std::size_t> head(free.size());
  std::iota(head.begin(), head.end(), 0);
  auto find = [&](std::size_t i) {
    while (head[i] != i) i = head[i] = head[head[i]];
    return i;
  };
  auto tie = [&](const std::pair<Buffer, Buffer>& pair) {
    auto a = number.find(pair.first.get()), b = number.find(pair.second.get());
    if (a != number.end() && b != number.end()) head[find(b->second)] = find(a->second);
  };
  std::for_each(same_.begin(), same_.end(), tie);
  std::for_each(rows_.begin(), rows_.end(), tie);
  std::for_each(columns_.begin(), columns_.end(), tie);
  auto is_columns = [&](const Buffer& buffer) {
    return std::any_of(columns_.begin(), columns_.end(), [&](const auto& pair) { return pair.first == buffer; });
  };
  std::vector<Family> made(free.size());
  for (std::size_t i = 0; i < free.size(); ++i) {
    Family& family = made[find(i)];
    if (free[i]->shape.size() == 2) family.tiles.push_back(free[i]);
    family.has_rows = family.has_rows || (free[i]->shape.size() == 1 && !is_columns(free[i]));
  }
  std::erase_if(made, [](const Family& family) { return family.tiles.empty(); });
  return made;
}

/// The most neighbouring elements that one access takes: 16 bytes of the narrowest type that the buffer is copied from
/// or to; none where nothing says.
std::optional<int> Placer::piece_limit(const Buffer& buffer) const {
  std::optional<int> most;
  for (const Copy& copy : copies_) {
    for (const auto& [own, other] : {std::pair(&copy.src, &copy.dst), std::pair(&copy.dst, &copy.src)}) {
      const std::string& name = other->buffer->name;
      if (own->buffer != buffer || may_hold(other->buffer)) continue;
      if (placed_.assumptions.unaligned.contains(name) || placed_.assumptions.ragged.contains(name)) return 1;
      most = std::max(most.value_or(1), widest_piece(other->buffer->type));
    }
  }
  return most;
}

/// One layout for each tile of a family, in which a row lies in the same threads: in the widest pieces that all can
/// have, a row by as many lanes as it fills.
std::optional<std::vector<FragmentHome>> Placer::layout_of(const Family& family, int warps) const {
  std::optional<std::vector<FragmentHome>> best;
  double score = 0;
  std::map<std::int64_t, int> limits;  // by columns: tiles of one shape lie alike
  for (const Buffer& tile : family.tiles) {
    auto limit = piece_limit(tile);
    if (!limit) continue;
    auto [known, added] = limits.try_emplace(static_shape(*tile)[1], *limit);
    known->second = std::min(known->second, *limit);
  }
  for (const Buffer& tile : family.tiles) limits.try_emplace(static_shape(*tile)[1], widest_piece(tile->type));
  int threads = warps * kWarp;
  for (int lanes = threads & -threads; lanes >= 1; lanes /= 2) {
    std::vector<FragmentHome> homes;
    double widest = 1;
    for (const Buffer& tile : family.tiles) {
      std::vector<std::int64_t> shape = static_shape(*tile);
      std::int64_t rows = shape[0] / placed_.replicas;
      if (shape[0] % placed_.replicas != 0 || rows % (threads / lanes) != 0 || shape[1] % lanes != 0) break;
      FragmentHome home{roles::FragmentKind::vector, limits.at(shape[1]), lanes, {}};
      while (shape[1] % (std::int64_t{home.vec} * lanes) != 0) home.vec /= 2;
      widest = std::min(widest, double(home.vec) / limits.at(shape[1]));
      homes.push_back(home);
    }
    if (homes.size() != family.tiles.size()) continue;
    if (lanes > kWarp) widest /= 2;  // only where nothing narrower is as good
    if (widest <= score) continue;
    score = widest;
    best = std::move(homes);
  }
  return best;
}

/// Of the only role that computes where no product takes whole warpgroups: as many as the author asks for, or what
/// holds the fragments, but no more than the rows can be shared out to.
int Placer::choose_warps(const std::vector<Family>& families) const {
  std::int64_t bytes = 0;
  for (const Family& family : families) {
    for (const Buffer& tile : family.tiles) {
      std::vector<std::int64_t> shape = static_shape(*tile);
      bytes += shape[0] * shape[1] * dtype_bits(tile->type) / 8;
    }
  }
  int asked = 4;
  while (asked < 8 && bytes / 4 > kMostRegisters * asked * kWarp) asked *= 2;
  if (kernel_.threads) asked = std::max(*kernel_.threads / kWarp, 1);
  for (int warps = asked; warps > 1; warps = (warps + 1) / 2) {
    auto fits = [&](const Family& family) {
      auto of_one = layout_of(family, 1), homes = layout_of(family, warps);
      if (!of_one || !homes) return !of_one;
      // Rows over several warps pay where accesses are as wide.
      auto narrower = [&](std::size_t i) { return (*homes)[i].lanes > kWarp && (*homes)[i].vec < (*of_one)[i].vec; };
      for (std::size_t i = 0; i < homes->size(); ++i) {
        if (family.has_rows && narrower(i)) return false;
      }
      return true;
    };
    if (std::all_of(families.begin(), families.end(), fits)) return warps;
  }
  return 1;
}

void Placer::choose_free() {
  std::vector<Family> all = families();
  bool dictated = false;
  for (const auto& [stmt, atom] : placed_.atoms) dictated = dictated || std::holds_alternative<GemmAtom>(atom);
  if (!dictated) placed_.warps = choose_warps(all);
  for (const Family& family : all) {
    auto homes = layout_of(family, placed_.warps);
    for (std::size_t i = 0; i < family.tiles.size(); ++i) {
      if (homes) placed_.fragments.emplace(family.tiles[i].get(), (*homes)[i]);
    }
  }
  if (!dictated && kernel_.threads && placed_.warps * kWarp < *kernel_.threads)
    remark(kernel_.loc,
           fmt::format("{} threads compute rather than {}: the rows of its fragments are shared out evenly",
                       placed_.warps * kWarp, *kernel_.threads));
  spread();
}

}  // namespace plait::place
