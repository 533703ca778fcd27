#pragma once

#include <memory>
#include <string>

namespace plait::cpu {

/// Code that was loaded into the process; it stays until `owner` is released.
struct Loaded {
  void* address = nullptr;
  std::shared_ptr<void> owner;
};
/// Links an object file into the process and finds `symbol` in it. Thread-safe.
Loaded load_object(const std::string& object, const std::string& symbol);

}  // namespace plait::cpu
