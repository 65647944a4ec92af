# Finds libzstd: Debian 12 ships only a pkg-config file for it. Provides Zstd::Zstd.
# Zstd_USE_STATIC_LIBS asks for the static library.
find_path(ZSTD_INCLUDE_DIR NAMES zstd.h)
if(Zstd_USE_STATIC_LIBS)
  if(ZSTD_LIBRARY AND NOT ZSTD_LIBRARY MATCHES "\\.a$")  # found before it was asked for
    unset(ZSTD_LIBRARY CACHE)
  endif()
  find_library(ZSTD_LIBRARY NAMES libzstd.a)
else()
  find_library(ZSTD_LIBRARY NAMES zstd)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Zstd REQUIRED_VARS ZSTD_LIBRARY ZSTD_INCLUDE_DIR)
if(Zstd_FOUND AND NOT TARGET Zstd::Zstd)
  add_library(Zstd::Zstd UNKNOWN IMPORTED)
  set_target_properties(Zstd::Zstd PROPERTIES IMPORTED_LOCATION ${ZSTD_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${ZSTD_INCLUDE_DIR})
endif()
mark_as_advanced(ZSTD_INCLUDE_DIR ZSTD_LIBRARY)
