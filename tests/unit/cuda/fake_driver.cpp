#include "fake_driver.h"

#include <cstring>

namespace plait::cuda {
namespace {

FakeDriver& fake() { return FakeDriver::instance(); }

Status answer(const std::string& member) {
  ++fake().calls[member];
  auto failure = fake().failures.find(member);
  return failure == fake().failures.end() ? Status::ok : failure->second;
}

template <typename Handle>
Status make(const std::string& member, Handle* handle) {
  Status status = answer(member);
  if (status == Status::ok) *handle = reinterpret_cast<Handle>(std::uintptr_t{0x1000});
  return status;
}

Status error_name(Status, const char** name) {
  *name = "CUDA_ERROR_FAKE";
  return Status::ok;
}
Status error_text(Status, const char** text) {
  *text = "a fake error";
  return Status::ok;
}
Status device_count(int* count) {
  *count = 1;
  return answer("device_count");
}
Status device(Device* device, int number) {
  *device = number;
  return answer("device");
}
Status device_name(char* name, int, Device) {
  std::strcpy(name, "Fake H200");
  return answer("device_name");
}
Status device_attribute(int* value, DeviceAttribute attribute, Device) {
  auto found = fake().attributes.find(attribute);
  *value = found == fake().attributes.end() ? 0 : found->second;
  return answer("device_attribute");
}
Status retain_primary(ContextHandle* context, Device) { return make("retain_primary", context); }
Status current_context(ContextHandle* context) {
  *context = fake().current;
  return answer("current_context");
}
Status set_context(ContextHandle context) {
  fake().current = context;
  return answer("set_context");
}
Status context_device(Device* device) {
  *device = 0;
  return answer("context_device");
}
Status context_id(ContextHandle, unsigned long long* id) {
  *id = fake().context_number;
  return answer("context_id");
}
Status synchronize() { return answer("synchronize"); }
Status load_module(ModuleHandle* module, const void*) { return make("load_module", module); }
Status unload_module(ModuleHandle) { return answer("unload_module"); }
Status function(FunctionHandle* function, ModuleHandle, const char*) { return make("function", function); }
Status function_attribute(int* value, FunctionAttribute, FunctionHandle) {
  *value = 168;
  return answer("function_attribute");
}
Status set_function_attribute(FunctionHandle, FunctionAttribute, int) { return answer("set_function_attribute"); }
Status launch(const LaunchConfig* config, FunctionHandle function, void** arguments, void**) {
  if (fake().is_capturing) fake().captured.push_back(function);
  FakeDriver::Launched launched{*config, 1, {}};
  if (config->attribute_count > 0) launched.cluster = config->attributes[0].value.cluster.x;
  launched.arguments.assign(arguments, arguments + fake().argument_count);
  fake().launched.push_back(launched);
  return answer("launch");
}
Status encode_map(TensorMap* map, MapType type, std::uint32_t rank, void* address, const std::uint64_t* extents,
                  const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t*, MapInterleave,
                  MapSwizzle swizzle, MapPromotion, MapFill) {
  std::memset(static_cast<void*>(map), 0x77, sizeof *map);
  fake().encoded.push_back(
      {type, address, {extents, extents + rank}, {strides, strides + rank - 1}, {box, box + rank}, swizzle});
  return answer("encode_map");
}
Status pointer_attribute(void*, PointerAttribute, DevicePtr address) {
  ++fake().calls["pointer_attribute"];
  return fake().unreachable.count(address) > 0 ? Status::invalid_value : Status::ok;
}

Status allocate_async(DevicePtr* address, std::size_t bytes, StreamHandle) {
  *address = 0x1000 * static_cast<DevicePtr>(++fake().calls["addresses"]);
  fake().reserved.push_back(bytes);
  return answer("allocate_async");
}
Status fill(DevicePtr, unsigned char, std::size_t, StreamHandle) { return answer("fill"); }
Status free_async(DevicePtr, StreamHandle) { return answer("free_async"); }
Status allocate(DevicePtr* address, std::size_t) {
  *address = 0x4000;
  return answer("allocate");
}
Status free_(DevicePtr) { return answer("free"); }
Status free_memory(std::size_t* left, std::size_t* all) {
  *left = std::size_t{2} << 30;
  *all = std::size_t{4} << 30;
  return answer("free_memory");
}
Status to_device(DevicePtr, const void* from, std::size_t bytes) {
  const char* begin = static_cast<const char*>(from);
  fake().memory.assign(begin, begin + bytes);
  return answer("to_device");
}
Status to_host(void* to, DevicePtr, std::size_t bytes) {
  std::memcpy(to, fake().memory.data(), bytes);
  return answer("to_host");
}
Status create_stream(StreamHandle* stream, unsigned) { return make("create_stream", stream); }
Status destroy_stream(StreamHandle) { return answer("destroy_stream"); }
Status synchronize_stream(StreamHandle) { return answer("synchronize_stream"); }
Status create_event(EventHandle* event, unsigned) { return make("create_event", event); }
Status destroy_event(EventHandle) { return answer("destroy_event"); }
Status record_event(EventHandle, StreamHandle) { return answer("record_event"); }
Status synchronize_event(EventHandle) { return answer("synchronize_event"); }
Status elapsed(float* ms, EventHandle, EventHandle) {
  *ms = fake().elapsed_ms;
  return answer("elapsed");
}
Status begin_capture(StreamHandle, CaptureMode) {
  fake().is_capturing = true;
  return answer("begin_capture");
}
Status end_capture(StreamHandle, GraphHandle* graph) {
  fake().is_capturing = false;
  return make("end_capture", graph);
}
Status instantiate(GraphExecHandle* exec, GraphHandle, unsigned long long) { return make("instantiate", exec); }
Status launch_graph(GraphExecHandle, StreamHandle) { return answer("launch_graph"); }
Status destroy_graph_exec(GraphExecHandle) { return answer("destroy_graph_exec"); }
Status destroy_graph(GraphHandle) { return answer("destroy_graph"); }

}  // namespace

FakeDriver& FakeDriver::instance() {
  static FakeDriver instance;
  return instance;
}

Driver FakeDriver::reset() {
  FakeDriver& state = instance();
  state = {};
  state.attributes = {{DeviceAttribute::major, 9},
                      {DeviceAttribute::minor, 0},
                      {DeviceAttribute::multiprocessors, 132},
                      {DeviceAttribute::l2_bytes, 50 << 20},
                      {DeviceAttribute::max_threads_per_block, 1024},
                      {DeviceAttribute::max_smem_per_block, 227 << 10},
                      {DeviceAttribute::max_grid_x, 2147483647},
                      {DeviceAttribute::max_grid_y, 65535},
                      {DeviceAttribute::max_grid_z, 65535}};
  Driver table;
  table.error_name = error_name;
  table.error_text = error_text;
  table.device_count = device_count;
  table.device = device;
  table.device_name = device_name;
  table.device_attribute = device_attribute;
  table.retain_primary = retain_primary;
  table.current_context = current_context;
  table.set_context = set_context;
  table.context_device = context_device;
  table.context_id = context_id;
  table.synchronize = synchronize;
  table.load_module = load_module;
  table.unload_module = unload_module;
  table.function = function;
  table.function_attribute = function_attribute;
  table.set_function_attribute = set_function_attribute;
  table.allocate_async = allocate_async;
  table.free_async = free_async;
  table.fill = fill;
  table.launch = launch;
  table.encode_map = encode_map;
  table.pointer_attribute = pointer_attribute;
  table.allocate = allocate;
  table.free_memory = free_memory;
  table.to_device = to_device;
  table.to_host = to_host;
  table.create_stream = create_stream;
  table.destroy_stream = destroy_stream;
  table.synchronize_stream = synchronize_stream;
  table.create_event = create_event;
  table.destroy_event = destroy_event;
  table.record_event = record_event;
  table.synchronize_event = synchronize_event;
  table.elapsed = elapsed;
  table.begin_capture = begin_capture;
  table.end_capture = end_capture;
  table.instantiate = instantiate;
  table.launch_graph = launch_graph;
  table.destroy_graph_exec = destroy_graph_exec;
  table.destroy_graph = destroy_graph;
  table.free = free_;
  return table;
}

}  // namespace plait::cuda
