#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "ir/build.h"
#include "ir/visit.h"
#include "layout/role_layout.h"
#include "roles/verify_parts.h"
#include "support/result.h"

namespace plait::roles {
namespace {

constexpr std::int64_t kPiece = 16;

class Copies {
 public:
  explicit Copies(const Check& check) : check_(check) {
    for (const ir::Param& param : check.program.params) {
      if (param.kind == ir::ParamKind::in) inputs_.insert(param.buffer.get());
    }
  }

  void run() {
    for_each_body(check_.program, [&](const Body& body) { walk(body, [&](const Stmt& stmt) { modes(stmt); }); });
    for (const ir::Param& param : check_.program.params) param_used(param);
    for (const Workspace& workspace : check_.program.workspaces) workspace_used(*workspace);
    scan(check_, [&](const Met& met) { std::visit([&](const auto& s) { check(met, s); }, met.stmt.node); });
  }

 private:
  void error(Rule rule, const Loc& part, const Met& met, std::string message, std::string fix = {}) {
    check_.diags.error(rule, loc_of(part, met.stmt), std::move(message), std::move(fix));
  }

  // Who reads and writes the tensors
  void modes(const Stmt& stmt);
  void write(const ir::Buffer& tensor, const Loc& loc);
  void param_used(const ir::Param& param);
  void workspace_used(const WorkspaceDecl& workspace);

  // Shared by the copies
  void box(const Met& met, const MapDecl& map, const SmemRef& ref);
  bool same_type(const Met& met, Rule rule, const SmemRef& ref, const ir::Buffer& tensor, ir::DType type);
  void bulk(const Met& met, const SmemRef& ref, const ir::Buffer& tensor, const ExprRef& bytes);
  void barrier(const Met& met, const MbarRef& ref);
  void fragment(const Met& met, const SmemRef& ref, const ir::BufferDecl& buffer) {
    std::vector<std::int64_t> shape = ir::static_shape(buffer);
    inside(check_, ref, place_of(ref, met.ranges), shape.size() > 1 ? shape.front() : 1, shape.back());
  }

  void check(const Met& met, const TmaLoad& s);
  void check(const Met& met, const TmaStore& s) { box(met, *s.map, s.src); }
  void check(const Met& met, const BulkLoad& s) {
    bulk(met, s.dst, s.src.tensor, s.bytes);
    barrier(met, s.mbar);
  }
  void check(const Met& met, const BulkStore& s) { bulk(met, s.src, s.dst.tensor, s.bytes); }
  void check(const Met& met, const CpAsync& s);
  void check(const Met& met, const PutPiece& s);
  void check(const Met& met, const PutShared& s) { inside(check_, s.dst, place_of(s.dst, met.ranges), 1, 1); }
  void check(const Met& met, const LoadShared& s) { fragment(met, s.src, *s.dst->buffer); }
  void check(const Met& met, const StoreShared& s) { fragment(met, s.dst, *s.src->buffer); }
  void check(const Met& met, const Wait& s) { barrier(met, s.mbar); }
  void check(const Met& met, const Expect& s) { barrier(met, s.mbar); }
  void check(const Met& met, const Arrive& s);
  void check(const Met& met, const Atomic& s) { atomic(met, *s.dst.tensor, s.dst.loc); }
  void check(const Met& met, const AtomicShared& s) {
    inside(check_, s.dst, place_of(s.dst, met.ranges), 1, 1);
    atomic(met, *s.dst.smem->buffer, s.dst.loc);
  }
  void atomic(const Met& met, const ir::BufferDecl& buffer, const Loc& loc);
  template <typename Other>
  void check(const Met&, const Other&) {}

  const Check& check_;
  std::set<const ir::BufferDecl*> inputs_, written_;
  std::map<const ir::BufferDecl*, Loc> read_;  ///< where first
};

// ---- Modes ---------------------------------------------------------------------------------------------------------

void Copies::write(const ir::Buffer& tensor, const Loc& loc) {
  written_.insert(tensor.get());
  if (!inputs_.contains(tensor.get())) return;
  check_.diags.error(Rule::tensor_mode, loc, fmt::format("`{}` is written, and it is an `in` parameter", tensor->name),
                     "declare the parameter `out` or `inout`");
}

void Copies::modes(const Stmt& stmt) {
  auto read = [&](const ir::Buffer& tensor) { read_.try_emplace(tensor.get(), stmt.loc); };
  std::visit(Overload{[&](const TmaLoad& s) { read(s.map->tensor); },
                      [&](const TmaStore& s) { write(s.map->tensor, stmt.loc); },
                      [&](const BulkLoad& s) { read(s.src.tensor); },
                      [&](const BulkStore& s) { write(s.dst.tensor, stmt.loc); },
                      [&](const CpAsync& s) { read(s.src.tensor); }, [&](const LoadTensor& s) { read(s.src.tensor); },
                      [&](const StoreTensor& s) { write(s.dst.tensor, stmt.loc); },
                      [&](const PutTensor& s) { write(s.dst.tensor, stmt.loc); },
                      [&](const PutPiece& s) { write(s.dst.tensor, stmt.loc); },
                      [&](const Issue& s) {
                        for (const TaskOperand& operand : s.reads) {
                          if (const auto* ref = std::get_if<TensorRef>(&operand)) read(ref->tensor);
                        }
                        for (const TaskOperand& operand : s.writes) {
                          if (const auto* ref = std::get_if<TensorRef>(&operand)) write(ref->tensor, stmt.loc);
                        }
                      },
                      [&](const Atomic& s) {
                        write(s.dst.tensor, stmt.loc);
                        read(s.dst.tensor);
                      },
                      [](const auto&) {}},
             stmt.node);
  Visitor look;
  look.expr = [&](const ExprRef& e) {
    ir::walk(e, [&](const ir::Expr& x) {
      const auto* load = std::get_if<ir::Load>(&x.node);
      if (load != nullptr && load->buffer->scope == ir::Scope::global) read(load->buffer);
    });
  };
  visit(stmt, look);
}

void Copies::param_used(const ir::Param& param) {
  if (param.kind != ir::ParamKind::out || written_.contains(param.buffer.get())) return;
  const std::string& name = param.buffer->name;
  auto read = read_.find(param.buffer.get());
  if (read != read_.end()) {
    check_.diags.error(Rule::tensor_mode, read->second,
                       fmt::format("`{}` is read, and it is an `out` parameter that nothing writes", name),
                       "declare the parameter `in`");
  } else {
    check_.diags.error(Rule::out_not_written, param.buffer->loc.known() ? param.buffer->loc : check_.program.loc,
                       fmt::format("`{}` is an `out` parameter that nothing writes", name));
  }
}

void Copies::workspace_used(const WorkspaceDecl& workspace) {
  auto read = read_.find(workspace.buffer.get());
  if (workspace.zero || read == read_.end() || written_.contains(workspace.buffer.get())) return;
  check_.diags.error(Rule::tensor_mode, read->second,
                     fmt::format("`{}` is read, and it is a workspace that nothing writes", workspace.buffer->name),
                     "declare it `zero`, or write it before");
}

// ---- Copies --------------------------------------------------------------------------------------------------------

/// Whether the tile is of the type in which the tensor's elements are moved.
bool Copies::same_type(const Met& met, Rule rule, const SmemRef& ref, const ir::Buffer& tensor, ir::DType type) {
  if (ref.smem->buffer->type == type) return true;
  std::string_view own = ir::dtype_name(ref.smem->buffer->type);
  if (type != tensor->type) {
    error(rule, ref.loc, met,
          fmt::format("`{}` is of {}, and of `{}`, of {}, the bytes are moved", ref.smem->buffer->name, own,
                      tensor->name, ir::dtype_name(tensor->type)),
          fmt::format("make the tile one of {}", ir::dtype_name(type)));
    return false;
  }
  error(rule, ref.loc, met,
        fmt::format("`{}` is of {}, and `{}` of {}", ref.smem->buffer->name, own, tensor->name,
                    ir::dtype_name(tensor->type)),
        "copies do not convert: give both the same type");
  return false;
}

void Copies::box(const Met& met, const MapDecl& map, const SmemRef& ref) {
  if (!same_type(met, Rule::map_tile, ref, map.tensor, moved_type(map))) return;
  layout::TmaBox box = layout::tma_box(map);
  TilePlace place = place_of(ref, met.ranges);
  if (!inside(check_, ref, place, box.rows(), box.extents.back())) return;
  clean(check_, Rule::map_tile, loc_of(ref.loc, met.stmt),
        fmt::format("the box of `{}` in `{}`", map.name, ref.smem->buffer->name),
        layout::box_place_error(box, layout::smem_tile(*ref.smem), place.row.example(), place.column.example()));
}

void Copies::barrier(const Met& met, const MbarRef& ref) {
  Range index = met.ranges.of(ref.index);
  if (index.least < ref.mbar->size && index.most >= 0) return;
  error(Rule::role_index, ref.loc, met,
        fmt::format("the index of `{}` lies outside its {} barriers", ref.mbar->name, ref.mbar->size));
}

void Copies::check(const Met& met, const Arrive& s) {
  barrier(met, s.mbar);
  if (s.rank == nullptr) return;
  int cluster = check_.program.cluster;
  if (cluster == 1)
    return error(Rule::cluster_use, s.rank->loc, met, "an arrival at another block, and the program has no cluster");
  Range rank = met.ranges.of(s.rank);
  if (rank.least < cluster && rank.most >= 0) return;
  error(Rule::cluster_use, s.rank->loc, met, fmt::format("the cluster has no such block: it has {}", cluster),
        fmt::format("blocks of the cluster are 0 to {}", cluster - 1));
}

void Copies::check(const Met& met, const TmaLoad& s) {
  box(met, *s.map, s.dst);
  barrier(met, s.mbar);
  if (s.multicast == nullptr) return;
  int cluster = check_.program.cluster;
  if (cluster == 1)
    return error(Rule::cluster_use, s.multicast->loc, met, "a multicast load, and the program has no cluster");
  Range mask = met.ranges.of(s.multicast);
  if (!mask.constant() || (mask.least > 0 && mask.least >> cluster == 0)) return;
  error(Rule::cluster_use, s.multicast->loc, met,
        fmt::format("the mask {} names no blocks, or blocks that a cluster of {} does not have", mask.least, cluster),
        fmt::format("bit i is block i of the cluster: write 1 to {}", (1 << cluster) - 1));
}

void Copies::bulk(const Met& met, const SmemRef& ref, const ir::Buffer& tensor, const ExprRef& bytes) {
  if (!same_type(met, Rule::bulk_bytes, ref, tensor, tensor->type)) return;
  layout::SmemTile tile = layout::smem_tile(*ref.smem);
  if (tile.span != 0) {
    return error(Rule::bulk_bytes, ref.loc, met,
                 fmt::format("`{}` has a swizzle, and bulk copies keep the order of bytes", ref.smem->buffer->name),
                 "declare the tile without a swizzle, or copy by tma_load and tma_store");
  }
  Range size = met.ranges.of(bytes);
  if (size.most < 1 || size.never_multiple(kPiece))
    return error(Rule::bulk_bytes, bytes->loc, met,
                 size.constant() ? fmt::format("a bulk copy of {} bytes", size.least)
                                 : std::string("these bytes are never a positive multiple of 16"));
  TilePlace place = place_of(ref, met.ranges);
  if (!inside(check_, ref, place, 1, 1)) return;
  std::int64_t begin =
      tile.linear_offset(std::max<std::int64_t>(place.row.least, 0), std::max<std::int64_t>(place.column.least, 0));
  std::int64_t aligned = tile.linear_offset(place.row.example(), place.column.example());
  if (aligned % kPiece != 0)
    return error(Rule::bulk_bytes, ref.loc, met, fmt::format("the copy begins at byte {} of the tile", aligned),
                 "begin it at a multiple of 16 bytes");
  if (size.least <= tile.bytes() - begin) return;
  error(Rule::tile_bounds, ref.loc, met,
        fmt::format("{} bytes from byte {} on leave `{}`, which has {}", size.least, begin, ref.smem->buffer->name,
                    tile.bytes()));
}

void Copies::check(const Met& met, const CpAsync& s) {
  if (s.piece != 16 && s.piece != 8 && s.piece != 4)
    return error(Rule::cp_async_tile, s.dst.loc, met, fmt::format("pieces of {} bytes", s.piece), "write 16, 8 or 4");
  if (!same_type(met, Rule::cp_async_tile, s.dst, s.src.tensor, s.src.tensor->type)) return;
  layout::SmemTile tile = layout::smem_tile(*s.dst.smem);
  std::int64_t bytes = s.columns * tile.bits / 8;
  if (s.rows < 1 || s.columns < 1 || bytes % s.piece != 0) {
    return error(Rule::cp_async_tile, s.dst.loc, met, fmt::format("rows of {} bytes, {} of them", bytes, s.rows),
                 fmt::format("copy at least one row of a multiple of {} bytes", s.piece));
  }
  if (s.src.tensor->shape.size() < 2 && s.rows > 1)
    return error(Rule::cp_async_tile, s.src.loc, met,
                 fmt::format("{} rows of `{}`, which has one dimension", s.rows, s.src.tensor->name), "copy one row");
  TilePlace place = place_of(s.dst, met.ranges);
  if (!inside(check_, s.dst, place, s.rows, s.columns)) return;
  std::int64_t aligned = place.column.example() * tile.bits / 8;
  if (aligned % s.piece == 0 && tile.pitch() % s.piece == 0) return;
  error(Rule::cp_async_tile, s.dst.loc, met,
        aligned % s.piece != 0
            ? fmt::format("the copy begins at byte {} of a row", aligned)
            : fmt::format("the rows of `{}` follow at {} bytes", s.dst.smem->buffer->name, tile.pitch()),
        fmt::format("begin at, and pad rows to, a multiple of {} bytes", s.piece));
}

void Copies::check(const Met& met, const PutPiece& s) {
  if (s.piece != 16 && s.piece != 8 && s.piece != 4)
    return error(Rule::cp_async_tile, s.src.loc, met, fmt::format("pieces of {} bytes", s.piece), "write 16, 8 or 4");
  if (!same_type(met, Rule::cp_async_tile, s.src, s.dst.tensor, s.dst.tensor->type)) return;
  layout::SmemTile tile = layout::smem_tile(*s.src.smem);
  if (tile.bits > s.piece * 8)
    return error(Rule::cp_async_tile, s.src.loc, met,
                 fmt::format("pieces of {} bytes of elements of {} bits", s.piece, tile.bits),
                 "move at least one element");
  TilePlace place = place_of(s.src, met.ranges);
  if (!inside(check_, s.src, place, 1, s.piece * 8 / tile.bits)) return;
  std::int64_t begin = place.column.example() * tile.bits / 8;
  if (begin % s.piece == 0 && tile.pitch() % s.piece == 0) return;
  error(Rule::cp_async_tile, s.src.loc, met, fmt::format("the piece begins at byte {} of a row", begin),
        fmt::format("begin at, and pad rows to, a multiple of {} bytes", s.piece));
}

void Copies::atomic(const Met& met, const ir::BufferDecl& buffer, const Loc& loc) {
  static constexpr DType kTypes[] = {DType::i32, DType::i64,  DType::u32, DType::u64,
                                     DType::f16, DType::bf16, DType::f32, DType::f64};
  if (std::find(std::begin(kTypes), std::end(kTypes), buffer.type) != std::end(kTypes)) return;
  error(Rule::atomic_type, loc, met, fmt::format("`{}` is of {}", buffer.name, ir::dtype_name(buffer.type)));
}

}  // namespace

void check_copies(const Check& check) { Copies(check).run(); }

}  // namespace plait::roles
