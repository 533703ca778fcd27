#include "cuda/library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace plait::cuda {

void* Library::symbol(const char* name) const { return ::dlsym(handle, name); }

Library open_library(const std::string& name) {
  Library library;
  library.handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle == nullptr) {
    const char* error = ::dlerror();
    library.error = error != nullptr ? error : "unknown error";
  }
  return library;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace plait::cuda
