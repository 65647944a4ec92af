#include "trace/recorded/recorded_files.hpp"

#include <sys/auxv.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "elf/machine.hpp"
#include "elf/notes.hpp"
#include "sframe_gen/error.hpp"
#include "support/text.hpp"

namespace sframe_gen::trace {

namespace {

/// This process's: the same one as long as the same kernel runs, which the build-id tells.
elf::Image own_vdso() {
  const std::uint64_t address = ::getauxval(AT_SYSINFO_EHDR);
  if (address == 0) throw Refused("[vdso]", "this process has none to compare with");
  const auto* const begin =
      reinterpret_cast<const std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): the kernel's
  Elf64_Ehdr header;
  std::memcpy(&header, begin, sizeof header);
  return elf::Image::of_bytes({begin, header.e_shoff + std::uint64_t{header.e_shentsize} * header.e_shnum}, "[vdso]");
}

/// By its inode number, and by when it was changed last: another's bytes may have been written into it (cp), or the
/// number be that of a file that is gone. Empty: it is the one.
std::string why_other(const elf::Image& image, std::uint64_t inode, const FileIdentity& recording) {
  struct stat status {};
  if (::fstat(image.descriptor(), &status) != 0) throw SystemFailure(image.name(), "look", errno);
  const FileIdentity file(status);
  if (file.inode != inode) return "is not the file that was recorded";
  if (std::pair(file.changed_s, file.changed_ns) <= std::pair(recording.modified_s, recording.modified_ns)) return {};
  return "was changed since the recording, which has no build-id of it";
}

}  // namespace

OpenedFile RecordedFiles::open(const Mapping& mapping) {
  const std::string key = mapping.path + "\n" + mapping.build_id + "\n" + std::to_string(mapping.inode);
  const auto [found, is_new] = files_.try_emplace(key);
  if (is_new) found->second = open_anew(mapping);
  return found->second;
}

OpenedFile RecordedFiles::open_anew(const Mapping& mapping) const {
  const bool is_vdso = mapping.path == "[vdso]";
  if (!is_vdso && (!mapping.path.starts_with('/') || mapping.path.starts_with("//"))) return {nullptr, "is no file"};
  try {
    elf::Image image =
        is_vdso ? own_vdso() : elf::Image::open(root_ / std::filesystem::path(mapping.path).relative_path());
    const elf::Machine* const machine = elf::find_machine(image);
    if (abi_ && (machine == nullptr || machine->abi != *abi_)) return {nullptr, "is for another machine"};
    const std::string id = elf::hex_digits(elf::build_id(image));
    if (mapping.build_id.empty() && !is_vdso) {
      if (std::string why = why_other(image, mapping.inode, recording_); !why.empty()) return {nullptr, std::move(why)};
    } else if (id.empty() || !mapping.build_id.starts_with(id)) {  // perf may have padded a short one with zeros
      return {nullptr, "is not the file that was recorded"};
    }
    return {std::make_shared<CodeFile>(std::move(image), std::vector<std::byte>(), options_), {}};
  } catch (const Failure& failure) {
    return {nullptr, failure.what()};
  }
}

}  // namespace sframe_gen::trace
