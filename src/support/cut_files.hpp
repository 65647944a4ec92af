#pragma once

#include <cstddef>
#include <span>
#include <string>

/// Reading a mapped page that its file has no more, or that its disk cannot deliver, raises SIGBUS, which ends a
/// program. Who may write to a file can cut it short at any time.
namespace sframe_gen {

/// From now on, a mapped file is all zeros once such a page is read. Installs a handler of SIGBUS, which leaves all
/// other memory to the handler before it: for programs, not for libraries.
void read_cut_files_as_zeros();

/// Whether a mapped file, of which these are all bytes, became zeros.
bool was_cut(std::span<const std::byte> file);
/// Throws Refused if it did: what was read of it may be anything.
void check_is_whole(std::span<const std::byte> file, const std::string& name);

/// What is mapped, and what is about to be unmapped. For MappedFile.
void note_mapped(std::span<const std::byte> file);
void forget_mapped(std::span<const std::byte> file);

}  // namespace sframe_gen
