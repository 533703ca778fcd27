#pragma once

#include "jit/jit.h"

/// Kernels compiled ahead of time for C programs that have no plait: cubins, a header, and a C file that checks calls,
/// chooses among kernels and launches them. docs/bundles.md.
namespace plait::bundle {

/// One kernel and what it takes of the tensors of calls.
struct Variant {
  place::Assumptions takes;
  std::shared_ptr<const cuda::Kernel> kernel;  ///< its head says how it is launched
  std::size_t code = 0;                        ///< its number in Bundle::codes
};
/// The kernels of one program for one architecture: those that take least come first.
struct DeviceVariants {
  std::vector<Variant> variants;
};
struct BundledKernel {
  std::string name;
  bool is_tile = false;           ///< else a role program, with one variant a device and conditions of its own
  std::size_t tile_requires = 0;  ///< so many conditions, the first of each head, are the tile program's
  std::vector<DeviceVariants> devices;
};
/// Machine code in a file of its own; several variants may share it.
struct Code {
  std::string file;  ///< its name in the folder
  std::size_t device = 0;
  std::string cubin;
  std::shared_ptr<const cuda::Kernel> kernel;  ///< entry, threads, shared memory, cluster
};
struct Bundle {
  std::string name;                        ///< prefixes what C sees
  std::vector<std::string> architectures;  ///< one a device, the latest first
  std::vector<BundledKernel> kernels;
  std::vector<Code> codes;
  Diagnostics warnings;
  std::vector<std::string> remarks;  ///< calls that no kernel takes, and why
};

/// The name of a bundle in this folder, or what is wrong with it.
Result<std::string> name_of(const std::string& folder);

/// Derives and compiles the kernel of every request for every device, on so many threads (0: as many as there are
/// processors); what the requests say of devices, architectures and assumptions does not count. Of the alignments that
/// calls may come with, those that no kernel can be derived for become remarks.
Result<Bundle> compile(std::string name, const std::vector<jit::Request>& requests,
                       const std::vector<machine::Device>& devices, int threads);

/// Everything that a launch has to know, as C.
struct Files {
  std::string header, source;
};
Result<Files> print(const Bundle& bundle);

/// Writes all files, in place of an earlier bundle of that name. They are there together or not at all.
Diagnostics write(const std::string& folder, const Bundle& bundle, const Files& files);

}  // namespace plait::bundle
