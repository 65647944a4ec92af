# The Debian package: `cpack -G DEB`, or tools/package, which also takes care of the preset and of the time stamps.
#
# It must install on Debian 12 and 13, where libdwarf and Boost.ProgramOptions have other names and interfaces; those
# two are linked statically (SFRAME_GEN_STATIC_DEPENDENCIES). dpkg-shlibdeps finds the dependencies that are left.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sframe-gen)
set(CPACK_PACKAGE_CONTACT "The sframe-gen developers <sframe-gen@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "make SFrame sections from DWARF call frame information")
set(CPACK_PACKAGE_DESCRIPTION "sframe-gen gives linked ELF files a loaded .sframe section, made from the call frame information that
they carry already, so that profilers, tracers and kernels can walk their stacks fast. Nothing is recompiled.
.
The package has the program, its CMake package for use in a build, and the library that it is made of.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(CMAKE_CROSSCOMPILING)
  # dpkg-shlibdeps as cpack calls it knows the libraries that are installed here: tools/package asks it for the others.
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${debian_architecture})
endif()
set(CPACK_DEBIAN_PACKAGE_PROVIDES dh-sequence-sframe)
# What the library needs of others' headers is the business of those who link it.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake, pkg-config, libzstd-dev, zlib1g-dev")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
