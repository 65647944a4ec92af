# What `cmake --install` puts where: the program with its manual and completions, the library, and the CMake package
# by which others find both.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(SFRAME_GEN_ZSH_COMPLETIONS share/zsh/site-functions CACHE STRING "Directory for zsh's completions under the prefix")
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/sframe_gen)
set(package_work ${CMAKE_CURRENT_BINARY_DIR}/package)

install(TARGETS sframe-gen EXPORT sframe_gen_program RUNTIME COMPONENT program)
install(EXPORT sframe_gen_program NAMESPACE sframe_gen:: FILE sframe_genProgram.cmake DESTINATION ${package_folder}
        COMPONENT program)
install(TARGETS sframe-trace RUNTIME COMPONENT program)
install(FILES docs/sframe-gen.1 docs/sframe-trace.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES completions/sframe-gen.bash DESTINATION share/bash-completion/completions RENAME sframe-gen
        COMPONENT program)
install(FILES completions/sframe-trace.bash DESTINATION share/bash-completion/completions RENAME sframe-trace
        COMPONENT program)
install(FILES completions/_sframe-gen completions/_sframe-trace DESTINATION ${SFRAME_GEN_ZSH_COMPLETIONS} COMPONENT program)
install(FILES completions/sframe-gen.fish completions/sframe-trace.fish DESTINATION share/fish/vendor_completions.d COMPONENT program)
if(TARGET sframe-backtrace)
  # No program links to the library, so its name without a version would be of no use.
  install(TARGETS sframe_backtrace LIBRARY COMPONENT program NAMELINK_SKIP)
  install(TARGETS sframe-backtrace RUNTIME COMPONENT program)
  install(FILES docs/sframe-backtrace.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
  install(FILES completions/sframe-backtrace.bash DESTINATION share/bash-completion/completions RENAME sframe-backtrace COMPONENT program)
  install(FILES completions/_sframe-backtrace DESTINATION ${SFRAME_GEN_ZSH_COMPLETIONS} COMPONENT program)
  install(FILES completions/sframe-backtrace.fish DESTINATION share/fish/vendor_completions.d COMPONENT program)
endif()
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  # Debian wants the license under this name.
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT program)
endif()
# README.md and the manual lead to docs/ and examples/.
install(FILES README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program
        PATTERN "*.[13]" EXCLUDE)

configure_package_config_file(cmake/package/sframe_genConfig.cmake.in ${package_work}/sframe_genConfig.cmake
                              INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_BINDIR)
# The program's machine need not be that of the files it converts: a build for another one may use it.
write_basic_package_version_file(${package_work}/sframe_genConfigVersion.cmake COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
install(FILES ${package_work}/sframe_genConfig.cmake ${package_work}/sframe_genConfigVersion.cmake
              cmake/package/sframe_gen_target.cmake
        DESTINATION ${package_folder} COMPONENT program)

# For those who build packages of others' programs: with rpmbuild, and with debhelper.
install(PROGRAMS packaging/brp-sframe DESTINATION lib/rpm COMPONENT program)
install(FILES packaging/macros.sframe DESTINATION lib/rpm/macros.d COMPONENT program)
install(PROGRAMS packaging/dh_sframe DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
install(FILES packaging/sframe.pm DESTINATION share/perl5/Debian/Debhelper/Sequence COMPONENT program)
find_program(POD2MAN pod2man)
if(POD2MAN)
  # The date is a fixed one, or the page would have that of the checkout.
  add_custom_command(OUTPUT dh_sframe.1 DEPENDS packaging/dh_sframe VERBATIM
                     COMMAND ${POD2MAN} --section=1 --center=Debhelper "--release=sframe-gen ${PROJECT_VERSION}"
                             "--date=November 2026" ${CMAKE_CURRENT_SOURCE_DIR}/packaging/dh_sframe dh_sframe.1)
  add_custom_target(dh_sframe_manual ALL DEPENDS dh_sframe.1)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/dh_sframe.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
endif()

if(NOT SFRAME_GEN_LIBRARY)
  return()
endif()
# An export set for each that a consumer may ask for without the others (sframe_genConfig.cmake.in).
install(TARGETS sframe_gen EXPORT sframe_gen_library ARCHIVE COMPONENT library INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS sframe_unwind sframe_unwind_exported EXPORT sframe_gen_unwind ARCHIVE COMPONENT library
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(exports "library LibraryTarget" "unwind Unwind")
if(SFRAME_GEN_SHARED)
  foreach(name gen unwind)
    install(TARGETS sframe_${name}_shared EXPORT sframe_gen_shared_${name}
            LIBRARY COMPONENT shared NAMELINK_COMPONENT library INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  endforeach()
  list(APPEND exports "shared_gen SharedLibrary" "shared_unwind SharedUnwind")
endif()
foreach(export ${exports})
  string(REPLACE " " ";" export ${export})
  list(GET export 0 set)
  list(GET export 1 file)
  install(EXPORT sframe_gen_${set} NAMESPACE sframe_gen:: FILE sframe_gen${file}.cmake DESTINATION ${package_folder}
          COMPONENT library)
endforeach()
# CMake strips programs, but no archives; this runs after both are installed.
install(CODE "if(CMAKE_INSTALL_DO_STRIP)
  foreach(name gen unwind unwind-exported)
    execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libsframe-\${name}.a\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endif()" COMPONENT library)
install(FILES docs/sframe_unwind_backtrace.3 docs/sframe_gen.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT library)
install(DIRECTORY include/sframe_gen DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)

# libdwarf has two interfaces under one name, and no Debian has both. A library that must link on any takes the static
# one that it was made for along.
if(SFRAME_GEN_STATIC_DEPENDENCIES)
  set(private_folder ${CMAKE_INSTALL_LIBDIR}/sframe-gen)
  install(FILES ${LIBDWARF_LIBRARY} DESTINATION ${private_folder} COMPONENT library)
  cmake_path(GET LIBDWARF_LIBRARY FILENAME libdwarf_name)
  set(SFRAME_GEN_LIBDWARF_FLAGS "\${libdir}/sframe-gen/${libdwarf_name}")
else()
  set(private_folder "")
  set(SFRAME_GEN_LIBDWARF_FLAGS -ldwarf)
endif()
configure_package_config_file(cmake/package/sframe_genLibrary.cmake.in ${package_work}/sframe_genLibrary.cmake
                              INSTALL_DESTINATION ${package_folder} PATH_VARS private_folder
                              NO_CHECK_REQUIRED_COMPONENTS_MACRO)
install(FILES ${package_work}/sframe_genLibrary.cmake cmake/FindLibDwarf.cmake cmake/FindOneLibrary.cmake
              cmake/FindZstd.cmake
        DESTINATION ${package_folder} COMPONENT library)

set(pkgconfig_folder ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH SFRAME_GEN_PREFIX_FROM_PC ${pkgconfig_folder} ${CMAKE_INSTALL_PREFIX})
get_target_property(SFRAME_GEN_UNWIND_WANTED sframe_unwind_exported INTERFACE_LINK_OPTIONS)
# Those of the archives alone, and those that a linker takes the shared library by, if there is one.
set(pkgconfig_files sframe-gen sframe-gen-static sframe-unwind sframe-unwind-static sframe-unwind-exported)
# Relative to the file, they may be moved. In /usr, pkg-config leaves out the system's own folders if it is told so.
foreach(kind relocatable system)
  set(SFRAME_GEN_PC_PREFIX "\${pcfiledir}/${SFRAME_GEN_PREFIX_FROM_PC}")
  if(kind STREQUAL system)
    set(SFRAME_GEN_PC_PREFIX /usr)
  endif()
  foreach(name ${pkgconfig_files})
    configure_file(cmake/package/${name}.pc.in ${package_work}/pkgconfig/${kind}/${name}.pc @ONLY)
  endforeach()
endforeach()
list(TRANSFORM pkgconfig_files APPEND .pc)
install(CODE "
  set(kind relocatable)
  if(CMAKE_INSTALL_PREFIX STREQUAL /usr)
    set(kind system)
  endif()
  foreach(name ${pkgconfig_files})
    file(INSTALL \"${package_work}/pkgconfig/\${kind}/\${name}\"
         DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig\" TYPE FILE)
  endforeach()" COMPONENT library)
