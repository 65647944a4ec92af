# Finds libdwarf, which ships no CMake package on Debian 12, and tells its two interface generations apart.
# LibDwarf_USE_STATIC_LIBS asks for the static library.
#
# LibDwarf::LibDwarf              the imported library
# LIBDWARF_OBJECT_INTERFACE_A     true when object access goes through Dwarf_Obj_Access_Interface_a (0.4 and later),
#                                 false for Dwarf_Obj_Access_Interface (20210528 and before)
find_path(LIBDWARF_INCLUDE_DIR NAMES libdwarf.h PATH_SUFFIXES libdwarf-2 libdwarf-0 libdwarf)
include(${CMAKE_CURRENT_LIST_DIR}/FindOneLibrary.cmake)
find_one_library(LIBDWARF_LIBRARY dwarf "${LibDwarf_USE_STATIC_LIBS}")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibDwarf REQUIRED_VARS LIBDWARF_LIBRARY LIBDWARF_INCLUDE_DIR)

if(LibDwarf_FOUND AND NOT TARGET LibDwarf::LibDwarf)
  file(STRINGS ${LIBDWARF_INCLUDE_DIR}/libdwarf.h libdwarf_has_a REGEX "Dwarf_Obj_Access_Interface_a_s")
  if(libdwarf_has_a)
    set(LIBDWARF_OBJECT_INTERFACE_A TRUE)
  else()
    set(LIBDWARF_OBJECT_INTERFACE_A FALSE)
  endif()
  add_library(LibDwarf::LibDwarf UNKNOWN IMPORTED)
  set_target_properties(LibDwarf::LibDwarf PROPERTIES
    IMPORTED_LOCATION ${LIBDWARF_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${LIBDWARF_INCLUDE_DIR}
    INTERFACE_COMPILE_DEFINITIONS SFRAME_GEN_LIBDWARF_INTERFACE_A=$<BOOL:${LIBDWARF_OBJECT_INTERFACE_A}>)
  if(LIBDWARF_LIBRARY MATCHES "\\.a$")
    find_package(ZLIB REQUIRED)
    find_package(Zstd REQUIRED)
    set_target_properties(LibDwarf::LibDwarf PROPERTIES INTERFACE_LINK_LIBRARIES "ZLIB::ZLIB;Zstd::Zstd")
  endif()
endif()
mark_as_advanced(LIBDWARF_INCLUDE_DIR LIBDWARF_LIBRARY)
