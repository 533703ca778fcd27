# cmake -DOUTPUT=FILE.cpp -DMODELS=a.json,b.json -P EmbedModels.cmake: the models as constants of a C++ file.
string(REPLACE "," ";" models "${MODELS}")
set(entries "")
foreach(model ${models})
  get_filename_component(name ${model} NAME_WE)
  file(READ ${model} json)
  string(APPEND entries "      {\"${name}\", R\"plaitjson(${json})plaitjson\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made from machines/*.json.
#include \"machine/load.h\"

namespace plait::machine {

const std::vector<EmbeddedModel>& embedded_models() {
  static const std::vector<EmbeddedModel> models = {
${entries}  };
  return models;
}

}  // namespace plait::machine
")
