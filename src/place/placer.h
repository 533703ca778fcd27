#pragma once

#include "analysis/affine.h"
#include "graph/row_gather.h"
#include "place/nest.h"

namespace plait::place {

/// A copy with its sides.
struct Copy {
  ir::StmtRef stmt;
  const ir::Region &src, &dst;
  const ir::CopyAttrs& attrs;
};

/// Where the placement of one kernel stands. What has no faster way is done by threads, and a fragment whose layout
/// suits not all of its uses moves to shared memory; then all of it is placed anew, until nothing moves any more.
class Placer {
 public:
  Placer(const ir::Kernel& kernel, const machine::Device& device, const Assumptions& assumptions, const Wishes& wishes);
  Result<Placed> run();

 private:
  void refuse(Rule rule, const Loc& loc, std::string message, std::string fix = {}) {
    diags_.error(rule, loc, std::move(message), std::move(fix));
  }
  void remark(const Loc& loc, std::string text) { placed_.remarks.push_back({loc, std::move(text)}); }

  // What there is: operations and nests in program order, on-chip buffers (collect.cpp)
  void collect(const ir::Body& body, bool in_loop);
  void collect_op(const ir::StmtRef& stmt, const ir::TileOp& op);
  void collect_loop(const ir::StmtRef& stmt, const ir::For& loop);
  void note_scalars(const ir::Stmt& stmt);
  void check_atomic(const ir::Stmt& stmt, const ir::Buffer& buffer, ir::AtomicOp op);

  void attempt();
  void begin();

  // Products (products.cpp)
  void choose_partition();
  std::string tensor_obstacle(const ir::Stmt& stmt) const;
  std::string operand_obstacle(const ir::Region& region, bool k_major, bool is_a) const;
  void place_product(const ir::StmtRef& stmt);
  void place_on_cores(const ir::StmtRef& stmt, const std::string& why);

  // What lies alike (fragments.cpp)
  void relate_nests();
  std::string relate_nest(const ir::For& nest, const std::vector<NestLine>& lines);
  void relate_copies();
  void relate_reductions();
  void relate(const ir::Buffer& a, const ir::Buffer& b) { same_.emplace_back(a, b); }
  void relate_rows(const ir::Buffer& rows, const ir::Buffer& of) { rows_.emplace_back(rows, of); }
  void spread();
  void check_columns();
  bool set_home(const ir::Buffer& buffer, const FragmentHome& home);
  void check_homes();
  std::string home_error(const ir::Buffer& buffer) const;
  bool alike(const ir::Buffer& a, const ir::Buffer& b) const;
  bool same_columns(const ir::Buffer& a, const ir::Buffer& b) const;

  // Layouts that no product dictates, and moves to memory (homes.cpp)
  /// Fragments that are tied to each other, of which one at least has two dimensions.
  struct Family {
    std::vector<ir::Buffer> tiles;
    bool has_rows = false;
  };
  std::vector<Family> families() const;
  std::optional<int> piece_limit(const ir::Buffer& buffer) const;
  std::optional<std::vector<FragmentHome>> layout_of(const Family& family, int warps) const;
  void choose_free();
  // Banks of shared memory (banks.cpp)
  void swizzle_for_banks();
  int choose_warps(const std::vector<Family>& families) const;
  /// To shared memory, for good.
  void move_out(const ir::Buffer& buffer, const std::string& why);
  /// The fragment may be wanted in registers by this placement.
  bool may_hold(const ir::Buffer& buffer) const;
  bool in_registers(const ir::Buffer& buffer) const { return placed_.in_registers(buffer); }

  // Copies, fills, nests, reductions (atoms.cpp)
  void place_copy(const Copy& copy);
  void load_shared(const Copy& copy);
  void load_fragment(const Copy& copy);
  bool goes_by_slices(const ir::Buffer& from, const ir::Buffer& to) const;
  void store_global(const Copy& copy);
  void store_shared(const Copy& copy);
  void store_tile(const Copy& copy);
  bool is_only_writer(const ir::Stmt& stmt, const ir::Buffer& tensor) const;
  bool is_only_writer_of(const ir::Stmt& nest, const ir::Buffer& tensor) const;
  void move_fragment(const Copy& copy);
  std::string load_obstacle(const ir::Region& global, const ir::Region& tile, const ir::CopyAttrs& attrs) const;
  std::string tma_obstacle(const ir::Region& global, const ir::Region& tile, const ir::CopyAttrs& attrs) const;
  std::string packed_obstacle(const ir::Region& global, const ir::Region& tile) const;
  std::string packed_use(const ir::Buffer& tile) const;
  std::string cp_async_obstacle(const ir::Region& global, const ir::Region& tile, const ir::CopyAttrs& attrs) const;
  int cp_async_piece(const ir::Buffer& tensor, const ir::ExprRef& column) const;
  int piece_of(const ir::Buffer& fragment, ir::DType type) const;
  std::string vector_obstacle(const ir::Region& memory, const ir::Buffer& fragment) const;
  void place_nest(const ir::StmtRef& stmt);
  bool place_gather(const ir::StmtRef& stmt);
  bool place_scatter(const ir::StmtRef& stmt);
  int gather_piece(const graph::TensorRows& gather) const;
  ir::ExprRef spelled_out(const ir::ExprRef& expr) const;
  std::string gather_obstacle(const ir::Stmt& stmt, const graph::TensorRows& gather) const;
  std::string nest_obstacle(const ir::For& nest, const std::vector<NestLine>& lines) const;
  void place_reduction(const ir::StmtRef& stmt);
  void place_fill(const ir::StmtRef& stmt);
  /// By threads. What products hold in registers passes through memory each time; other fragments move there.
  void by_threads(const ir::StmtRef& stmt, const std::string& what, const std::string& why);

  ir::Kernel kernel_;
  Wishes wishes_;
  Placed placed_;
  Diagnostics diags_;
  std::vector<ir::StmtRef> products_, nests_, reductions_, fills_, others_;
  std::vector<Copy> copies_;
  std::vector<ir::Buffer> buffers_;          ///< on-chip, in order of allocation
  std::set<const ir::Stmt*> looped_;         ///< statements inside loops
  std::set<const ir::BufferDecl*> written_;  ///< tensors that the kernel writes
  std::set<const ir::BufferDecl*> read_;     ///< tensors that the kernel reads
  std::unordered_map<const ir::Stmt*, NestLines> nest_lines_;
  std::unordered_map<const ir::BufferDecl*, std::string> moved_;  ///< to shared memory, and why
  bool again_ = false;                                            ///< something moved in this attempt

  // Of one attempt
  std::unordered_map<const ir::Stmt*, std::string> plain_nests_;  ///< nests that run over no fragment, and why
  std::set<const ir::BufferDecl*> multiplied_;                    ///< held in registers for products
  std::vector<std::pair<ir::Buffer, ir::Buffer>> same_;           ///< fragments that lie alike
  std::vector<std::pair<ir::Buffer, ir::Buffer>> rows_;           ///< the first has the rows of the second
  std::vector<std::pair<ir::Buffer, ir::Buffer>> columns_;        ///< the first has the columns of the second
};

/// Extents of the region's ranges; none where one is no literal.
std::optional<std::vector<std::int64_t>> literal_extents(const ir::Region& region);
/// The extents without those of 1.
std::vector<std::int64_t> folded(const std::vector<std::int64_t>& extents);
/// Of a packed tile: rows of fewer bytes than the banks have lie in different ones as they are.
roles::Swizzle packed_swizzle(const ir::Buffer& tile);
/// What tensor cores multiply unasked.
bool is_product_type(ir::DType type);
/// Elements in the widest access; of types narrower than a byte as of bytes.
int widest_piece(ir::DType type);
bool is_fragment(const ir::Buffer& buffer);
bool is_shared(const ir::Buffer& buffer);
bool is_global(const ir::Buffer& buffer);

}  // namespace plait::place
