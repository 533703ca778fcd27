#pragma once

#include <deque>
#include <set>

#include "analysis/lives.h"
#include "graph/row_gather.h"
#include "pipeline/rings.h"
#include "pipeline/sums.h"
#include "pipeline/work_map.h"

namespace plait::pipeline {

/// How a fragment gets to a tensor: slices of its columns through shared memory, so that one is stored while the next
/// is being written.
struct Staging {
  roles::Smem smem;  ///< [replicas, slices, 64 · rows, chunk]
  roles::Map map;
  std::int64_t chunk = 64;  ///< columns of a slice
  std::int64_t slices = 2;
};

/// Which dimensions of a tensor the rows and columns of a tile run along, and the box that covers the tile.
struct TileDims {
  std::vector<std::size_t> of;    ///< one a dimension of the tile
  std::vector<std::int64_t> box;  ///< one a dimension of the tensor: extents of the tile, else 1
  std::size_t row() const { return of.size() > 1 ? of[of.size() - 2] : of.back(); }
  std::size_t column() const { return of.back(); }
};
TileDims tile_dims(const ir::Region& global, const std::vector<std::int64_t>& shape);

roles::CacheHint hint_of(const ir::TileOp& copy);

/// Whether the loop's variable counts its iterations: from 0 by 1.
bool counts_iterations(const ir::For& loop);

/// Registers of a thread of the role that loads: addresses, counters and the tile's coordinates.
inline constexpr int kLoadRegisters = 40;
/// The same where they gather rows, of which they keep what they know.
inline constexpr int kGatherRegisters = 96;
inline constexpr std::int64_t kLoadThreads = 128;
inline constexpr std::int64_t kMaxBox = 256;
inline constexpr std::int64_t kTileAlignment = 1024;  ///< of swizzled tiles
/// The named barrier at which the threads that compute meet; those below are of replicas.
inline constexpr std::int64_t kMeeting = 15;

/// Where the lowering of one kernel stands.
class Lowering {
 public:
  /// `pieces`: of the kernel's loop where the work map asks for them, else null.
  Lowering(const place::Placed& placed, const plan::Schedule& schedule, Rings rings, const Pieces* pieces);
  Result<roles::Program> run();
  const std::vector<place::Remark>& remarks() const { return remarks_; }

 private:
  friend class Threads;
  using Builder = roles::build::Builder;
  using Fragment = roles::Fragment;

  // head.cpp
  void head();
  void declare_rings();

  // sharing.cpp
  std::int64_t ring_bytes() const;
  void share_homes(std::int64_t limit);
  analysis::Life scratch_life(const analysis::Lives& lives, const ir::BufferDecl* fragment) const;
  Touched with_shared(Touched use) const;

  // combine.cpp
  void declare_sums();
  void combined(const std::function<void()>& rest);
  void hand_over(const Value& slot, const Value& counted);
  void add_up(const Value& slot);
  void meet();

  void declare_maps(const ir::Body& body);
  bool is_staged(const ir::Stmt& stmt) const;
  static ir::Buffer staged_fragment(const ir::Stmt& stmt);
  void declare_staging(const ir::Stmt& stmt);
  void check_stagings();
  roles::Map map_of(const ir::Buffer& tensor, const std::vector<std::int64_t>& box, roles::Swizzle swizzle);
  std::string fresh(const std::string& name) { return fresh_.in_role(name); }
  std::string fresh_in_head(const std::string& name) { return fresh_.in_head(name); }
  struct BodyScope : OpenBody {
    explicit BodyScope(Lowering& of) : OpenBody(of.scalars_, of.fresh_) {}
  };

  // lower.cpp
  Diagnostics check(const roles::Program& program) const;

  // supported.cpp
  bool carries_out(const plan::Schedule& schedule);
  void refuse_schedule(const Loc& loc, const std::string& what);
  std::string instruction_of(const graph::StmtName& name) const;
  bool is_load_by_alignment(const ir::Stmt& stmt) const;
  void check_slot(const plan::Slot& slot);
  void check_versions(const plan::Versions& versions);
  void check_work();
  void check_pieces();
  void check_guards(const ir::For& loop, const plan::LoopPlan& plan);

  // lowering.cpp: what both roles do
  void leave_cluster();
  void let(const ir::Let& node);
  void begin_role();
  int registers(std::string_view role) const;
  bool moves_registers() const;
  int load_warps() const { return moves_registers() || rings_.any_gathered() ? 4 : 1; }
  Diagnostics occupancy_obstacles(const roles::Program& program) const;
  std::int64_t shared_limit() const;  ///< bytes of a block
  Value counter(std::size_t ring) const { return counters_.at(ring); }
  int lead_of(std::size_t ring) const {
    auto lead = leads_.find(ring);
    return lead == leads_.end() ? 0 : lead->second;
  }
  Value slot(std::size_t ring, int behind = 0) const;
  roles::ChannelRef item(std::size_t ring, int behind = 0) const;
  /// The index of a tile: its slot, where it has slots, and the rest.
  roles::SmemRef tile(const ir::Buffer& buffer, const Values& index);
  void advance(const std::vector<std::size_t>& rings);
  bool is_uniform_let(const ir::Let& node) const;
  void find_computed_lets();

  // loads.cpp: the role that loads
  void load_role();
  void load_body(const ir::Body& body);
  void load_tile(const ir::Stmt& stmt, std::size_t ring);
  void load_together(const ir::Body& body, std::size_t ring);

  // gathers.cpp: rows that the threads of that role gather
  struct GatherShape {
    std::int64_t piece = 16, elements = 1;  ///< of a copy: bytes, elements
    std::int64_t lanes = 1, step = 1;       ///< threads of a row, and by how many rows those of a thread lie apart
    std::int64_t own = 1;                   ///< pieces of a thread
  };
  /// What is computed of each row of a thread before the loop.
  struct KeptOfRow {
    ir::ExprRef expr;
    ir::Var var;  ///< that stands for it
    Values values;
  };
  struct GatheredRows {
    graph::TensorRows gather;
    GatherShape shape = {};
    Value row = 0, column = 0;  ///< of the thread's first piece
    std::vector<KeptOfRow> kept;
    /// Whether a row's index is a sum of what no iteration changes and what all rows have in common, one a dimension
    /// but for the last.
    bool splits = false;
    std::vector<ir::ExprRef> row_index, rest_index;
    ir::ExprRef always, sometimes;  ///< of the conditions of a row: those that no iteration changes, and the others
    Values offsets, wanted;         ///< by own row: elements before it, whether it is one
    Value row_at(std::int64_t own) const { return own == 0 ? row : row + own * shape.step; }
  };
  /// Iterations by which what a loop copies is published behind; those that are done.
  struct Lag {
    int count = 0;
    Value done = 0;
  };
  GatherShape gather_shape(const ir::Stmt& stmt, const graph::TensorRows& gather) const;
  GatheredRows keep_rows(const ir::Stmt& stmt, const ir::For* loop);
  static ir::ExprRef with_kept(const ir::ExprRef& expr, const std::vector<KeptOfRow>& kept);
  static void split_places(GatheredRows& rows, const std::set<const ir::VarDecl*>& changing);
  void bind_kept(const GatheredRows& rows, std::int64_t own);
  Value row_offset(const GatheredRows& rows);
  Value step_offset(const GatheredRows& rows, const Value& from);
  void gather_tile(const ir::Stmt& stmt);
  int gather_lag(const ir::For& loop) const;
  void publish_gathered(std::size_t ring);
  void publish_rest(std::size_t ring, int lag, const Value& trips);
  void load_loop(const ir::For& loop);

  // boxes.cpp: tiles that TMA moves
  struct Boxes {
    roles::Map map;
    TileDims dims;
    std::int64_t rows = 1, height = 1;     ///< of the tile, and of a box
    std::int64_t columns = 1, panels = 1;  ///< of a box, and how many stand beside each other
  };
  Boxes boxes_of(const ir::Region& global, const ir::Buffer& buffer, std::int64_t share);
  using BoxFn = std::function<void(const Value& row, const Value& column, const Values& from)>;
  void each_box(const Boxes& boxes, const Values& begin, const std::optional<Value>& shift, const BoxFn& box);
  void store_tile(const ir::Stmt& stmt);
  bool stores_by_tma() const;

  // steps.cpp: the role that computes
  struct Step {
    ir::StmtRef stmt;
    int stage = 0;
  };
  struct Group {  ///< of wgmma that may be under way
    Touched use;
    struct Give {
      std::size_t ring;
      int behind;                  ///< items
      std::optional<Value> where;  ///< only if this holds
    };
    std::vector<Give> releases;  ///< once it is done
  };
  void math_role();
  void math_body(const ir::Body& body);
  using Around = std::function<void(const Step&, const std::function<void()>&)>;
  using Live = std::function<bool(const Step&)>;
  void steps(const std::vector<Step>& list, int lead, const Live& live, const Around& around);
  /// A product that its iteration leaves under way, with `count` - 1 before it.
  struct Flight {
    const ir::Stmt* product;
    int count;
    std::vector<std::size_t> rings;  ///< that it is the last to read
  };
  void one_after_another(const std::vector<Step>& list, const Flight* flight = nullptr);
  std::vector<std::size_t> filled(const std::vector<Step>& list) const;
  void give_back(std::size_t ring);
  void meet_replica();
  void statement(const ir::StmtRef& stmt);
  void control(const ir::StmtRef& stmt);
  void branch(const ir::If& node, const Value& cond, const std::function<void(const ir::Body&)>& body);

  // flight.cpp
  std::string flight_obstacle(const ir::For& loop, const std::vector<Step>& list, const Step& product) const;
  std::optional<Flight> flight_of(const ir::For& loop, const std::vector<Step>& list, const plan::LoopPlan& plan);
  void take_up(const Flight& flight, const Value& done);
  void leave_under_way(const Flight& flight);

  // fetches.cpp: tiles that the role that computes loads itself
  struct Fetches {
    std::vector<int> group;  ///< of cp.async in a turn, by step; -1: no copy
    int groups = 0;
    bool always = false;  ///< a group is committed also where none of its copies is live
    /// Groups that may be under way when a turn begins, and before a step; none: nothing is awaited.
    std::optional<int> at_front;
    std::vector<std::optional<int>> before;
  };
  Fetches fetches_of(const std::vector<Step>& list, const Live& live, int drained) const;
  void await_fetches(std::optional<int> pending);
  void fetch(const std::vector<Step>& list, std::size_t number, const Live& live, const Fetches& fetches,
             const Around& around);
  void fetch_tile(const ir::Stmt& stmt, std::size_t ring);
  void at_iteration(const std::vector<Step>& list, const Value& iteration);
  Value own_slot(std::size_t ring) const;
  bool is_under_way(const ir::Stmt& stmt) const;
  bool is_load_by_threads(const ir::Stmt& stmt) const;
  void load_where_read(std::vector<Step>& list) const;
  void fetch_behind_products(std::vector<Step>& list) const;
  bool counts_up(const ir::For& loop) const;
  bool computes_in_one_stage(const std::vector<Step>& list) const;
  bool fetches_ahead(const ir::For& loop, const plan::LoopPlan& plan);
  bool is_pipelined(const ir::For& loop, const plan::LoopPlan& plan);
  void deepen_fetches();

  // stages.cpp, loops.cpp, turns.cpp
  void loop_over(const ir::For& loop, const Value& begin, const Value& end,
                 const std::function<void(const Value&)>& body);
  void pipelined_loop(const ir::For& loop, const plan::LoopPlan& plan);
  std::vector<const plan::Slot*> places_of(const ir::Stmt& stmt, const plan::LoopPlan& plan) const;
  std::vector<Step> steps_of(const ir::For& loop, const plan::LoopPlan& plan);
  void deepen_rings();
  bool keep_let(const ir::Stmt& stmt, const plan::LoopPlan& plan);
  void lets_for(const Step& step, const std::vector<Step>& list);
  void when(const Value& cond, const std::function<void()>& body);
  void ramp(const std::vector<Step>& all, int span, const ir::For& loop, const plan::LoopPlan& plan);
  void steady(const ir::For& loop, const std::vector<Step>& list, const plan::LoopPlan& plan, const Value& begin,
              const Value& end, const std::function<void(const Value&)>& body);
  struct Turn {
    plan::Token token;
    int barrier;  ///< of replica 0; the others' follow
  };
  void open_turns(const plan::LoopPlan& plan, const std::vector<Step>& list, const Value& begin, const Value& end);
  std::string turn_obstacle(const plan::Token& token, const plan::LoopPlan& plan, const std::vector<Step>& list) const;
  void wait_turn(const ir::Stmt& stmt);
  void pass_turn(const ir::Stmt& stmt);
  std::int64_t turn_threads() const;

  void settle(const Touched& use);
  void complete_sums(const ir::Stmt& stmt);
  void await(std::size_t pending);
  void release(std::size_t ring, int behind);

  // operations.cpp, fragments.cpp, reductions.cpp, moves.cpp, staged.cpp: operations of the role that computes
  void operation(const ir::Stmt& stmt);
  void product(const ir::Stmt& stmt, const place::GemmAtom& atom);
  void warp_product(const ir::Stmt& stmt, const place::GemmAtom& atom);
  void nest(const ir::Stmt& stmt, const place::NestAtom& atom);
  void each_of_nest(const ir::For& loop, const place::NestAtom& atom);
  void fill(const ir::Stmt& stmt);
  void reduce(const ir::Stmt& stmt);
  void over_lanes(roles::ReduceOp kind, const Fragment& rows, const ir::Buffer& of);
  void declare_meetings();
  void move(const ir::Stmt& stmt);
  void load_elements(const ir::Stmt& stmt);
  void store_elements(const ir::Stmt& stmt);
  void in_slices(const ir::Stmt& stmt, const std::function<void()>& before,
                 const std::function<void(const Values& slice, const Value& column)>& store);
  Values origin_of_slice(const ir::TileOp& copy, const Value& column);
  bool slices_take_turns(const ir::Stmt& stmt) const;
  void staged_rows(const ir::Stmt& stmt);
  void staged_store(const ir::Stmt& stmt);
  void staged_elements(const ir::Stmt& stmt);
  void define_fragments();
  Fragment fragment(const ir::Buffer& buffer) const { return fragments_.at(buffer.get()); }
  Fragment like(const Fragment& of, const std::string& name, ir::DType type);
  void each(const Fragment& domain, const std::function<Value(const Values& own)>& value);
  void each(const Fragment& dst, const Fragment& src);
  std::int64_t own_rows(const ir::Buffer& buffer) const;
  int sharing(const ir::Buffer& buffer) const;
  Value row_of(const Value& own, std::int64_t rows) const;
  Value row_of(const ir::Buffer& fragment, const Value& own) const {
    return sharing(fragment) == 1 ? own : row_of(own, own_rows(fragment));
  }
  Values origin_of(const ir::Region& region, const TileDims& dims, const ir::Buffer& fragment);

  // memory.cpp, apart.cpp: buffers in shared memory that no ring fills
  void declare_homes();
  ir::DType slot_type(const ir::BufferDecl& buffer) const;
  void declare_home(const ir::Buffer& buffer, std::int64_t copies);
  void declare_parts(const ir::TileOp& op);
  void fit_rings();
  roles::SmemRef place_of(const ir::Buffer& buffer, const Values& index);
  Value read(const ir::Buffer& buffer, const Values& index);
  Value read_packed(const ir::Buffer& buffer, const Values& index);
  bool overlaps(const ir::Body& body) const;
  /// Columns of the tile in which the rows of a fragment stand in memory, each thread that has a row writing one.
  static std::int64_t spread_columns(const roles::FragmentDecl& of) {
    return of.kind == roles::FragmentKind::vector ? of.lanes : 8;
  }
  std::set<const ir::BufferDecl*> tensors_apart() const;
  /// Whole warpgroups, among which registers can be moved.
  bool whole_groups() const { return placed_.replicas * placed_.warps % 4 == 0; }

  // jumps.cpp: loops that are not pipelined
  struct Jump {
    ir::Var skip, stop;  ///< the rest of the iteration; all iterations
  };
  void jump(bool out);
  Value bound(const ir::ExprRef& expr, const std::string& name);
  void serial_loop(const ir::For& loop, const std::function<void()>& body);
  void persistent_loop(const ir::For& loop, const std::function<void()>& body);
  void while_loop(const ir::While& loop, const std::function<void()>& body);

  // masks.cpp
  std::optional<Value> holds_everywhere(const ir::ExprRef& cond, const ir::For& nest, std::int64_t rows);
  std::optional<Value> leading_iterations(const ir::ExprRef& cond, const ir::For& loop, const ir::For& nest,
                                          std::int64_t rows, const Value& end);
  std::optional<Value> unmasked_iterations(const ir::For& loop, const std::vector<Step>& list, const Value& end);
  std::optional<Value> nothing_to_mask(const ir::For& nest, const place::NestAtom& atom);

  const place::Placed& placed_;
  const plan::Schedule& schedule_;
  const ir::Kernel& kernel_;
  Rings rings_;
  graph::Names names_;
  Builder b_;
  Scalars scalars_;
  Diagnostics diags_;
  FreshNames fresh_;
  WorkMap work_;

  std::unordered_map<const ir::BufferDecl*, roles::Smem> tiles_;
  std::vector<roles::Channel> channels_;
  std::unordered_map<const ir::Stmt*, Staging> stagings_;
  std::map<std::string, roles::Map> maps_;
  std::int64_t staged_bytes_ = 0;   ///< of shared memory declared so far
  ir::Buffer arrivals_;             ///< workspace: sums that are there of two that belong together
  std::vector<ir::Buffer> parts_;   ///< workspaces: sums of pieces, one an accumulator
  roles::Smem arrived_;             ///< how many there are with this block's
  std::optional<Varying> varying_;  ///< within a cluster of several blocks
  std::vector<Value> counters_;
  std::vector<ir::Var> counter_vars_;
  std::unordered_map<std::size_t, Value> iterations_;          ///< of the steps being emitted, by ring that they fill
  std::set<const ir::VarDecl*> computed_;                      ///< lets whose values come from buffers on chip
  std::unordered_map<const ir::VarDecl*, ir::Var> registers_;  ///< of lets that have a place in the schedule
  /// Stages by which the step being emitted runs behind the counters of rings that its body fills.
  std::unordered_map<std::size_t, int> leads_;

  std::unordered_map<const ir::Stmt*, GatheredRows> gathered_rows_;  ///< of loops that are being emitted
  Lag lag_;                                                          ///< of the loop being emitted

  std::unordered_map<const ir::BufferDecl*, roles::Smem> scratch_;  ///< of fragments that statements need in memory
  /// What warps that share a line leave each other, one a warp: by the number of the value and its type.
  std::map<std::pair<std::size_t, ir::DType>, roles::Smem> parts_of_lines_;
  std::unordered_map<const ir::BufferDecl*, roles::Smem> meetings_;  ///< of rows that span warps
  std::map<const ir::BufferDecl*, std::set<ir::Buffer>> mates_;      ///< buffers of the kernel that share a place
  std::map<const ir::BufferDecl*, const ir::BufferDecl*> together_;  ///< tiles in shared places: one stands for all
  std::set<const ir::BufferDecl*> locals_;                           ///< of nests: one a thread
  std::set<const ir::VarDecl*> swept_;                               ///< of loops over pieces that threads share out
  std::vector<Jump> jumps_;                                          ///< of loops around
  std::vector<place::Remark> remarks_;

  std::unordered_map<const ir::BufferDecl*, Fragment> fragments_;
  std::deque<Group> under_way_;
  const Flight* in_flight_ = nullptr;  ///< of the iteration being emitted
  enum class MaskMode { where_needed, none, always };
  MaskMode mask_mode_ = MaskMode::where_needed;
  std::set<const ir::Stmt*> masks_;  ///< that the loop being emitted has split its iterations by
  std::vector<Turn> turns_;          ///< of the loop being emitted
  std::optional<Value> more_turns_;  ///< whether its present iteration is not the last
  int next_barrier_;                 ///< the first named barrier that nothing uses
  Sums sums_;
  std::set<ir::Buffer> partial_;  ///< sums of which each lane still has its own part
};

roles::build::Value zero_of(ir::DType type);
/// `value` as one of `type`.
roles::build::Value converted(ir::DType type, const roles::build::Value& value);

}  // namespace plait::pipeline
