#include "cuda/context.h"

#include "cuda/errors.h"

namespace plait::cuda {
namespace {

/// Runs calls of the driver up to the first that fails.
class Calls {
 public:
  Calls(const Driver& driver, std::string_view what) : driver_(driver), what_(what) {}
  template <typename F, typename... Args>
  void operator()(F function, Args... args) {
    if (status_ == Status::ok) status_ = function(args...);
  }
  std::int64_t attribute(DeviceAttribute name, Device device) {
    int value = 0;
    (*this)(driver_.device_attribute, &value, name, device);
    return value;
  }
  bool ok() const { return status_ == Status::ok; }
  Diagnostics diagnostics() const { return check(driver_, status_, what_); }

 private:
  const Driver& driver_;
  std::string_view what_;
  Status status_ = Status::ok;
};

void make_primary_current(const Driver& driver, Calls& call, ContextHandle& context) {
  int count = 0;
  Device device = 0;
  call(driver.device_count, &count);
  call([&] { return count > 0 ? Status::ok : Status::no_device; });
  call(driver.device, &device, 0);
  call(driver.retain_primary, &context, device);
  call(driver.set_context, context);
}

DeviceInfo read_device(const Driver& driver, Calls& call) {
  DeviceInfo info;
  char name[256] = "";
  call(driver.context_device, &info.number);
  call(driver.device_name, name, static_cast<int>(sizeof name) - 1, info.number);
  info.name = name;
  auto get = [&](DeviceAttribute attribute) { return call.attribute(attribute, info.number); };
  info.major = static_cast<int>(get(DeviceAttribute::major));
  info.minor = static_cast<int>(get(DeviceAttribute::minor));
  info.sms = static_cast<int>(get(DeviceAttribute::multiprocessors));
  info.l2_bytes = get(DeviceAttribute::l2_bytes);
  info.max_threads = static_cast<int>(get(DeviceAttribute::max_threads_per_block));
  info.max_smem = get(DeviceAttribute::max_smem_per_block);
  info.max_grid[0] = get(DeviceAttribute::max_grid_x);
  info.max_grid[1] = get(DeviceAttribute::max_grid_y);
  info.max_grid[2] = get(DeviceAttribute::max_grid_z);
  info.reads_host_memory = get(DeviceAttribute::pageable_memory_access) != 0;
  return info;
}

}  // namespace

Result<Context> current_context(const Driver& driver) {
  Calls call(driver, "preparing the device");
  Context context;
  context.driver = &driver;
  call(driver.current_context, &context.handle);
  if (call.ok() && context.handle == nullptr) make_primary_current(driver, call, context.handle);
  unsigned long long id = 0;
  call(driver.context_id, context.handle, &id);
  context.id = id;
  context.device = read_device(driver, call);
  if (!call.ok()) return call.diagnostics();
  return context;
}

Result<Context> current_context() {
  auto loaded = driver();
  if (!loaded) return loaded.diagnostics();
  return current_context(**loaded);
}

Diagnostics synchronize(const Driver& driver) { return check(driver, driver.synchronize(), "running the kernel"); }

}  // namespace plait::cuda
