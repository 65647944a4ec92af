#pragma once

#include <link.h>

#include <cstdint>
#include <span>

/// A loaded file as its own headers describe it: the dynamic loader's lists have a lock, which a signal handler
/// cannot take.
namespace sframe_gen::unwind {

/// What tells a file from another one that is loaded to the same place later: what the C library says of it, where that
/// can tell without a lock (glibc 2.35 and later), and its build-id.
struct LoadedFileIdentity {
  const void* link_map = nullptr;
  const void* eh_frame = nullptr;
  std::uint64_t map_begin = 0, map_end = 0;  ///< 0: the C library does not know the file yet, or cannot tell
  std::uint64_t header = 0;                  ///< address of the ELF header; 0: it is not in memory
  std::uint32_t headers_size = 0;            ///< bytes of it and the program headers, which say where the build-id is
  std::uint32_t build_id_size = 0;           ///< bytes; 0: it has none, so that its like cannot be told from it
  std::uint64_t build_id = 0;                ///< address
  std::uint64_t digest_of_headers = 0, digest_of_build_id = 0;
};

struct FileInMemory {
  std::uint64_t begin = 0, end = 0;     ///< addresses, from the first segment to the last
  const ElfW(Phdr) * sframe = nullptr;  ///< its segment; null: it has none in readable memory
  LoadedFileIdentity identity;
};

/// `bias`: its addresses minus those of its headers.
FileInMemory describe(std::span<const ElfW(Phdr)> segments, std::uint64_t bias);

/// Whether a dlopen() was still loading the file when it was described: the C library can tell files, and did not know
/// it. Walks do not trust it.
bool was_being_loaded(const LoadedFileIdentity& identity);

/// Whether the file that was described so is for sure what holds `pc` now. Nothing is read that is not there. False for
/// a file that a dlopen() is still loading, where the C library can tell.
bool is_same_file(const LoadedFileIdentity& identity, std::uint64_t pc);

/// The program headers of the loaded file that holds `pc`, if the C library can tell.
struct ProgramHeaders {
  std::span<const ElfW(Phdr)> segments;  ///< none: it cannot, or they are not in the first page
  std::uint64_t bias = 0;
};
ProgramHeaders program_headers_at(std::uint64_t pc);

}  // namespace sframe_gen::unwind
