#include "cuda/errors.h"

#include <fmt/format.h>

namespace plait::cuda {
namespace {

struct Meaning {
  Status status;
  Rule rule;
  std::string_view text;
};

constexpr Meaning kMeanings[] = {
    {Status::out_of_memory, Rule::gpu_memory, "the device has no memory left"},
    {Status::stub_library, Rule::gpu_driver,
     "the libcuda.so.1 that was found is the toolkit's stub, not that of a driver"},
    {Status::device_unavailable, Rule::gpu_device, "the device is in use by another process, or not available"},
    {Status::no_device, Rule::gpu_device, "there is no NVIDIA device, or none is visible to this process"},
    {Status::invalid_device, Rule::gpu_device, "the device does not exist"},
    {Status::operating_system, Rule::gpu_device, "the operating system does not let this process use the device"},
    {Status::system_not_ready, Rule::gpu_device, "the machine's NVIDIA services are not ready yet"},
    {Status::driver_mismatch, Rule::gpu_driver, "the driver's library and its kernel module are of different versions"},
    {Status::invalid_image, Rule::gpu_architecture, "the device does not take the compiled code"},
    {Status::no_binary_for_gpu, Rule::gpu_architecture, "the code was compiled for another architecture"},
    {Status::invalid_ptx, Rule::gpu_architecture, "the driver does not take the code"},
    {Status::unsupported_ptx, Rule::gpu_driver, "the driver is older than the compiler that made the code"},
    {Status::illegal_address, Rule::gpu_fault, "the kernel accessed memory that does not belong to any tensor"},
    {Status::launch_out_of_resources, Rule::gpu_limit,
     "a block needs more registers, threads or shared memory than the device has"},
    {Status::launch_timeout, Rule::gpu_fault, "the kernel ran longer than the system allows"},
    {Status::context_destroyed, Rule::gpu_call, "the context was destroyed"},
    {Status::assertion, Rule::gpu_fault, "an assertion in the kernel failed"},
    {Status::hardware_stack, Rule::gpu_fault, "a call stack in the kernel was damaged"},
    {Status::illegal_instruction, Rule::gpu_fault,
     "the kernel executed an instruction that is not allowed there, e.g. with a wrong descriptor or barrier"},
    {Status::misaligned_address, Rule::gpu_fault, "the kernel accessed memory that is not aligned for the access"},
    {Status::invalid_address_space, Rule::gpu_fault, "the kernel used an address in the wrong kind of memory"},
    {Status::invalid_pc, Rule::gpu_fault, "the kernel jumped to a place that is not code"},
    {Status::launch_failed, Rule::gpu_fault,
     "the kernel stopped with an error of the hardware: a wrong barrier, descriptor or address in shared memory"},
    {Status::ecc_error, Rule::gpu_fault, "the device's memory has an error that cannot be corrected"},
    {Status::invalid_context, Rule::gpu_call, "no context is current in this thread, or another than at preparation"},
    {Status::invalid_handle, Rule::gpu_call, "the stream or the kernel belongs to another context"},
    {Status::invalid_cluster_size, Rule::gpu_limit, "the device cannot run clusters of that size"},
    {Status::not_supported, Rule::gpu_limit, "the device or the driver cannot do that"},
    {Status::capture_unsupported, Rule::gpu_call, "that is not possible while the stream is captured into a graph"},
    {Status::capture_invalidated, Rule::gpu_call, "the capture of the graph was broken by an earlier error"},
};

std::string vendor_text(const Driver& driver, Status status) {
  const char* name = nullptr;
  const char* text = nullptr;
  bool known = driver.error_name(status, &name) == Status::ok && driver.error_text(status, &text) == Status::ok;
  if (!known || name == nullptr || text == nullptr)
    return fmt::format("the driver gives error {}", static_cast<int>(status));
  return fmt::format("the driver says: {} ({}, {})", text, name, static_cast<int>(status));
}

}  // namespace

Diagnostic explain(const Driver& driver, Status status, std::string_view what, const Loc& loc) {
  Diagnostic found{Rule::gpu_call, loc, fmt::format("{} failed", what), {}, {}, Severity::error};
  for (const Meaning& meaning : kMeanings) {
    if (meaning.status != status) continue;
    found.rule = meaning.rule;
    found.message = fmt::format("{}: {}", what, meaning.text);
  }
  found.notes.push_back({{}, vendor_text(driver, status)});
  return found;
}

Diagnostics problem(Rule rule, std::string message, std::string note) {
  Diagnostics found;
  found.error(rule, {}, std::move(message)).notes.push_back({{}, std::move(note)});
  return found;
}

Diagnostics check(const Driver& driver, Status status, std::string_view what, const Loc& loc) {
  Diagnostics found;
  if (status != Status::ok) found.add(explain(driver, status, what, loc));
  return found;
}

}  // namespace plait::cuda
