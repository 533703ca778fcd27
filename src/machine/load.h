#pragma once

#include "machine/device.h"
#include "support/result.h"

namespace plait::machine {

/// Reads one model. Every wrong field is reported at its place, by its path.
Result<Device> parse_device(const SourceRef& json);

/// The model that --device names: a path when the text has a `/` or ends in `.json`, else the name of a known model.
Result<Device> load_device(const std::string& name_or_path);
bool is_model_path(const std::string& text);

/// Names of the known models: those installed in share/plait/machines beside the program, and those compiled in.
std::vector<std::string> device_names();

/// The JSON text of a known model: the installed file where there is one, else the one compiled in; null for others.
SourceRef device_source(const std::string& name);

/// A model compiled into the library.
struct EmbeddedModel {
  std::string_view name;
  std::string_view json;
};
const std::vector<EmbeddedModel>& embedded_models();

}  // namespace plait::machine
