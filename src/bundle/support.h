#pragma once

#include <string_view>

/// The part of a bundle's C file that is the same in each, in order. `@` stands for the bundle's name, `@@` for its
/// name in capitals. From a line `//? NAME` to a line `//.` stands what belongs there only where something behind calls
/// NAME.
namespace plait::bundle {

/// Errors, tensors, what a call is checked for. Needs `struct num` and the MAX_… constants.
std::string_view call_support();
/// Which of the kernels serves a call.
std::string_view alignment_support();
/// The driver, devices, code that is loaded.
std::string_view driver_support();
/// What plans of launches are made of: blocks, pieces, workspaces, kernel parameters.
std::string_view plan_support();
/// Making bundles, launches. Behind the kernels.
std::string_view launch_support();

}  // namespace plait::bundle
