#pragma once

#include <functional>

#include "cuda/build.h"
#include "machine/device.h"
#include "planner/planner.h"
#include "store/code_folder.h"

/// From a program's text to a kernel that can be launched: its code comes from the folder of compiled code where that
/// holds it, else the program is derived, planned and compiled, and what came out is kept there. docs/cache.md.
namespace plait::jit {

/// What is compiled. The code depends on nothing else but plait, the compiler, and what was measured.
struct Request {
  SourceRef source;    ///< a tile or a role program; its name is told, and decides nothing
  std::string kernel;  ///< tile programs: which of the text; empty: the only one
  lang::Bindings bindings;
  std::optional<machine::Device> device;  ///< tile programs: always; role programs: none is the one that they name
  SourceRef schedule;                     ///< tile programs: text or, by its name, JSON; null: the author's or a plan
  planner::Kind planner = planner::Kind::automatic;
  std::map<std::string, std::int64_t> dims;           ///< of the calls, as far as they are known
  std::optional<place::Assumptions> assumptions;      ///< tile programs: of a call; none: what the dims tell
  cuda::BuildOptions build;                           ///< without an architecture: the device's
  std::string folder = store::default_code_folder();  ///< of compiled code; empty: none
};

struct Compiled {
  cuda::Built built;
  bool is_cached = false;          ///< its code was in the folder
  std::optional<ir::Kernel> tile;  ///< tile programs; of cached code not verified again
  place::Assumptions assumptions;  ///< of tile programs: with which it was placed
  std::size_t tile_requires = 0;   ///< of the signature: so many conditions are the tile program's, the first ones
  Diagnostics remarks;             ///< about the folder: warnings, none of which is about the program
};

/// Thread-safe. What PLAIT_JIT forbids is an error that names the kernel, unless the code is asked for ahead of time.
Result<Compiled> compile(const Request& request);

/// `work` for each number below `count`, on so many threads; 0: as many as there are processors. What one of them
/// throws is thrown here, when all have ended.
void for_all(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

/// All of them, on so many threads; 0: as many as there are processors. `done` is called for each as it is finished,
/// one at a time, in no order. The results have the order of the requests.
using Done = std::function<void(std::size_t index, const Result<Compiled>& result)>;
std::vector<Result<Compiled>> compile_all(const std::vector<Request>& requests, int threads, const Done& done = {});

/// Of all that the code of a kernel depends on but compiler and measurements: those stand in the variant. The program
/// was elaborated, a role program parsed (`tile` is null then). `planned`: what a planner made, of which planner and
/// dims decide, too; otherwise what author or schedule say.
std::string key_of(const Request& request, const ir::Kernel* tile, const place::Assumptions& assumptions, bool planned);

}  // namespace plait::jit
