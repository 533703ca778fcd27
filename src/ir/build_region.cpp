#include <fmt/format.h>

#include <algorithm>

#include "ir/expr_util.h"
#include "ir/visit.h"

namespace plait::ir {
namespace {

using Extents = std::vector<ExprRef>;

bool is_one(const ExprRef& e) { return as_int(e) == 1; }
ExprRef one() { return typed_int(DType::i64, 1); }

/// How much of a region its author gave.
enum class Form {
  open,   ///< A[r, c]: every extent comes from the other side
  mixed,  ///< A[b, r : r + 64]: a bare index beside ranges
  full,   ///< A, A[:, r : r + 64]
};

bool is_bare(const RegionSpec::Dim& dim) { return dim.begin != nullptr && dim.extent == nullptr; }

Form form_of(const RegionSpec& spec) {
  auto bare = std::count_if(spec.dims.begin(), spec.dims.end(), is_bare);
  if (bare == 0) return Form::full;
  return static_cast<std::size_t>(bare) == spec.dims.size() ? Form::open : Form::mixed;
}

std::string extents_text(const Extents& extents) {
  std::string out;
  for (const ExprRef& e : extents) out += (out.empty() ? "" : ", ") + print(*e);
  return "[" + out + "]";
}

bool check_rank(const RegionSpec& spec, Diagnostics& diags) {
  std::size_t rank = spec.buffer->shape.size();
  if (spec.dims.empty() || spec.dims.size() == rank) return true;
  diags.error(Rule::index_rank, spec.loc,
              fmt::format("{} has {} dimension{}, but is indexed with {}", spec.buffer->name, rank,
                          rank == 1 ? "" : "s", spec.dims.size()));
  return false;
}

ExprRef to_extent(const ExprRef& e, const RegionSpec& spec, Diagnostics& diags) {
  ExprRef extent = convert_for_store(DType::i64, e, spec.loc, diags);
  if (extent == nullptr || !as_int(extent) || *as_int(extent) >= 0) return extent;
  diags.error(Rule::range_extent, place_of(e, spec.loc),
              fmt::format("a range of {} ends {} before it begins", spec.buffer->name,
                          0 - static_cast<std::uint64_t>(*as_int(extent))));
  return nullptr;
}

/// The region with one element where the author gave a bare index; nullopt after a report.
std::optional<Region> resolve(const RegionSpec& spec, Diagnostics& diags) {
  if (!check_rank(spec, diags)) return std::nullopt;
  Region region{spec.buffer, {}, spec.loc};
  for (std::size_t d = 0; d < spec.buffer->shape.size(); ++d) {
    RegionSpec::Dim dim = spec.dims.empty() ? RegionSpec::Dim{} : spec.dims[d];
    Range range{typed_int(DType::i64, 0), one()};
    if (dim.begin != nullptr) range.begin = convert_for_store(DType::i64, dim.begin, spec.loc, diags);
    if (dim.extent != nullptr) range.extent = to_extent(dim.extent, spec, diags);
    if (dim.begin == nullptr && dim.extent == nullptr) range.extent = spec.buffer->shape[d];
    if (range.begin == nullptr || range.extent == nullptr) return std::nullopt;
    region.ranges.push_back(std::move(range));
  }
  return region;
}

Extents extents_of(const Region& region) {
  Extents extents;
  for (const Range& range : region.ranges) extents.push_back(range.extent);
  return extents;
}

/// Extents other than 1, in order: two tiles hold the same elements in the same order when these agree.
Extents without_ones(Extents extents) {
  std::erase_if(extents, is_one);
  return extents;
}

/// The other side's extents as this side of the operation sees them.
Extents seen_from_other_side(Extents extents, bool transposed) {
  if (!transposed) return extents;
  if (extents.size() > 2) extents = without_ones(std::move(extents));
  while (extents.size() < 2) extents.insert(extents.begin(), one());
  std::swap(extents[extents.size() - 1], extents[extents.size() - 2]);
  return extents;
}

bool agree(const Extents& a, const Extents& b) {
  Extents x = without_ones(a), y = without_ones(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), identical);
}

/// Aligns `extents` right to `rank` dimensions: ones are added or taken away, on the left first. False where other
/// extents are in the way.
bool align(Extents& extents, std::size_t rank) {
  while (extents.size() > rank) {
    auto unit = std::find_if(extents.begin(), extents.end(), is_one);
    if (unit == extents.end()) return false;
    extents.erase(unit);
  }
  while (extents.size() < rank) extents.insert(extents.begin(), one());
  return true;
}

void report_mismatch(const Region& a, const Extents& wanted, const Region& b, Diagnostics& diags) {
  diags.error(Rule::extent_mismatch, a.loc,
              fmt::format("the extents {} of {} do not agree with {} of {}", extents_text(extents_of(a)),
                          a.buffer->name, extents_text(wanted), b.buffer->name));
}

/// Gives the bare indices of `spec` the extents of the other side; false, with `region` untouched, where that does not
/// fit.
bool take_extents(const RegionSpec& spec, Region& region, Extents wanted) {
  if (!align(wanted, region.ranges.size())) return false;
  Region taken = region;
  for (std::size_t d = 0; d < wanted.size(); ++d) {
    if (is_bare(spec.dims[d])) {
      taken.ranges[d].extent = wanted[d];
    } else if (!identical(taken.ranges[d].extent, wanted[d])) {
      return false;
    }
  }
  region = std::move(taken);
  return true;
}

/// Makes the two sides agree: a bare index beside ranges is one element where that fits, and takes the other side's
/// extent where it does not.
bool settle_pair(const RegionSpec& spec_a, Region& a, const RegionSpec& spec_b, Region& b, bool transposed,
                 Diagnostics& diags) {
  Extents from_b = seen_from_other_side(extents_of(b), transposed);
  Extents from_a = seen_from_other_side(extents_of(a), transposed);
  Form form_a = form_of(spec_a), form_b = form_of(spec_b);
  bool ok = form_a == Form::open   ? take_extents(spec_a, a, from_b)
            : form_b == Form::open ? take_extents(spec_b, b, from_a)
                                   : agree(extents_of(a), from_b);
  if (!ok && form_a == Form::mixed && form_b != Form::open) ok = take_extents(spec_a, a, from_b);
  if (!ok && form_b == Form::mixed && form_a != Form::open) ok = take_extents(spec_b, b, from_a);
  if (!ok && form_b == Form::open) report_mismatch(b, from_a, a, diags);
  if (!ok && form_b != Form::open) report_mismatch(a, from_b, b, diags);
  return ok;
}

}  // namespace

std::optional<std::pair<Region, Region>> resolve_pair(const RegionSpec& a, const RegionSpec& b, bool transposed,
                                                      Diagnostics& diags) {
  auto left = resolve(a, diags), right = resolve(b, diags);
  if (!left || !right) return std::nullopt;
  if (form_of(a) == Form::open && form_of(b) == Form::open) {
    Diagnostic& error =
        diags.error(Rule::open_extent, a.loc,
                    fmt::format("neither {} nor {} gives the extents of the tile", a.buffer->name, b.buffer->name));
    error.notes.push_back({b.loc, "the other side"});
    return std::nullopt;
  }
  if (!settle_pair(a, *left, b, *right, transposed, diags)) return std::nullopt;
  return std::pair{std::move(*left), std::move(*right)};
}

std::optional<Region> resolve_alone(const RegionSpec& a, Diagnostics& diags) {
  auto region = resolve(a, diags);
  if (!region) return std::nullopt;
  if (form_of(a) == Form::open) {
    diags.error(Rule::open_extent, a.loc, fmt::format("nothing gives the extents of this tile of {}", a.buffer->name),
                "write it in full, e.g. A[r : r + 64, c : c + 64]");
    return std::nullopt;
  }
  for (std::size_t d = 0; d < region->ranges.size(); ++d) {
    const ExprRef& extent = region->ranges[d].extent;
    if (as_int(extent) || identical(extent, region->buffer->shape[d])) continue;
    diags.error(Rule::range_extent, a.loc,
                fmt::format("the extent {} of a range of {} is no literal", print(*extent), a.buffer->name));
    return std::nullopt;
  }
  return region;
}

}  // namespace plait::ir
