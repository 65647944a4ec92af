# sframe_gen_target(TARGET [OPTIONS option...])
#
#   Converts what TARGET, an executable or a shared or module library of this directory, links to, in place, right after
#   each link. Call it before whatever signs, strips or copies the file after the link: these steps run in the order in
#   which they were added.
#
# sframe_gen_target(TARGET OBJECTS [OPTIONS option...])
#
#   Converts the objects that TARGET compiles from C and C++ instead, each right after it was compiled. The linker merges
#   their sections, if it is one that can: GNU ld or mold as new as the version of the format.
#
# OPTIONS are sframe-gen's own. Without -v, --explain or --report it says nothing but errors and warnings.
include_guard(GLOBAL)

function(_sframe_gen_quiet variable)
  foreach(option ${ARGN})
    if(option MATCHES "^(-v|--verbose|--explain|-q|--quiet|--report.*)$")
      set(${variable} "" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${variable} --quiet PARENT_SCOPE)
endfunction()

# The type of a target whose build can be changed from here.
function(_sframe_gen_type_of target variable)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "sframe_gen_target: there is no target '${target}'")
  endif()
  get_target_property(aliased ${target} ALIASED_TARGET)
  if(aliased)
    message(FATAL_ERROR "sframe_gen_target: '${target}' is another name of '${aliased}': name that one")
  endif()
  get_target_property(imported ${target} IMPORTED)
  if(imported)
    message(FATAL_ERROR "sframe_gen_target: '${target}' is imported, not built here")
  endif()
  get_target_property(type ${target} TYPE)
  set(${variable} ${type} PARENT_SCOPE)
endfunction()

function(_sframe_gen_after_link target type)
  if(NOT type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$")
    message(FATAL_ERROR "sframe_gen_target: '${target}' is of type ${type}, but only executables, shared and module "
                        "libraries are linked (OBJECTS converts what any target compiles)")
  endif()
  get_target_property(folder ${target} SOURCE_DIR)
  if(NOT folder STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    message(FATAL_ERROR "sframe_gen_target: '${target}' belongs to ${folder}, and CMake lets only that directory add steps to it")
  endif()
  add_custom_command(TARGET ${target} POST_BUILD
                     COMMAND sframe_gen::sframe-gen ${ARGN} "$<TARGET_FILE:${target}>"
                     VERBATIM COMMAND_EXPAND_LISTS)
  # Another sframe-gen may make other rows of the same link.
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${SFRAME_GEN_EXECUTABLE}")
endfunction()

function(_sframe_gen_after_compilation target type)
  if(NOT type MATCHES "^(EXECUTABLE|(SHARED|MODULE|STATIC|OBJECT)_LIBRARY)$")
    message(FATAL_ERROR "sframe_gen_target: '${target}' is of type ${type}, which compiles nothing")
  endif()
  if(NOT CMAKE_GENERATOR MATCHES "Ninja|Makefiles")
    message(FATAL_ERROR "sframe_gen_target: OBJECTS requires a generator that supports compiler launchers, not ${CMAKE_GENERATOR}")
  endif()
  foreach(language C CXX)
    # In front of a launcher that is there: a compiler cache must keep what the compiler made.
    get_target_property(others ${target} ${language}_COMPILER_LAUNCHER)
    if(NOT others)
      set(others "")
    endif()
    set_property(TARGET ${target} PROPERTY ${language}_COMPILER_LAUNCHER
                 "${SFRAME_GEN_EXECUTABLE}" --launch ${ARGN} -- ${others})
  endforeach()
endfunction()

function(sframe_gen_target target)
  cmake_parse_arguments(PARSE_ARGV 1 arguments "OBJECTS" "" "OPTIONS")
  if(arguments_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "sframe_gen_target: '${arguments_UNPARSED_ARGUMENTS}' is neither OBJECTS nor an argument of OPTIONS")
  endif()
  if("OPTIONS" IN_LIST arguments_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "sframe_gen_target: no option follows OPTIONS")
  endif()
  _sframe_gen_type_of(${target} type)
  _sframe_gen_quiet(quiet ${arguments_OPTIONS})
  if(arguments_OBJECTS)
    _sframe_gen_after_compilation(${target} ${type} ${quiet} ${arguments_OPTIONS})
  else()
    _sframe_gen_after_link(${target} ${type} ${quiet} ${arguments_OPTIONS})
  endif()
endfunction()
