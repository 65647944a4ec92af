# Sets libdwarf_for_shared_library: what a shared library links to that uses libdwarf.
#
# Debian compiles archives for programs, whose code may refer to stdout and stderr of the C library by their distance;
# that of a shared library may not. In a copy of the archive both have other names, of variables that
# cmake/standard_streams.c defines.
if(NOT LIBDWARF_LIBRARY MATCHES "\\.a$")
  set(libdwarf_for_shared_library LibDwarf::LibDwarf)
  return()
endif()
set(copy ${CMAKE_CURRENT_BINARY_DIR}/libdwarf-for-shared.a)
add_custom_command(OUTPUT ${copy} DEPENDS ${LIBDWARF_LIBRARY} VERBATIM
                   COMMAND ${CMAKE_OBJCOPY} --redefine-sym stdout=sframe_gen_stdout --redefine-sym stderr=sframe_gen_stderr
                           ${LIBDWARF_LIBRARY} ${copy})
add_custom_target(libdwarf_for_shared_archive DEPENDS ${copy})
add_library(sframe_gen_streams OBJECT ${PROJECT_SOURCE_DIR}/cmake/standard_streams.c)
set_target_properties(sframe_gen_streams PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
add_dependencies(sframe_gen_streams libdwarf_for_shared_archive)
set(libdwarf_for_shared_library sframe_gen_streams ${copy} ZLIB::ZLIB Zstd::Zstd)
