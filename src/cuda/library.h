#pragma once

#include <string>

namespace plait::cuda {

/// A library opened with dlopen. It is never closed: what it started may still run.
struct Library {
  void* handle = nullptr;  ///< null where it could not be opened
  std::string error;       ///< why, in the words of the system

  void* symbol(const char* name) const;
};
Library open_library(const std::string& name);

/// The value of an environment variable, empty where it is not set.
std::string environment(const char* name);

}  // namespace plait::cuda
