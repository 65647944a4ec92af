#include "trace/record/program_files.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>
#include <vector>

#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/notes.hpp"
#include "elf/own_vdso.hpp"
#include "sframe_gen/error.hpp"
#include "support/text.hpp"
#include "trace/record/file_openings.hpp"
#include "trace/walk/registers.hpp"

namespace sframe_gen::trace {

namespace {

constexpr const char *vdso_name = "[vdso]", *is_gone = "cannot be opened any more",
                     *too_many = "cannot be opened: too many files are";

/// The device of some file systems (overlay, btrfs) is one for mappings and another one for stat(). Both have the major
/// number 0, or one of them.
bool is_file_of(const struct stat& file, const Mapping& mapping) {
  const bool same_device = file.st_dev == mapping.device || major(file.st_dev) == 0 || major(mapping.device) == 0;
  return S_ISREG(file.st_mode) && file.st_ino == mapping.inode && same_device;
}

/// A program's own file system (FUSE) may not answer when a page is read that was mapped. So the file is read first.
/// The copies of all files, which are in memory, are 1 GiB at most.
Descriptor copied(Descriptor file, const FileOpening& opening) {
  constexpr std::size_t most = std::size_t{1} << 30U;
  static std::atomic<std::size_t> all = 0;
  Descriptor copy(::memfd_create("copy", MFD_CLOEXEC));
  std::vector<std::byte> bytes(std::size_t{1} << 16U);
  std::size_t done = 0;
  while (!opening.is_over()) {
    const ssize_t count = ::read(file.number(), bytes.data(), bytes.size());
    if (count == 0) return copy;
    const auto size = static_cast<std::size_t>(count);
    if (count < 0) break;
    done += size;
    if (all.fetch_add(size) + size > most || ::write(copy.number(), bytes.data(), size) != count) break;
  }
  all -= done;
  return Descriptor();
}

Descriptor open_mapped(int process, const Mapping& mapping, const FileOpening& opening) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::string by_place = folder + "/map_files/", by_name = folder + "/root";
  by_place.append(hex(mapping.begin), 2).append("-").append(hex(mapping.end), 2);
  by_name += mapping.path;
  // The kernel's own link leads to the file whatever its name leads to now. The last one is for a program that ended.
  for (const std::string& path : {by_place, by_name, mapping.path}) {
    // To open a device does something, and a program chooses what its names lead to: a path only, until it is known.
    // NOLINTBEGIN(cppcoreguidelines-pro-type-vararg)
    const Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status {};
    if (!place.is_open() || ::fstat(place.number(), &status) != 0 || !is_file_of(status, mapping)) continue;
    const std::string known = "/proc/self/fd/" + std::to_string(place.number());
    Descriptor file(::open(known.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    // NOLINTEND(cppcoreguidelines-pro-type-vararg)
    if (!file.is_open()) continue;
    struct statfs system {};
    const bool may_hang = ::fstatfs(file.number(), &system) != 0 || system.f_type == FUSE_SUPER_MAGIC;
    return may_hang ? copied(std::move(file), opening) : std::move(file);
  }
  return Descriptor();
}

}  // namespace

ProgramFiles::Key ProgramFiles::key_of(const Mapping& mapping) {
  return {mapping.device, mapping.inode, mapping.generation, mapping.path};
}

void ProgramFiles::note(const MappingWords& words) {
  const Mapping& mapping = words.mapping;
  if (!words.is_code || mapping.inode == 0 || !mapping.path.starts_with('/')) return;
  const Key key = key_of(mapping);
  {
    const std::lock_guard guard(lock_);
    const auto known = noted_.find(key);
    // The next program that maps it may still have it.
    if (known != noted_.end() && (known->second == nullptr || !known->second->has_failed())) return;
    if (known == noted_.end() && noted_.size() == most_files) return;
  }
  auto opening = openings_.begin(mapping.device, [process = words.process, mapping](const FileOpening& under_way) {
    return open_mapped(process, mapping, under_way);
  });
  const std::lock_guard guard(lock_);
  noted_.insert_or_assign(key, std::move(opening));
}

OpenedFile ProgramFiles::open(const Mapping& mapping) {
  if (mapping.path == vdso_name) return vdso_of_this_kernel();
  if (mapping.inode == 0 || !mapping.path.starts_with('/')) return {nullptr, is_of_no_file};
  const Key key = key_of(mapping);
  const auto known = opened_.find(key);
  if (known != opened_.end()) return known->second;
  std::shared_ptr<FileOpening> opening;
  {
    const std::lock_guard guard(lock_);
    const auto noted = noted_.find(key);
    if (noted == noted_.end()) return {nullptr, noted_.size() == most_files ? too_many : is_gone};
    opening = noted->second;
  }
  const auto file = opening == nullptr ? nullptr : opening->wait();
  // The next program that maps it may still have it.
  if (file != nullptr && !file->is_open()) return {nullptr, is_gone};
  {
    const std::lock_guard guard(lock_);
    noted_[key] = nullptr;
  }
  OpenedFile& opened = opened_[key];
  try {
    if (file == nullptr) throw Refused(printable(mapping.path), "its file system does not answer");
    opened = open_first(*file, printable(mapping.path));
  } catch (const Failure& failure) {
    opened = {nullptr, failure.what()};
  }
  return opened;
}

OpenedFile ProgramFiles::vdso_of_this_kernel() {
  if (!vdso_.file) {
    const elf::OwnVdso own = elf::own_vdso();
    if (own.address == 0) return {nullptr, is_gone};
    vdso_ = made_of(elf::Image::of_bytes(own.bytes, vdso_name));
  }
  return vdso_;
}

OpenedFile ProgramFiles::open_first(const Descriptor& descriptor, const std::string& name) {
  struct stat status {};
  if (::fstat(descriptor.number(), &status) != 0) throw SystemFailure(name, "read", errno);
  // The kernel gives no generation of what was mapped before the recording, and a file may have several names.
  const FileIdentity identity(status);
  auto& [known_identity, known] = by_number_[{identity.device, identity.inode}];
  if (known.file && known_identity == identity) return known;
  known_identity = identity;
  known = made_of(elf::Image::open(descriptor.number(), name));
  return known;
}

OpenedFile ProgramFiles::made_of(elf::Image image) const {
  const elf::Machine* const machine = elf::find_machine(image);
  if (machine == nullptr || machine->abi != host_abi()) return {nullptr, "for another architecture"};
  return {std::make_shared<CodeFile>(std::move(image), std::vector<std::byte>(), options_, system_), {}};
}

std::span<const std::byte> ProgramFiles::build_id(const Mapping& mapping) try {
  const OpenedFile opened = open(mapping);
  return opened.file ? elf::build_id(opened.file->image()) : std::span<const std::byte>();
} catch (const Failure&) {
  return {};
}

}  // namespace sframe_gen::trace
