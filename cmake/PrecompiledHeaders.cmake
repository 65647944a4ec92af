# Half of the time that a source takes is the standard library's headers, and most of a test's GoogleTest's. Compiled once, what
# a source forgot to include is no error: lint, and the build against another libdwarf, compile without.
set(sframe_gen_common_headers <algorithm> <array> <cstddef> <cstdint> <cstring> <functional> <map> <memory> <optional> <span>
    <string> <string_view> <utility> <vector>)
set(sframe_gen_test_headers <gtest/gtest.h> <filesystem> <fstream> <sstream>)

# sframe_gen_precompile(TARGET FIRST HEADER...): all that name the same FIRST, a target as well, share its headers.
function(sframe_gen_precompile target first)
  if(NOT SFRAME_GEN_PRECOMPILED_HEADERS)
    return()
  endif()
  # So that ccache knows the headers again.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
  if(target STREQUAL first)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${first})
  endif()
endfunction()
