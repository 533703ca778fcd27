# The few functions from which every target of the tree is made.

find_program(PLAIT_CCACHE ccache)
if(PLAIT_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PLAIT_CCACHE})
  if(PLAIT_PCH)
    # What ccache asks for before it caches objects that use a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${PLAIT_CCACHE})
  endif()
  set(CMAKE_C_COMPILER_LAUNCHER ${PLAIT_CCACHE})
endif()

add_library(plait_options INTERFACE)
target_include_directories(plait_options INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(plait_options INTERFACE -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping and overlong copies in std::string at -O2 (GCC bugs 105651, 105329).
  target_compile_options(plait_options INTERFACE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
                                                 $<$<CONFIG:Release>:-Wno-stringop-overread>)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # std::stable_sort of libstdc++ 12 calls std::get_temporary_buffer.
  target_compile_options(plait_options INTERFACE -Wno-deprecated-declarations)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A file of ours allocates some 200 MB while it compiles: collecting garbage on the way takes a tenth of the time.
  target_compile_options(plait_options INTERFACE "SHELL:--param ggc-min-heapsize=262144")
endif()
if(PLAIT_SANITIZE)
  target_compile_options(plait_options INTERFACE -fsanitize=${PLAIT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(plait_options INTERFACE -fsanitize=${PLAIT_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # That check reads clang's mark before a function, which functions compiled at run time lack.
    target_compile_options(plait_options INTERFACE -fno-sanitize=function)
  endif()
endif()

# Headers that nearly every file includes, parsed once for all libraries, once more with role programs for the libraries
# that are about them, and once more with GoogleTest for the tests. Of ours only those of the
# programs: what changes there is compiled anew everywhere. It is named as sources name it: of a path CMake would take the time of the file, and a
# change of this list would go unnoticed.
set(plait_common_headers <algorithm> <fmt/format.h> <fmt/ranges.h> <functional> <map> <memory> <optional> <string> <string_view> <unordered_map>
                         <variant> <vector> [["ir/kernel.h"]])
# What std::variant makes of the statements of role programs takes a third of a second.
set(plait_roles_headers ${plait_common_headers} <deque> <set> [["ir/visit.h"]] [["machine/device.h"]] [["roles/builder.h"]] [["roles/visit.h"]])
if(PLAIT_PCH)
  find_package(fmt REQUIRED)
  file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp "")
  foreach(set common roles)
    add_library(plait_${set}_pch OBJECT ${CMAKE_BINARY_DIR}/pch.cpp)
    target_link_libraries(plait_${set}_pch PRIVATE plait_options fmt::fmt)
    target_precompile_headers(plait_${set}_pch PRIVATE ${plait_${set}_headers})
  endforeach()
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # Else ccache never sees the same precompiled header twice.
    target_compile_options(plait_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()

# plait_test_pch(): the target whose precompiled header all tests with the usual flags share.
function(plait_test_pch)
  file(WRITE ${CMAKE_BINARY_DIR}/test_pch.cpp "int main() { return 0; }\n")
  add_executable(plait_test_pch EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/test_pch.cpp)
  plait_test_options(plait_test_pch)
  target_precompile_headers(plait_test_pch PRIVATE ${plait_common_headers} <gmock/gmock.h> <gtest/gtest.h>)
endfunction()

# plait_test_options(TARGET): what every GoogleTest program is compiled and linked with.
function(plait_test_options target)
  # Tests are compiled once and run once: optimising them costs more than it saves.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  target_link_libraries(${target} PRIVATE plait_options fmt::fmt GTest::gtest GTest::gmock GTest::gtest_main)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE PLAIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endfunction()

# plait_runs_once(TARGET): its code runs once a program or a launch, and no loop over elements is in it: less is optimised, and it compiles in four
# fifths of the time. Clang has no need of it, and takes a precompiled header only at the level at which it was made.
function(plait_runs_once target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # At -O1 GCC 12 takes values that fmt fills in for values that are not (GCC bug 105562).
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
  endif()
endfunction()

# plait_unity(TARGET): where PLAIT_UNITY is set, a few of its files are compiled as one. What headers bring (fmt, std::variant, our own trees) is most
# of the time of a file of ours, and is then paid once for all of them.
function(plait_unity target)
  if(PLAIT_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${PLAIT_UNITY})
  endif()
endfunction()

# plait_library(NAME [ROLES | OWN_PCH] [DEPS lib…]): the static library plait_NAME of every .cpp beside the calling CMakeLists.txt.
# ROLES: nearly all of its files include role programs. OWN_PCH: its flags differ from the other libraries', so that
# their precompiled header does not fit.
function(plait_library name)
  cmake_parse_arguments(ARG "ROLES;OWN_PCH" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(plait_${name} STATIC ${sources})
  target_link_libraries(plait_${name} PUBLIC plait_options ${ARG_DEPS})
  plait_unity(plait_${name})
  if(PLAIT_PCH AND ARG_ROLES)
    target_precompile_headers(plait_${name} REUSE_FROM plait_roles_pch)
  elseif(PLAIT_PCH AND NOT ARG_OWN_PCH)
    target_precompile_headers(plait_${name} REUSE_FROM plait_common_pch)
  endif()
endfunction()

# plait_unit_test(NAME [OWN_PCH] [DEPS lib…]): one GoogleTest program of every .cpp beside the calling CMakeLists.txt, registered test by test.
function(plait_unit_test name)
  cmake_parse_arguments(ARG "OWN_PCH" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_executable(${name}_test EXCLUDE_FROM_ALL ${sources})
  add_dependencies(plait_tests ${name}_test)
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPS})
  plait_test_options(${name}_test)
  if(PLAIT_PCH)
    if(ARG_OWN_PCH)
      target_precompile_headers(${name}_test PRIVATE ${plait_common_headers} <gmock/gmock.h> <gtest/gtest.h>)
    else()
      target_precompile_headers(${name}_test REUSE_FROM plait_test_pch)
    endif()
  endif()
  # What was measured or planned before on this machine would change what tests see.
  gtest_discover_tests(${name}_test DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit ENVIRONMENT PLAIT_STORE=none
    ENVIRONMENT_MODIFICATION PLAIT_CACHE=set:none)
endfunction()
