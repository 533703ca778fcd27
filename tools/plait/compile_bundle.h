#pragma once

#include "device_program.h"
#include "run_roles.h"

namespace plait::cli {

/// `plait compile --emit bundle`: what is said of all FILEs.
struct BundleOptions {
  std::vector<std::string> files;
  std::string kernel;  ///< of the only FILE; empty: all kernels of each
  std::vector<std::string> bindings;
  std::vector<std::string> devices;  ///< names of machine models; none: those of role programs, else h200
  std::string output;                ///< folder
  std::string schedule;              ///< of the only kernel
  std::string planner = "auto";
  std::map<std::string, std::int64_t> dims;
  bool allow_serialized = false;
  int jobs = 0;
};
Outcome compile_bundle(const BundleOptions& options);

/// The machine models of a list of names, apart by commas; an architecture such as sm_80 stands for a model of it.
/// What is wrong with one of them is told by check_devices().
std::vector<std::string> devices_of(const std::string& list);
std::string check_devices(const std::string& list);

}  // namespace plait::cli
