#pragma once

#include "ir/kernel.h"

namespace plait::npu {

/// How statements use a buffer on chip.
struct Uses {
  bool result = false;  ///< a product writes it
  bool factor = false;  ///< a product reads it
  bool loads = false;   ///< it is copied from a tensor
  bool fills = false;   ///< all of it gets one value
  bool leaves = false;  ///< it is copied to a tensor
  bool reads = false;   ///< element work, reductions and other copies read it,
  bool writes = false;  ///< or write it
  bool vector() const { return reads || writes; }
  bool any() const { return result || factor || loads || fills || leaves || vector(); }
};
Uses uses_of(const ir::Buffer& buffer, const ir::Stmt& stmt);
Uses uses_of(const ir::Buffer& buffer, const ir::Body& body);

/// All of a buffer.
ir::Region whole(const ir::Buffer& buffer, const Loc& loc);

}  // namespace plait::npu
