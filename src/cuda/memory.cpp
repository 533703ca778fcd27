#include "cuda/memory.h"

#include <fmt/format.h>

#include "cuda/errors.h"

namespace plait::cuda {
namespace {

Diagnostics out_of_memory(const Context& context, std::int64_t bytes) {
  std::size_t left = 0, all = 0;
  context.driver->free_memory(&left, &all);
  std::string what =
      fmt::format("reserving {:.2f} GiB on {} ({:.2f} of {:.2f} GiB are free)", static_cast<double>(bytes) / 0x1p30,
                  context.device.name, static_cast<double>(left) / 0x1p30, static_cast<double>(all) / 0x1p30);
  return check(*context.driver, Status::out_of_memory, what);
}

}  // namespace

Result<DeviceMemory> DeviceMemory::allocate(const Context& context, std::int64_t bytes) {
  DeviceMemory memory;
  if (bytes == 0) return memory;
  DevicePtr address = 0;
  Status status = context.driver->allocate(&address, static_cast<std::size_t>(bytes));
  if (status == Status::out_of_memory) return out_of_memory(context, bytes);
  if (status != Status::ok) return check(*context.driver, status, "reserving memory of the device");
  memory.driver_ = context.driver;
  memory.address_ = address;
  memory.bytes_ = bytes;
  return memory;
}

Diagnostics DeviceMemory::upload(const void* from) {
  if (bytes_ == 0) return {};
  Status status = driver_->to_device(address_, from, static_cast<std::size_t>(bytes_));
  return check(*driver_, status, "copying to the device");
}

Diagnostics DeviceMemory::download(void* to) const {
  if (bytes_ == 0) return {};
  Status status = driver_->to_host(to, address_, static_cast<std::size_t>(bytes_));
  return check(*driver_, status, "copying from the device");
}

}  // namespace plait::cuda
