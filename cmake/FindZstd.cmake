# Finds libzstd: Debian 12 ships only a pkg-config file for it. Provides Zstd::Zstd.
# Zstd_USE_STATIC_LIBS asks for the static library.
find_path(ZSTD_INCLUDE_DIR NAMES zstd.h)
include(${CMAKE_CURRENT_LIST_DIR}/FindOneLibrary.cmake)
find_one_library(ZSTD_LIBRARY zstd "${Zstd_USE_STATIC_LIBS}")
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Zstd REQUIRED_VARS ZSTD_LIBRARY ZSTD_INCLUDE_DIR)
if(Zstd_FOUND AND NOT TARGET Zstd::Zstd)
  add_library(Zstd::Zstd UNKNOWN IMPORTED)
  set_target_properties(Zstd::Zstd PROPERTIES IMPORTED_LOCATION ${ZSTD_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${ZSTD_INCLUDE_DIR})
endif()
mark_as_advanced(ZSTD_INCLUDE_DIR ZSTD_LIBRARY)
