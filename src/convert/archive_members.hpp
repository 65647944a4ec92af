#pragma once

#include <functional>
#include <optional>
#include <span>

#include "archive/archive.hpp"
#include "elf/image.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::convert {

/// A member's bytes, wherever they are.
struct MemberBytes {
  std::optional<MappedFile> file;  ///< of a thin archive's member
  std::span<const std::byte> bytes;
};

/// Throws Refused for a member of an archive inside a thin archive. Where there is no such file, the Failure names
/// both.
MemberBytes open_member(const archive::Archive& archive, const archive::Member& member);

/// Calls `visit` for each member that is an ELF file with a stack trace section, and `failed` for one that `visit`
/// throws on, or that is damaged; both with its name, "libfoo.a(bar.o)". Throws Refused where there is none.
void for_each_converted(const std::filesystem::path& archive,
                        const std::function<void(const std::string&, const elf::Image&)>& visit,
                        const std::function<void(const std::string&, const Failure&)>& failed);

}  // namespace sframe_gen::convert
