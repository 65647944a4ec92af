# Finds libiberty, GNU's demanglers of C++ and Rust among others, which Debian ships as a static library. Provides
# Libiberty::Libiberty.
find_path(LIBIBERTY_INCLUDE_DIR NAMES libiberty/demangle.h)
find_library(LIBIBERTY_LIBRARY NAMES iberty)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libiberty REQUIRED_VARS LIBIBERTY_LIBRARY LIBIBERTY_INCLUDE_DIR)
if(Libiberty_FOUND AND NOT TARGET Libiberty::Libiberty)
  add_library(Libiberty::Libiberty UNKNOWN IMPORTED)
  set_target_properties(Libiberty::Libiberty PROPERTIES IMPORTED_LOCATION ${LIBIBERTY_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${LIBIBERTY_INCLUDE_DIR}
                        # Its header declares basename() otherwise, not as <string.h> does.
                        INTERFACE_COMPILE_DEFINITIONS HAVE_DECL_BASENAME=1)
endif()
mark_as_advanced(LIBIBERTY_INCLUDE_DIR LIBIBERTY_LIBRARY)
