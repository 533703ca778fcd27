#pragma once

#include "pipeline/fresh_names.h"

namespace plait::pipeline {

/// Places along two axes.
struct Cell {
  Value row, column;
};

/// Cell `number` of the generalized Hilbert curve over rows x columns cells: neighbours on the curve are neighbours in
/// the plane, and every run of cells stays close together, whatever the extents are. (J. Červený, "Generalized Hilbert
/// curve for rectangular domains", 2018: rectangles are cut in two or three until one has a single row.) Emits a loop
/// of about two rounds for each doubling of the longer side.
Cell hilbert_cell(roles::build::Builder& b, FreshNames& names, const Value& number, const Value& rows,
                  const Value& columns);

}  // namespace plait::pipeline
