#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "support/mapped_file.hpp"

namespace sframe_gen::files {

/// Refuses to replace a file that must not change: one that is immutable or can only be appended to (chattr), protected
/// by fs-verity, signed (security.ima), or open for writing in some process. `descriptor` is open for reading only.
/// Throws Refused.
void check_replaceable(int descriptor, const std::filesystem::path& file);

/// Writes `pieces` one after the other, made from `input`, to `output` as AtomicFile does: complete or not at all, with
/// the attributes of the file it replaces, which may be the input. Throws Refused or SystemFailure.
void replace_file(const std::filesystem::path& output, std::span<const std::span<const std::byte>> pieces,
                  const MappedFile& input);

/// The same for contents in one piece.
inline void replace_file(const std::filesystem::path& output, std::span<const std::byte> bytes,
                         const MappedFile& input) {
  replace_file(output, {&bytes, 1}, input);
}

/// The same for contents that are not a new form of `input`, from which nothing is taken over.
void write_new_file(const std::filesystem::path& output, std::span<const std::byte> bytes, const MappedFile& input);

/// Makes `name` another name of `file`, in place of what has that name now. Throws SystemFailure.
void replace_by_link(const std::filesystem::path& name, const std::filesystem::path& file);

}  // namespace sframe_gen::files
