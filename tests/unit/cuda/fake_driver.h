#pragma once

#include <map>
#include <vector>

#include "cuda/driver.h"

namespace plait::cuda {

/// A driver without a device: it answers as one with an H200 would, counts what it is asked, and fails where told.
struct FakeDriver {
  static FakeDriver& instance();
  /// A table whose functions work on the instance, which starts anew.
  static Driver reset();

  std::map<std::string, int> calls;           ///< by the member of Driver
  std::map<std::string, Status> failures;     ///< what a member answers instead of ok
  std::map<std::uint64_t, bool> unreachable;  ///< addresses that are no memory of the device
  std::map<DeviceAttribute, int> attributes;
  ContextHandle current = nullptr;
  std::uint64_t context_number = 1;

  struct Launched {
    LaunchConfig config;
    std::uint32_t cluster = 1;
    std::vector<void*> arguments;
  };
  std::size_t argument_count = 0;  ///< of the kernel: how many a launch has
  std::vector<Launched> launched;

  struct Encoded {
    MapType type;
    void* address;
    std::vector<std::uint64_t> extents, strides;
    std::vector<std::uint32_t> box;
    MapSwizzle swizzle;
  };
  std::vector<Encoded> encoded;

  std::vector<std::size_t> reserved;  ///< bytes, in the order of a stream

  float elapsed_ms = 0;  ///< between any two events
  bool is_capturing = false;
  std::vector<FunctionHandle> captured;  ///< launched while the stream was captured
  std::vector<char> memory;              ///< what was copied to the device last
};

}  // namespace plait::cuda
