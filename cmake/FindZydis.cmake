# Finds the header of Zydis 4 (Debian 12 has 4.0, Debian 13 has 4.1), and the file name of its library that sframe-gen loads
# when it is asked to follow instructions. It is not linked. Provides ZYDIS_INCLUDE_DIR and ZYDIS_SONAME.
# Zydis 3 has another interface: it counts as missing.
find_path(ZYDIS_INCLUDE_DIR NAMES Zydis/Zydis.h)
find_library(ZYDIS_LIBRARY NAMES Zydis)
set(ZYDIS_SONAME "")
if(ZYDIS_INCLUDE_DIR AND ZYDIS_LIBRARY)
  file(STRINGS ${ZYDIS_INCLUDE_DIR}/Zydis/Zydis.h version_line REGEX "#define ZYDIS_VERSION .*0x0004")
  get_filename_component(library ${ZYDIS_LIBRARY} REALPATH)
  get_filename_component(library ${library} NAME)
  # libZydis.so.4.0.0.0: its first two numbers are the interface.
  if(version_line AND library MATCHES "^libZydis\\.so\\.4\\.[0-9]+")
    set(ZYDIS_SONAME ${CMAKE_MATCH_0})
  endif()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Zydis REQUIRED_VARS ZYDIS_SONAME ZYDIS_INCLUDE_DIR)
mark_as_advanced(ZYDIS_INCLUDE_DIR ZYDIS_LIBRARY)
