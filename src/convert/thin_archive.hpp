#pragma once

#include <cstddef>
#include <span>

#include "archive/archive.hpp"
#include "support/file_identity.hpp"
#include "support/mapped_file.hpp"

/// The files that a thin archive names: beside it, as their names are relative to its folder.
namespace sframe_gen::convert {

/// Throws Refused for a member of an archive inside the archive. Where there is no such file, the Failure names both.
MappedFile open_thin_member(const archive::Archive& archive, const archive::Member& member);

/// Replaces the member's file, which was read as `read_as`. Several members may be one file, for which there is nothing
/// to do from the second on. Throws Refused when somebody changed it meanwhile.
void replace_thin_member(const archive::Archive& archive, const archive::Member& member, const FileIdentity& read_as,
                         std::span<const std::byte> bytes);

}  // namespace sframe_gen::convert
