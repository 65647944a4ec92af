#include "trace/recorded/recorded_files.hpp"

#include <sys/stat.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "elf/kernel_files.hpp"
#include "elf/machine.hpp"
#include "elf/notes.hpp"
#include "sframe_gen/error.hpp"
#include "support/text.hpp"
#include "trace/files/rights.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::trace::recorded {

namespace {

elf::Image open_vdso() {
  const elf::OwnVdso vdso = elf::own_vdso();
  if (vdso.address == 0) throw Refused("[vdso]", "this process has none to compare with");
  return elf::Image::of_bytes(vdso.bytes, "[vdso]");
}

enum class FileChange : std::uint8_t { None, OfInode, OfContents, OtherFile };

/// By its inode number, and by when it was changed last: another's bytes may have been written into it (cp), or the
/// number be that of a file that is gone. A new link or owner changes the inode only; the file's own time (mtime)
/// stays.
FileChange change_of(const FileIdentity& file, std::uint64_t inode, const FileIdentity& recording) {
  if (file.inode != inode) return FileChange::OtherFile;
  const std::pair recorded(recording.modified_s, recording.modified_ns);
  if (std::pair(file.changed_s, file.changed_ns) <= recorded) return FileChange::None;
  return std::pair(file.modified_s, file.modified_ns) <= recorded ? FileChange::OfInode : FileChange::OfContents;
}

}  // namespace

walk::OpenedFile RecordedFiles::open(const walk::Mapping& mapping) {
  if (mapping.is_of_no_file()) return {nullptr, walk::is_of_no_file, perf_maps_.of(mapping.process, root_)};
  if (kept_open_.code) return kept_open_.code(mapping);
  const std::string key = mapping.path + "\n" + mapping.build_id + "\n" + std::to_string(mapping.inode);
  return files_.get(key, [&] { return open_first(mapping); });
}

/// Its build-id tells that a server's file is the one that was recorded.
walk::OpenedFile RecordedFiles::open_first(const walk::Mapping& mapping) {
  walk::OpenedFile here;
  try {
    here = open_here(mapping);
  } catch (const Failure& failure) {
    here = {nullptr, failure.what()};
  }
  if (here.file || mapping.build_id.empty() || options_.debuginfod == nullptr) return here;
  walk::OpenedFile fetched = fetch(mapping);
  return fetched.file ? fetched : here;
}

/// What is wrong with a server's file is no reason: there is one already why there is none here.
walk::OpenedFile RecordedFiles::fetch(const walk::Mapping& mapping) const try {
  const std::string name = printable(mapping.path);
  const Descriptor file = options_.debuginfod->find(walk::Debuginfod::What::Executable, mapping.build_id, name);
  if (!file.is_open()) return {};
  elf::Image image = elf::Image::open(file.number(), name);
  const elf::Machine* const machine = elf::find_machine(image);
  const bool is_of_recording = machine != nullptr && (!abi_ || machine->abi == *abi_);
  if (!is_of_recording || elf::hex_digits(elf::build_id(image)) != mapping.build_id) return {};
  return {std::make_shared<walk::CodeFile>(std::move(image), std::vector<std::byte>(), options_, root_), {}};
} catch (const Failure&) {
  return {};
}

walk::OpenedFile RecordedFiles::open_here(const walk::Mapping& mapping) {
  const bool is_vdso = mapping.path == "[vdso]";
  if (!is_vdso && !mapping.path.starts_with('/')) return {nullptr, walk::is_of_no_file};
  const auto opened = is_vdso ? nullptr : root_.open_path(mapping.path);
  elf::Image image = is_vdso ? open_vdso() : elf::Image::open(opened->file.number(), root_.full_name(mapping.path));
  const elf::Machine* const machine = elf::find_machine(image);
  if (abi_ && (machine == nullptr || machine->abi != *abi_)) return {nullptr, "for another architecture"};
  const std::string id = elf::hex_digits(elf::build_id(image));
  if (mapping.build_id.empty() && !is_vdso) {
    const FileChange change = change_of(FileIdentity(opened->status), mapping.inode, recording_);
    if (change == FileChange::OtherFile) return {nullptr, "not the file that was recorded"};
    if (change == FileChange::OfContents)
      return {nullptr,
              "was changed since the recording, which has no build-id of it (use `perf record --buildid-mmap`)"};
    if (change == FileChange::OfInode) relabeled_.push_back(printable(mapping.path));
  } else if (id.empty() || !mapping.build_id.starts_with(id)) {  // perf may have padded a short one with zeros
    return {nullptr, "not the file that was recorded"};
  }
  return {std::make_shared<walk::CodeFile>(std::move(image), std::vector<std::byte>(), options_, root_), {}};
}

/// perf looks for the same name. The kernel, which recorded the mapping, says that it is the process's.
std::shared_ptr<walk::JitCode> RecordedFiles::jit_code(const walk::Mapping& mapping) {
  const std::string_view name = std::string_view(mapping.path).substr(mapping.path.rfind('/') + 1);
  if (!mapping.path.starts_with('/') || !name.starts_with("jit-") || !name.ends_with(".dump")) return nullptr;
  return jit_codes_.emplace_back(
      std::make_shared<walk::JitCode>([this, mapping] { return open_jitdump(mapping); }, options_, root_));
}

walk::JitDump RecordedFiles::open_jitdump(const walk::Mapping& mapping) {
  const std::string name = printable(mapping.path);
  if (!has_monotonic_times_)
    throw Refused(name,
                  "the recording's times are of another clock (use `sframe-trace record` or `perf record -k mono`)");
  const auto opened = kept_open_.jitdump ? kept_open_.jitdump(mapping) : root_.open_text(mapping.path);
  if (opened->error != 0) throw_why(name, *opened);
  MappedFile mapped(opened->file.number(), name);
  if (opened->status.st_ino != mapping.inode) throw Refused(name, "not the file that was recorded");
  // Of a number that was free, another user may have made a new file.
  if (!may_name_code(opened->status.st_uid, mapping.process)) throw Refused(name, not_trusted);
  // A recording may name one file for any number of processes, and each reads it.
  constexpr std::uint64_t most_bytes = std::uint64_t{4} << 30U;
  jitdump_bytes_ += mapped.bytes().size();
  if (jitdump_bytes_ > most_bytes) throw Refused(name, "all jitdumps of the recording have more than 4 GiB");
  return {std::move(mapped), abi_.value_or(walk::host_abi())};
}

std::vector<std::string> RecordedFiles::refused_jitdumps() const {
  std::vector<std::string> refused;
  for (const auto& code : jit_codes_)
    if (!code->why_not().empty()) refused.push_back(code->why_not());
  return refused;
}

}  // namespace sframe_gen::trace::recorded
