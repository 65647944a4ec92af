#pragma once

#include <functional>
#include <optional>
#include <span>

#include "archive/archive.hpp"
#include "elf/image.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::cli {

/// A member's bytes, wherever they are.
struct MemberBytes {
  std::optional<MappedFile> file;  ///< of a thin archive's member
  std::span<const std::byte> bytes;
};

/// Where a thin archive's member lies.
std::filesystem::path path_of(const archive::Archive& archive, const archive::Member& member);

/// Throws Refused for a member of an archive in a thin archive; and where there is no such file, a Failure that names
/// both.
MemberBytes open_member(const archive::Archive& archive, const archive::Member& member);

/// Calls `visit` for each member that is an ELF file with a stack trace section, and `failed` for one that `visit`
/// throws on, or that is damaged. Returns how many there are.
std::size_t for_each_converted(const archive::Archive& archive, const std::function<void(const elf::Image&)>& visit,
                               const std::function<void(const Failure&)>& failed);

}  // namespace sframe_gen::cli
