#pragma once

#include "layout/role_layout.h"

/// Where the elements of a program's buffers lie: docs/explain.md, "Layouts".
namespace plait::explain {

/// A statement that moves a buffer through the banks of shared memory.
struct BankUse {
  Loc loc;                        ///< of the tile statement, in hand-written role programs of the role's
  std::string word;               ///< stmatrix, load_shared, wgmma, …
  std::int64_t instructions = 0;  ///< of one warp and one execution
  std::int64_t conflicts = 0;     ///< passes beyond the least, of all of them
};
/// A tile in shared memory.
struct SharedLayout {
  roles::Smem smem;
  layout::SmemTile tile;
  std::vector<BankUse> uses;
};
/// A fragment in the registers of a role's threads.
struct RegisterLayout {
  roles::Fragment fragment;
  std::string role;
  int replicas = 1;
  std::int64_t threads = 128;  ///< of a replica
  layout::FragmentMap map;
  std::int64_t registers = 0;  ///< of a thread
};
struct Layouts {
  std::vector<SharedLayout> shared;
  std::vector<RegisterLayout> fragments;
};

Layouts layouts_of(const roles::Program& program);
std::string text(const Layouts& layouts);

/// `128-byte swizzle, 2 panels of 64 columns`
std::string home_text(const layout::SmemTile& tile);
/// `wgmma_acc, 64 elements a thread, each held by 1`
std::string home_text(const RegisterLayout& layout);

/// A picture of one buffer: of fragments thread and register of each element, of tiles where each unit of 16 bytes
/// stands. Large buffers are shown in part, as the layout repeats. Nothing where there is no such buffer.
std::optional<std::string> layout_svg(const Layouts& layouts, const std::string& name);

}  // namespace plait::explain
