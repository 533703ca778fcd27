#include "cuda/abi.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace plait::cuda {
namespace {

TEST(AbiTest, StructsLieAsInTheToolkitsHeader) {
  EXPECT_EQ(sizeof(TensorMap), sizeof(CUtensorMap));
  EXPECT_GE(alignof(TensorMap), alignof(CUtensorMap));
  EXPECT_EQ(sizeof(LaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(LaunchAttribute, value), offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(sizeof(LaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(LaunchConfig, block_x), offsetof(CUlaunchConfig, blockDimX));
  EXPECT_EQ(offsetof(LaunchConfig, smem_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
  EXPECT_EQ(offsetof(LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(offsetof(LaunchConfig, attribute_count), offsetof(CUlaunchConfig, numAttrs));
}

template <typename Ours, typename Theirs>
void same(Ours ours, Theirs theirs) {
  EXPECT_EQ(static_cast<int>(ours), static_cast<int>(theirs));
}

TEST(AbiTest, NumbersAreThoseOfTheToolkitsHeader) {
  same(Status::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
  same(Status::stub_library, CUDA_ERROR_STUB_LIBRARY);
  same(Status::device_unavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
  same(Status::no_device, CUDA_ERROR_NO_DEVICE);
  same(Status::invalid_image, CUDA_ERROR_INVALID_IMAGE);
  same(Status::invalid_context, CUDA_ERROR_INVALID_CONTEXT);
  same(Status::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
  same(Status::ecc_error, CUDA_ERROR_ECC_UNCORRECTABLE);
  same(Status::invalid_ptx, CUDA_ERROR_INVALID_PTX);
  same(Status::unsupported_ptx, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  same(Status::operating_system, CUDA_ERROR_OPERATING_SYSTEM);
  same(Status::invalid_handle, CUDA_ERROR_INVALID_HANDLE);
  same(Status::not_found, CUDA_ERROR_NOT_FOUND);
  same(Status::not_ready, CUDA_ERROR_NOT_READY);
  same(Status::illegal_address, CUDA_ERROR_ILLEGAL_ADDRESS);
  same(Status::launch_out_of_resources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  same(Status::launch_timeout, CUDA_ERROR_LAUNCH_TIMEOUT);
  same(Status::context_destroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  same(Status::assertion, CUDA_ERROR_ASSERT);
  same(Status::hardware_stack, CUDA_ERROR_HARDWARE_STACK_ERROR);
  same(Status::illegal_instruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
  same(Status::misaligned_address, CUDA_ERROR_MISALIGNED_ADDRESS);
  same(Status::invalid_address_space, CUDA_ERROR_INVALID_ADDRESS_SPACE);
  same(Status::invalid_pc, CUDA_ERROR_INVALID_PC);
  same(Status::launch_failed, CUDA_ERROR_LAUNCH_FAILED);
  same(Status::not_supported, CUDA_ERROR_NOT_SUPPORTED);
  same(Status::system_not_ready, CUDA_ERROR_SYSTEM_NOT_READY);
  same(Status::driver_mismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
  same(Status::capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  same(Status::capture_invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  same(Status::invalid_cluster_size, CUDA_ERROR_INVALID_CLUSTER_SIZE);
  same(DeviceAttribute::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  same(DeviceAttribute::max_grid_x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  same(DeviceAttribute::max_grid_z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  same(DeviceAttribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  same(DeviceAttribute::l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  same(DeviceAttribute::major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  same(DeviceAttribute::minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  same(DeviceAttribute::pageable_memory_access, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
  same(DeviceAttribute::max_smem_per_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  same(FunctionAttribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS);
  same(FunctionAttribute::local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  same(FunctionAttribute::max_dynamic_smem_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  same(FunctionAttribute::non_portable_cluster, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  same(PointerAttribute::memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
  same(MapType::u8, CU_TENSOR_MAP_DATA_TYPE_UINT8);
  same(MapType::f16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
  same(MapType::f32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
  same(MapType::f64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64);
  same(MapType::bf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  same(MapType::tf32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
  same(MapSwizzle::b128, CU_TENSOR_MAP_SWIZZLE_128B);
  same(MapPromotion::l2_256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  same(MapFill::zeros, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  same(LaunchAttributeId::cluster_dimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  same(CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
}

}  // namespace
}  // namespace plait::cuda
#endif
