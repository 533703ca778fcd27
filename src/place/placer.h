#pragma once

#include "analysis/affine.h"
#include "place/nest.h"

namespace plait::place {

/// A copy with its sides.
struct Copy {
  ir::StmtRef stmt;
  const ir::Region &src, &dst;
  const ir::CopyAttrs& attrs;
};

/// Where the placement of one kernel stands; the steps run in the order in which they stand here.
class Placer {
 public:
  Placer(const ir::Kernel& kernel, const machine::Device& device, const Assumptions& assumptions, const Wishes& wishes);
  Result<Placed> run();

 private:
  void refuse(Rule rule, const Loc& loc, std::string message, std::string fix = {}) {
    diags_.error(rule, loc, std::move(message), std::move(fix));
  }
  void remark(const Loc& loc, std::string text) { placed_.remarks.push_back({loc, std::move(text)}); }

  // What there is: operations and nests in program order, on-chip buffers
  void collect(const ir::Body& body);
  void collect_op(const ir::StmtRef& stmt, const ir::TileOp& op);

  // Products
  void choose_partition();
  void place_product(const ir::StmtRef& stmt);
  bool product_operand(const ir::StmtRef& stmt, const ir::Region& region, bool k_major, bool is_a);

  // Fragments (fragments.cpp)
  void relate_nests();
  void relate_copies();
  void relate_reductions();
  void relate(const ir::Buffer& a, const ir::Buffer& b) { same_.emplace_back(a, b); }
  void relate_rows(const ir::Buffer& rows, const ir::Buffer& of) { rows_.emplace_back(rows, of); }
  void spread();
  void choose_free();
  bool set_home(const ir::Buffer& buffer, FragmentHome home, const Loc& loc);
  void check_homes();

  // Copies, fills, nests, reductions
  void place_copy(const Copy& copy);
  void load_shared(const Copy& copy);
  void store_global(const Copy& copy);
  std::string tma_obstacle(const ir::Region& global, const ir::Region& tile, const ir::CopyAttrs& attrs) const;
  void place_nest(const ir::StmtRef& stmt);
  bool nest_line(const ir::StmtRef& stmt, const ir::For& nest, const NestLine& line, const ir::Buffer& domain);
  void place_reduction(const ir::StmtRef& stmt);

  ir::Kernel kernel_;
  Wishes wishes_;
  Placed placed_;
  Diagnostics diags_;
  std::vector<ir::StmtRef> products_, nests_, reductions_, fills_;
  std::vector<Copy> copies_;
  std::vector<ir::Buffer> buffers_;  ///< on-chip, in order of allocation
  std::unordered_map<const ir::Stmt*, std::vector<NestLine>> lines_;
  std::vector<std::pair<ir::Buffer, ir::Buffer>> same_;  ///< fragments that lie alike
  std::vector<std::pair<ir::Buffer, ir::Buffer>> rows_;  ///< the first has the rows of the second
};

/// Extents of the region's ranges; none where one is no literal.
std::optional<std::vector<std::int64_t>> literal_extents(const ir::Region& region);
bool is_fragment(const ir::Buffer& buffer);
bool is_shared(const ir::Buffer& buffer);
bool is_global(const ir::Buffer& buffer);

}  // namespace plait::place
