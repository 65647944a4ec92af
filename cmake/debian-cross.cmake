# For toolchain-*.cmake: Debian's cross compiler, which brings its own C and C++ libraries, and the other libraries of
# that machine, which tools/fetching/host-packages unpacks. They come first, for the machine's own have the same names.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${debian_triplet}-gcc)
set(CMAKE_CXX_COMPILER ${debian_triplet}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${debian_triplet})
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH source_folder)
set(CMAKE_FIND_ROOT_PATH ${source_folder}/build/hosts/${debian_architecture}/bookworm/root)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# What those libraries need themselves: libdw's are not where the linker looks.
foreach(folder lib usr/lib)
  string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,-rpath-link,${CMAKE_FIND_ROOT_PATH}/${folder}/${debian_triplet}")
endforeach()
