#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/kernel.h"
#include "place/placed.h"

namespace plait::bundle {

/// The alignments that calls of a kernel may come with, by the dims that rows and strides are made of, in the order of
/// what a kernel for them takes: first that of tensors which suit TMA, last that of tensors which lie anywhere. `dims`:
/// those that are known. Where there are more than kMostAlignments they are told apart less finely.
std::vector<place::Assumptions> alignments(const ir::Kernel& kernel, const std::map<std::string, std::int64_t>& dims);

inline constexpr std::size_t kMostAlignments = 24;

/// How a tensor lies by these assumptions: the most bytes up to 16 that its start, rows and strides are multiples of.
int granule_of(const place::Assumptions& assumptions, const std::string& tensor);

}  // namespace plait::bundle
