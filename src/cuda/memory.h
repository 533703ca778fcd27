#pragma once

#include "cuda/context.h"

namespace plait::cuda {

/// Memory of the device, freed with its owner.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  /// No bytes: no memory, address 0.
  static Result<DeviceMemory> allocate(const Context& context, std::int64_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    DeviceMemory old(std::move(other));
    swap(old);
    return *this;
  }
  ~DeviceMemory() {
    if (address_ != 0) driver_->free(address_);
  }

  void* data() const { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address_)); }
  std::int64_t bytes() const { return bytes_; }
  /// All bytes; both wait for what the default stream has begun.
  Diagnostics upload(const void* from);
  Diagnostics download(void* to) const;

 private:
  void swap(DeviceMemory& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
  }
  const Driver* driver_ = nullptr;
  DevicePtr address_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace plait::cuda
