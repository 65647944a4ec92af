#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "elf/image.hpp"
#include "files/archive/archive.hpp"
#include "sframe_gen/convert_options.hpp"
#include "sframe_gen/outcomes.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::convert {

/// A member's bytes, wherever they are.
struct MemberBytes {
  std::optional<MappedFile> file;  ///< of a thin archive's member
  std::span<const std::byte> bytes;
};

/// Throws Refused for a member of an archive inside a thin archive. Where there is no such file, the Failure names
/// both.
MemberBytes open_member(const files::archive::Archive& archive, const files::archive::Member& member);

/// Nothing for text, bitcode, other machines.
std::optional<elf::Image> elf_image(std::span<const std::byte> bytes, const std::string& name);

/// Whether it has a section .sframe or .ctf_frame.
bool has_stack_trace_section(const elf::Image& image);

/// Calls `visit` for each member that is an ELF file with a stack trace section, and `failed` for one that `visit`
/// throws on, or that is damaged; both with its name, "libfoo.a(bar.o)". Throws Refused where there is none. `progress`
/// gets members done, and all of them.
void for_each_converted(const std::filesystem::path& archive,
                        const std::function<void(const std::string&, const elf::Image&)>& visit,
                        const std::function<void(const std::string&, const Failure&)>& failed,
                        const std::function<void(std::uint64_t, std::uint64_t)>& progress = {});

}  // namespace sframe_gen::convert

/// The files that a thin archive names: beside it, as their names are relative to its folder.
namespace sframe_gen::convert {

/// Throws Refused for a member of an archive inside the archive. Where there is no such file, the Failure names both.
MappedFile open_thin_member(const files::archive::Archive& archive, const files::archive::Member& member);

/// Replaces the member's file, which was read as `read_as`. Several members may be one file, for which there is nothing
/// to do from the second on. Throws Refused if another process changed it meanwhile.
void replace_thin_member(const files::archive::Archive& archive, const files::archive::Member& member,
                         const FileIdentity& read_as, std::span<const std::byte> bytes);

/// Converts those members of an archive that can be converted, and leaves the others alone: text, bitcode, objects
/// without call frame information. A regular archive is replaced atomically. For a thin archive, the files that it
/// names are replaced one after the other, and its own file last. Throws Failure: a damaged member, which it names,
/// fails the archive, and nothing is written.
///
/// A thin archive's member is left alone if `may_replace` is given and returns false for its file.
ArchiveOutcome convert_archive(const std::filesystem::path& input, const std::filesystem::path& output,
                               const ConvertOptions& options, const WorkObserver& observer,
                               const std::function<bool(const std::filesystem::path&)>& may_replace = nullptr);

}  // namespace sframe_gen::convert
