#pragma once

#include <memory>
#include <vector>

#include "interp/value.h"
#include "ir/kernel.h"

namespace plait::interp {

class Machine;
struct Instr;
/// Does one instruction and gives the next one; null ends the run.
using Handler = const Instr* (*)(Machine&, const Instr&);

/// One instruction. `dst`, `a`, `b`, `c` are registers, or numbers in one of Program's tables where the handler says
/// so.
struct Instr {
  Handler run = nullptr;
  std::int32_t dst = 0, a = 0, b = 0, c = 0;
  std::int32_t target = 0;  ///< where a jump goes
  std::int32_t site = 0;
  ir::DType type = ir::DType::i64;
  std::uint8_t shift = 0;  ///< 64 - bits of an integer result
};

/// A place in the program with the loops around it.
struct Site {
  Loc loc;
  std::int32_t scope = -1;
};
/// A grid or loop variable whose value an error message tells; `parent` is the next outer one or -1.
struct ScopeVar {
  std::string name;
  std::int32_t reg = 0;
  std::int32_t parent = -1;
};

/// How one place in the program reaches a buffer. Levels count the parallel loops around it, 0 is the grid: those from
/// `first_level` to `last_level` see the buffer from outside, so that their iterations may get in each other's way.
struct Reach {
  std::int32_t buffer = 0;
  std::int32_t first_level = 1, last_level = 0;
  std::int32_t site = 0;
  bool forbidden_write = false;  ///< a local buffer of an outer parallel level
};
struct ElementCode {
  Reach reach;
  std::vector<std::int32_t> index;  ///< registers
};
struct RegionCode {
  Reach reach;
  std::vector<std::int32_t> begin, extent;  ///< registers
};
struct TileCode {
  const ir::TileOp* op = nullptr;
  std::vector<RegionCode> operands;
  std::vector<RegionCode> rows;     ///< none or one
  std::vector<std::int32_t> valid;  ///< registers
  std::int32_t value = -1;          ///< register of a fill's value or a copy's padding
};
struct LoopCode {
  struct Axis {
    std::string name;
    std::int32_t var = 0, begin = 0, end = 0, step = 0;  ///< registers
  };
  ir::LoopKind kind = ir::LoopKind::serial;
  std::vector<Axis> axes;
  std::int32_t level = 0;  ///< of the iterations of a parallel loop
};
struct CastCode {
  ir::DType from, to;
  ir::Rounding rounding;
  bool saturate;
};
struct PrintCode {
  std::string format;
  std::vector<std::pair<std::int32_t, ir::DType>> args;
};
struct AssertCode {
  std::string message, condition;
};
struct BufferCode {
  ir::Buffer decl;
  std::int32_t param = -1;       ///< number among the buffer parameters, -1 on chip
  bool out = false;              ///< elements are unwritten when the kernel starts
  std::int32_t level = 0;        ///< parallel loops around its definition
  std::int32_t last_level = -1;  ///< deepest level at which accesses are watched
};

/// A kernel with every name resolved to a number: what Machine runs.
struct Program {
  std::vector<Instr> code;
  std::vector<Value> registers;  ///< constants in their places, zero elsewhere
  std::vector<Site> sites;
  std::vector<ScopeVar> scopes;
  std::vector<BufferCode> buffers;
  std::vector<ElementCode> elements;
  std::vector<TileCode> tiles;
  std::vector<LoopCode> loops;
  std::vector<CastCode> casts;
  std::vector<PrintCode> prints;
  std::vector<AssertCode> asserts;
  std::vector<std::int32_t> dims, scalars, grid;  ///< registers in the order of the kernel's lists
  std::int32_t levels = 1;                        ///< parallel nesting + 1
};

/// Translates a verified kernel, which must outlive the result.
Program make_program(const ir::Kernel& kernel);

}  // namespace plait::interp
