#include "explain/layouts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "explain/table.h"
#include "ir/build.h"
#include "layout/banks.h"
#include "layout/matrix_access.h"
#include "place/placed.h"
#include "roles/arena.h"
#include "roles/print.h"
#include "roles/visit.h"

namespace plait::explain {
namespace {

constexpr std::int64_t kLanes = 32, kUnit = 16;  // of a warp; bytes of the widest access

/// What a warp does to a tile, instruction by instruction; places in the tile count from its first element.
using Accesses = std::vector<layout::WarpAccess>;

Accesses matrix_moves(const layout::MatrixRequest& request, const layout::SmemTile& tile) {
  Accesses out;
  if (layout::matrix_access_error(request)) return out;
  for (const layout::MatrixAccess& move : layout::matrix_accesses(request)) {
    layout::WarpAccess access{{}, static_cast<int>(kUnit)};
    for (const layout::Coord& lane : move.lanes) access.addresses.push_back(tile.offset(lane.row, lane.column));
    out.push_back(std::move(access));
  }
  return out;
}

/// Each lane's elements in pieces of at most 16 bytes.
Accesses element_moves(const roles::FragmentDecl& fragment, std::int64_t threads, const layout::SmemTile& tile) {
  layout::FragmentMap map = layout::fragment_map(fragment, threads);
  std::int64_t bytes = std::max(tile.bits / 8, 1), run = 1;
  const auto& digits = map.element_digits();
  if (!digits.empty() && digits[0].step == layout::Coord{0, 1}) run = digits[0].extent;
  std::int64_t count = std::max<std::int64_t>(std::min(run, kUnit / bytes), 1);
  while (count & (count - 1)) --count;
  Accesses out;
  for (std::int64_t e = 0; e < map.elements_per_thread(); e += count) {
    layout::WarpAccess access{{}, static_cast<int>(count * bytes)};
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      layout::Coord at = map.coord(lane % map.threads(), e);
      if (fragment.kind == roles::FragmentKind::rows) std::swap(at.row, at.column);
      bool inside = at.row < tile.rows && at.column < tile.columns;
      access.addresses.push_back(inside ? tile.offset(at.row, at.column) : -1);
    }
    out.push_back(std::move(access));
  }
  return out;
}

/// Matrices of 8 rows of 16 bytes, as the tensor core reads an operand.
Accesses operand_reads(const layout::SmemTile& tile) {
  std::int64_t per_unit = kUnit * 8 / tile.bits;
  Accesses out;
  for (std::int64_t column = 0; column + per_unit <= std::min(tile.columns, tile.panel_columns()); column += per_unit) {
    layout::WarpAccess access{{}, static_cast<int>(kUnit)};
    for (std::int64_t row = 0; row < std::min<std::int64_t>(8, tile.rows); ++row)
      access.addresses.push_back(tile.offset(row, column));
    out.push_back(std::move(access));
  }
  return out;
}

/// Finds what a role does to the tiles.
class Finder {
 public:
  Finder(Layouts& out, std::int64_t threads) : out_(out), threads_(threads) {}

  void look(const roles::Stmt& stmt) {
    stmt_ = &stmt;
    std::visit([&](const auto& node) { find(node); }, stmt.node);
  }

 private:
  template <typename Node>
  void find(const Node&) {}
  void find(const roles::LdMatrix& n) {
    layout::FragmentMap map = layout::fragment_map(*n.dst.fragment, threads_);
    layout::Coord begin = begin_of(n.dst);
    add(n.src.smem, "ldmatrix", [&](const layout::SmemTile& tile) {
      return matrix_moves({map, tile.bits, 0, begin, map.rows() - begin.row, map.columns() - begin.column, n.trans},
                          tile);
    });
  }
  void find(const roles::StMatrix& n) {
    layout::FragmentMap map = layout::fragment_map(*n.src.fragment, threads_);
    add(n.dst.smem, "stmatrix", [&](const layout::SmemTile& tile) {
      return matrix_moves({map, tile.bits, 0, begin_of(n.src), place::kWarpgroupRows, n.columns, false}, tile);
    });
  }
  void find(const roles::LoadShared& n) {
    add(n.src.smem, "load_shared", [&](const layout::SmemTile& tile) { return element_moves(*n.dst, threads_, tile); });
  }
  void find(const roles::StoreShared& n) {
    add(n.dst.smem, "store_shared",
        [&](const layout::SmemTile& tile) { return element_moves(*n.src, threads_, tile); });
  }
  void find(const roles::Wgmma& n) {
    if (const auto* a = std::get_if<roles::SmemRef>(&n.a)) add(a->smem, "wgmma", operand_reads);
    add(n.b.smem, "wgmma", operand_reads);
  }
  static layout::Coord begin_of(const roles::FragmentRef& ref) {
    auto at = [&](std::size_t d) { return d < ref.begin.size() ? ir::as_int(ref.begin[d]).value_or(0) : 0; };
    return ref.begin.size() < 2 ? layout::Coord{0, at(0)} : layout::Coord{at(0), at(1)};
  }

  template <typename Fn>
  void add(const roles::Smem& smem, std::string_view word, Fn accesses);

  Layouts& out_;
  std::int64_t threads_;
  const roles::Stmt* stmt_ = nullptr;
};

/// Notes the accesses of a statement; those of a line once.
template <typename Fn>
void Finder::add(const roles::Smem& smem, std::string_view word, Fn accesses) {
  auto layout =
      std::find_if(out_.shared.begin(), out_.shared.end(), [&](const SharedLayout& s) { return s.smem == smem; });
  if (layout == out_.shared.end()) return;
  BankUse use{stmt_->origin.known() ? stmt_->origin : stmt_->loc, std::string(word), 0, 0};
  auto known = [&](const BankUse& u) { return u.word == use.word && u.loc.line == use.loc.line; };
  if (std::any_of(layout->uses.begin(), layout->uses.end(), known)) return;
  for (const layout::WarpAccess& access : accesses(layout->tile)) {
    ++use.instructions;
    use.conflicts += layout::bank_conflicts(access);
  }
  layout->uses.push_back(std::move(use));
}

}  // namespace

Layouts layouts_of(const roles::Program& program) {
  Layouts out;
  for (const roles::Smem& smem : program.smem) out.shared.push_back({smem, layout::smem_tile(*smem), {}});
  for (const roles::Role& role : program.roles) {
    std::int64_t threads = std::int64_t{role.warps} * kLanes;
    Finder finder(out, threads);
    roles::walk(role.body, [&](const roles::Stmt& stmt) {
      finder.look(stmt);
      if (const auto* def = std::get_if<roles::DefFragment>(&stmt.node))
        out.fragments.push_back({def->fragment, role.name, role.replicas, threads,
                                 layout::fragment_map(*def->fragment, threads),
                                 roles::fragment_registers(*def->fragment, threads)});
    });
  }
  return out;
}

std::string home_text(const layout::SmemTile& tile) {
  std::string pad = tile.pad > 0 ? fmt::format(", {} elements behind each row", tile.pad) : "";
  if (tile.span == 0) return "rows one behind the other" + pad;
  return fmt::format("{}-byte swizzle, {} panel{} of {} columns", tile.span, tile.panels(),
                     tile.panels() == 1 ? "" : "s", tile.panel_columns());
}

std::string home_text(const RegisterLayout& layout) {
  const roles::FragmentDecl& f = *layout.fragment;
  std::string kind(roles::kind_name(f.kind));
  if (f.kind == roles::FragmentKind::vector)
    kind += fmt::format(", {} lanes a row, {} neighbours each", f.lanes, f.vec);
  if (roles::is_side(f.kind)) kind += fmt::format(" of {}", f.of->buffer->name);
  return fmt::format("{}; {} elements a thread, each in {} thread{}", kind, layout.map.elements_per_thread(),
                     layout.map.replication(), layout.map.replication() == 1 ? "" : "s");
}

std::string text(const Layouts& layouts) {
  auto type = [](const ir::Buffer& buffer) {
    return fmt::format("{}[{}]", ir::dtype_name(buffer->type), fmt::join(ir::static_shape(*buffer), ", "));
  };
  std::string out = "\ntiles in shared memory\n";
  Table tiles({"tile", "type", "layout", "bytes"}, "lllr");
  for (const SharedLayout& s : layouts.shared)
    tiles.add({s.smem->buffer->name, type(s.smem->buffer), home_text(s.tile), std::to_string(s.tile.bytes())});
  out += tiles.text(2) + "\nfragments in registers\n";
  Table fragments({"fragment", "type", "role", "layout", "registers"}, "llllr");
  for (const RegisterLayout& f : layouts.fragments)
    fragments.add(
        {f.fragment->buffer->name, type(f.fragment->buffer), f.role, home_text(f), std::to_string(f.registers)});
  out += fragments.text(2) + "\nbank conflicts, of one warp's accesses by a statement\n";
  Table banks({"tile", "statement", "place", "accesses", "conflicts"}, "lllrr");
  for (const SharedLayout& s : layouts.shared) {
    for (const BankUse& use : s.uses)
      banks.add({s.smem->buffer->name, use.word,
                 use.loc.known() ? fmt::format("{}:{}", use.loc.source->name(), use.loc.line) : use.loc.str(),
                 std::to_string(use.instructions), std::to_string(use.conflicts)});
  }
  return out + banks.text(2);
}

}  // namespace plait::explain
