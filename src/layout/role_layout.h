#pragma once

#include "layout/descriptor.h"
#include "layout/fragment.h"
#include "layout/smem.h"
#include "roles/program.h"

/// The layouts that the declarations of a role program name.
namespace plait::layout {

/// Why a fragment held by `threads` threads (of a replica) has no layout, in words that follow its name.
std::optional<std::string> fragment_error(const roles::FragmentDecl& fragment, std::int64_t threads);
/// The map of a fragment without fragment_error; a fragment of one dimension has one row, `rows` one column.
FragmentMap fragment_map(const roles::FragmentDecl& fragment, std::int64_t threads);

SmemTile smem_tile(const roles::SmemDecl& smem);
TmaBox tma_box(const roles::MapDecl& map);

}  // namespace plait::layout
