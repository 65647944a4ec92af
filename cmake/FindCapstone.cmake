# Finds Capstone, which a test asks about instructions: Debian ships only a pkg-config file for it. Provides
# Capstone::Capstone.
find_path(CAPSTONE_INCLUDE_DIR NAMES capstone/capstone.h)
find_library(CAPSTONE_LIBRARY NAMES capstone)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Capstone REQUIRED_VARS CAPSTONE_LIBRARY CAPSTONE_INCLUDE_DIR)
if(Capstone_FOUND AND NOT TARGET Capstone::Capstone)
  add_library(Capstone::Capstone UNKNOWN IMPORTED)
  set_target_properties(Capstone::Capstone PROPERTIES IMPORTED_LOCATION ${CAPSTONE_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${CAPSTONE_INCLUDE_DIR})
endif()
mark_as_advanced(CAPSTONE_INCLUDE_DIR CAPSTONE_LIBRARY)
