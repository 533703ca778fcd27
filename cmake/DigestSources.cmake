# cmake -DOUTPUT=FILE.cpp -DROOT=FOLDER -P DigestSources.cmake: one digest of the sources that decide on the code of GPU kernels, as a constant of a
# C++ file.
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/src/*.cpp ${ROOT}/src/*.h ${ROOT}/src/*.def)
list(FILTER sources EXCLUDE REGEX "^src/(api|emit/cpu|interp|reference)/")
list(SORT sources)
set(all "")
foreach(source ${sources})
  file(SHA256 ${ROOT}/${source} digest)
  string(APPEND all "${source} ${digest}\n")
endforeach()
string(SHA256 digest "${all}")
string(SUBSTRING ${digest} 0 16 digest)
file(WRITE ${OUTPUT} "// Made from the sources.
#include \"store/build.h\"

const char* const plait::store::sources_digest = \"${digest}\";
")
