#pragma once

#include <map>
#include <set>

#include "emit/cuda/cuda.h"
#include "roles/arena.h"

namespace plait::emit::cuda {

inline constexpr int kWarp = 32;
/// Compute capability 9.0.
inline constexpr int kHopper = 90;

/// Fragments that the instructions of one wgmma group write or read.
using WgmmaGroup = std::vector<roles::Fragment>;

/// Where the printing of one program stands; the functions of this folder append to it.
class Emitter {
 public:
  Emitter(const roles::Program& of, std::string_view architecture);

  const roles::Program& program;
  const std::string arch;
  const int sm;  ///< 90 of "sm_90a"
  const roles::Arena arena;
  Loc origin;  ///< of the statement being printed, where it is known
  Diagnostics diags;

  // Text
  void line(std::string_view text);
  void open(std::string_view text);  ///< `text {`, then deeper
  void close();
  /// What `fill` writes, kept apart from the text so far.
  template <typename Fill>
  std::string capture(Fill fill) {
    std::string before = std::move(text_);
    text_.clear();
    fill();
    std::swap(before, text_);
    return before;
  }
  void raw(std::string_view text) { text_ += text; }

  /// The name of a fixed helper function of helpers.cpp, which the emitted file then holds.
  std::string helper(const std::string& name);
  /// The same for a helper whose text is made for its shape.
  std::string helper(const std::string& name, const std::string& text);
  std::string helpers_text() const;

  /// As in the program, where C++ and CUDA leave the name free.
  static std::string name(const std::string& id);
  std::string use(const ir::Var& var);
  std::string use(const ir::Buffer& tensor);
  std::string use(const roles::Map& map);

  Loc told_at(const Loc& loc) const;
  void unsupported(const Loc& loc, const std::string& message, const std::string& fix = {});
  /// Reports an instruction that `arch` does not have.
  void needs_sm(int least, const Loc& loc, std::string_view what);

  const roles::Role* role = nullptr;  ///< null in the prologue
  int threads = 0;                    ///< of a replica, in the prologue of the block

  // wgmma in program order: which registers an await gives back.
  std::vector<roles::Fragment> accumulators;  ///< declared so far in the role
  std::vector<roles::Fragment> fenced;  ///< of the instructions behind the fence being printed, where they are known
  std::map<const ir::BufferDecl*, roles::Fragment> fragments;
  std::vector<WgmmaGroup> committed;
  WgmmaGroup issued;

  std::set<const ir::VarDecl*> used_vars;
  std::set<const ir::BufferDecl*> used_tensors;
  std::set<const roles::MapDecl*> used_maps;

 private:
  std::string text_;
  int depth_ = 0;
  std::map<std::string, std::string> helper_texts_;
};

// helpers.cpp
/// Text of a fixed helper and the helpers it calls.
struct HelperText {
  std::vector<std::string> needs;
  std::string text;
};
const HelperText& fixed_helper(const std::string& name);
bool is_fixed_helper(const std::string& name);
/// Text of a helper that rounds a float as a cast with options does (helpers_number.cpp).
std::string rounding_text(Emitter& e, const std::string& name, ir::DType type, ir::Rounding rounding, bool saturate);

// types.cpp
/// The C++ type of a value in an expression: narrow floats are held as float, already rounded.
std::string value_type(ir::DType type);
/// The C++ type of an element in memory.
std::string memory_type(Emitter& e, ir::DType type);
/// Elements in one 32-bit register (1 for wider types).
int packed(ir::DType type);
/// The same of a fragment; `rows` have a register each, which holds a value.
int packed(const roles::FragmentDecl& fragment);

// expr.cpp
/// How tightly the text binds, weakest first; a child weaker than asked for is put in parentheses.
enum class Level {
  select,
  logical_or,
  logical_and,
  bit_or,
  bit_xor,
  bit_and,
  equality,
  relation,
  shift,
  sum,
  product,
  unary,
  atom
};
/// What `each` puts in the place of elements of fragments and of coordinates.
struct Elements {
  virtual ~Elements() = default;
  virtual std::string element(const ir::Load& load, const Loc& loc) = 0;
  virtual std::optional<std::string> variable(const ir::Var& var) = 0;
  /// Whether an arm of a select is better evaluated whatever the condition, and may be.
  virtual bool eager(const ir::ExprRef& arm) = 0;
};
std::string expr_text(Emitter& e, const ir::ExprRef& expr, Level least = Level::select, Elements* elements = nullptr);
/// `expr op literal` as text, shortened where the literal is neutral.
std::string plus(const std::string& a, const std::string& b);
/// Offset in elements of a tensor element, 64 bits wide.
std::string tensor_offset(Emitter& e, const ir::Buffer& tensor, const std::vector<std::string>& index);
std::vector<std::string> index_texts(Emitter& e, const std::vector<ir::ExprRef>& index, Elements* elements = nullptr);

// convert.cpp; values are those of expressions
std::string cast_text(Emitter& e, ir::DType from, ir::DType to, ir::Rounding rounding, bool saturate,
                      const std::string& value);
/// A float rounded to the nearest value of `type`, which is narrower.
std::string rounded_text(Emitter& e, ir::DType type, const std::string& value);
/// The bits of a value of `type`, as an integer of at least as many; and back.
std::string code_text(Emitter& e, ir::DType type, const std::string& value);
std::string from_code(Emitter& e, ir::DType type, const std::string& code);
/// An element in memory, of a byte at least, as a value; and back.
std::string from_memory(Emitter& e, ir::DType type, const std::string& text);
std::string to_memory(Emitter& e, ir::DType type, const std::string& text);

// shared.cpp
/// Address, in the shared window, of the tile or element at `ref`, in units of so many bytes; the swizzle of a single
/// element is not applied.
std::string tile_address(Emitter& e, const roles::SmemRef& ref, std::int64_t unit = 1);
/// Byte address of element (row, column) behind the tile at `ref`, swizzled.
std::string element_address(Emitter& e, const roles::SmemRef& ref, const std::string& row, const std::string& column,
                            Elements* elements = nullptr);
std::string mbar_address(Emitter& e, const roles::MbarRef& ref);
std::int64_t row_pitch(const roles::SmemDecl& smem);
std::int64_t panel_bytes(const roles::SmemDecl& smem);

// fragment.cpp
struct FragmentShape {
  int elements = 0;  ///< a thread holds
  int run = 1;       ///< neighbours along a row that stand in order
};
FragmentShape fragment_shape(const Emitter& e, const roles::FragmentDecl& fragment);
/// Row and column of element `i` (a text) of the executing thread.
std::string row_text(Emitter& e, const roles::FragmentDecl& fragment, const std::string& i);
std::string column_text(Emitter& e, const roles::FragmentDecl& fragment, const std::string& i);
/// The register of `rows of fragment` that belongs to element `i`.
std::string slot_text(Emitter& e, const roles::FragmentDecl& fragment, const std::string& i);
/// The same among what it has of `columns` of the fragment.
std::string column_slot_text(Emitter& e, const roles::FragmentDecl& fragment, const std::string& i);
std::string declare_fragment(Emitter& e, const roles::FragmentDecl& fragment);

// stmt.cpp
void emit_body(Emitter& e, const roles::Body& body);
/// The statement's first line as a comment.
void comment(Emitter& e, const roles::Stmt& stmt);

// sync.cpp, copy.cpp, matrix.cpp, element.cpp
void emit(Emitter& e, const roles::MbarInit& s);
void emit(Emitter& e, const roles::Wait& s);
void emit(Emitter& e, const roles::Arrive& s);
void emit(Emitter& e, const roles::Expect& s);
void emit(Emitter& e, const roles::Fence& s);
void emit(Emitter& e, const roles::BarrierSync& s);
void emit(Emitter& e, const roles::BarrierArrive& s);
void emit(Emitter& e, const roles::TmaLoad& s);
void emit(Emitter& e, const roles::TmaStore& s);
void emit(Emitter& e, const roles::BulkLoad& s);
void emit(Emitter& e, const roles::BulkStore& s);
void emit(Emitter& e, const roles::BulkWait& s);
void emit(Emitter& e, const roles::CpAsync& s);
void emit(Emitter& e, const roles::Wgmma& s);
void emit(Emitter& e, const roles::WgmmaCommit& s);
void emit(Emitter& e, const roles::WgmmaAwait& s);
void emit(Emitter& e, const roles::Mma& s);
void emit(Emitter& e, const roles::LdMatrix& s);
void emit(Emitter& e, const roles::StMatrix& s);
void emit(Emitter& e, const roles::Each& s);
void emit(Emitter& e, const roles::RowReduce& s);
void emit(Emitter& e, const roles::LaneReduce& s);
void emit(Emitter& e, const roles::Keep& s);
void emit(Emitter& e, const roles::LoadTensor& s);
void emit(Emitter& e, const roles::StoreTensor& s);
void emit(Emitter& e, const roles::LoadShared& s);
void emit(Emitter& e, const roles::StoreShared& s);
void emit(Emitter& e, const roles::PutTensor& s);
void emit(Emitter& e, const roles::PutShared& s);
void emit(Emitter& e, const roles::PutPiece& s);
void emit(Emitter& e, const roles::Atomic& s);
void emit(Emitter& e, const roles::AtomicShared& s);

}  // namespace plait::emit::cuda
