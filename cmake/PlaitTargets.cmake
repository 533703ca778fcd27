# The few functions from which every target of the tree is made.

find_program(PLAIT_CCACHE ccache)
if(PLAIT_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PLAIT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${PLAIT_CCACHE})
endif()

add_library(plait_options INTERFACE)
target_include_directories(plait_options INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(plait_options INTERFACE -Wall -Wextra -Wpedantic -Werror -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies in `"(" + text` at -O2 (GCC bug 105651).
  target_compile_options(plait_options INTERFACE -Wno-restrict)
endif()
if(PLAIT_SANITIZE)
  target_compile_options(plait_options INTERFACE -fsanitize=${PLAIT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(plait_options INTERFACE -fsanitize=${PLAIT_SANITIZE})
endif()

# plait_library(NAME [DEPS lib…]): the static library plait_NAME of every .cpp beside the calling CMakeLists.txt.
function(plait_library name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(plait_${name} STATIC ${sources})
  target_link_libraries(plait_${name} PUBLIC plait_options ${ARG_DEPS})
endfunction()

# plait_unit_test(NAME [DEPS lib…]): one GoogleTest program of every .cpp beside the calling CMakeLists.txt, registered test by test.
function(plait_unit_test name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_executable(${name}_test ${sources})
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(${name}_test PRIVATE PLAIT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${name}_test DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit)
endfunction()
