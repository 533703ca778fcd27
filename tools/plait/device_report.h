#pragma once

#include "machine/device.h"
#include "report.h"

namespace plait::cli {

/// Every figure of a model with its source, as a table for people.
std::string device_text(const machine::Device& device);
/// The same as an object, in the form of the model's JSON.
Report device_report(const machine::Device& device);
/// What a list of devices says of one.
Report device_summary(const machine::Device& device);

}  // namespace plait::cli
