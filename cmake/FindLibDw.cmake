# Finds elfutils' libdw, which has libdwfl in it: Debian ships only a pkg-config file for it. Provides LibDw::LibDw.
find_path(LIBDW_INCLUDE_DIR NAMES elfutils/libdwfl.h)
find_library(LIBDW_LIBRARY NAMES dw)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibDw REQUIRED_VARS LIBDW_LIBRARY LIBDW_INCLUDE_DIR)
if(LibDw_FOUND AND NOT TARGET LibDw::LibDw)
  add_library(LibDw::LibDw UNKNOWN IMPORTED)
  set_target_properties(LibDw::LibDw PROPERTIES IMPORTED_LOCATION ${LIBDW_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${LIBDW_INCLUDE_DIR})
endif()
mark_as_advanced(LIBDW_INCLUDE_DIR LIBDW_LIBRARY)
