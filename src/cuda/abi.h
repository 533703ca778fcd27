#pragma once

#include <cstddef>
#include <cstdint>

/// The part of the binary interfaces of libcuda (driver API 12 and newer) and NVRTC that is used here, declared from
/// their public documentation, so that neither the toolkit's headers nor its libraries are needed to build plait.
namespace plait::cuda {

/// A CUresult. Only the values that are told apart have names.
enum class Status : int {
  ok = 0,
  invalid_value = 1,
  out_of_memory = 2,
  stub_library = 34,
  device_unavailable = 46,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  invalid_context = 201,
  no_binary_for_gpu = 209,
  ecc_error = 214,
  invalid_ptx = 218,
  unsupported_ptx = 222,
  operating_system = 304,
  invalid_handle = 400,
  not_found = 500,
  not_ready = 600,
  illegal_address = 700,
  launch_out_of_resources = 701,
  launch_timeout = 702,
  context_destroyed = 709,
  assertion = 710,
  hardware_stack = 714,
  illegal_instruction = 715,
  misaligned_address = 716,
  invalid_address_space = 717,
  invalid_pc = 718,
  launch_failed = 719,
  not_supported = 801,
  system_not_ready = 802,
  driver_mismatch = 803,
  capture_unsupported = 900,
  capture_invalidated = 901,
  invalid_cluster_size = 912,
};

using Device = int;
using DevicePtr = std::uint64_t;
using ContextHandle = struct ContextRecord*;
using ModuleHandle = struct ModuleRecord*;
using FunctionHandle = struct FunctionRecord*;
using StreamHandle = struct StreamRecord*;  ///< null: the default stream
using EventHandle = struct EventRecord*;
using GraphHandle = struct GraphRecord*;
using GraphExecHandle = struct GraphExecRecord*;

enum class DeviceAttribute : int {
  max_threads_per_block = 1,
  max_grid_x = 5,
  max_grid_y = 6,
  max_grid_z = 7,
  multiprocessors = 16,
  l2_bytes = 38,
  major = 75,
  minor = 76,
  pageable_memory_access = 88,
  max_smem_per_block = 97,
};

enum class FunctionAttribute : int {
  max_threads_per_block = 0,
  static_smem_bytes = 1,
  local_bytes = 3,
  registers = 4,
  max_dynamic_smem_bytes = 8,
  non_portable_cluster = 14,
};

enum class PointerAttribute : int { memory_type = 2 };

enum class MapType : int {
  u8 = 0,
  u16 = 1,
  u32 = 2,
  i32 = 3,
  u64 = 4,
  i64 = 5,
  f16 = 6,
  f32 = 7,
  f64 = 8,
  bf16 = 9,
  tf32 = 11,
};
enum class MapInterleave : int { none = 0 };
enum class MapSwizzle : int { none = 0, b32 = 1, b64 = 2, b128 = 3 };
enum class MapPromotion : int { none = 0, l2_128 = 2, l2_256 = 3 };
enum class MapFill : int { zeros = 0 };

/// A CUtensorMap. Version 13 asks for an alignment of 128 bytes, version 12 for 64.
struct alignas(128) TensorMap {
  std::uint64_t opaque[16];
};

enum class LaunchAttributeId : int { cluster_dimension = 4 };
struct LaunchAttribute {
  LaunchAttributeId id;
  std::uint32_t padding;
  union Value {
    char bytes[64];
    std::uint64_t alignment;
    struct {
      std::uint32_t x, y, z;
    } cluster;
  } value;
};

struct LaunchConfig {
  std::uint32_t grid_x, grid_y, grid_z;
  std::uint32_t block_x, block_y, block_z;
  std::uint32_t smem_bytes;
  StreamHandle stream;
  const LaunchAttribute* attributes;
  std::uint32_t attribute_count;
};

enum class CaptureMode : int { global = 0, thread_local_ = 1, relaxed = 2 };

/// An nvrtcResult.
enum class NvrtcStatus : int { ok = 0, out_of_memory = 1, invalid_option = 5, compilation = 6 };
using NvrtcProgram = struct NvrtcProgramRecord*;

}  // namespace plait::cuda
