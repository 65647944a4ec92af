#include "trace/record/program_files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "elf/image.hpp"
#include "elf/kernel_files.hpp"
#include "elf/machine.hpp"
#include "elf/notes.hpp"
#include "sframe_gen/error.hpp"
#include "support/text.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::trace::record {

namespace {

constexpr const char *vdso_name = "[vdso]", *is_gone = "cannot be opened any more",
                     *too_many = "cannot be opened: too many files are";

constexpr const char* no_answer = "its file system does not answer";

/// Who runs a process, and so chooses the names of its files. One that has ended counts as another user's.
uid_t user_of(int process) {
  struct stat status {};
  constexpr uid_t unknown = ~uid_t{0};
  return ::stat(("/proc/" + std::to_string(process)).c_str(), &status) == 0 ? status.st_uid : unknown;
}

}  // namespace

ProgramFiles::Key ProgramFiles::key_of(const walk::Mapping& mapping) {
  return {mapping.device, mapping.inode, mapping.generation, mapping.path};
}

/// Null: it cannot be waited for now.
std::shared_ptr<FileOpening> ProgramFiles::begin(const walk::Mapping& mapping, uid_t user) {
  const NamedFile file{.path = mapping.path,
                       .process = mapping.process,
                       .begin = mapping.begin,
                       .end = mapping.end,
                       .device = mapping.device,
                       .inode = mapping.inode};
  return system_.opener().begin(file, {user, "device " + std::to_string(mapping.device)});
}

void ProgramFiles::note(const recorded::MappingWords& words) {
  const walk::Mapping& mapping = words.mapping;
  if (!words.is_code || mapping.inode == 0 || !mapping.path.starts_with('/')) return;
  const Key key = key_of(mapping);
  const std::lock_guard guard(lock_);
  const auto known = noted_.find(key);
  // The next program that maps it may still have it.
  const bool is_new = known == noted_.end();
  if (!is_new && !has_failed(known->second.opening)) return;
  const uid_t user = user_of(mapping.process);
  if (is_new && !has_room_for(user)) return;
  noted_.insert_or_assign(key, Noted{begin(mapping, user), user});
}

/// Others may not use up what there is. One user may have many numbers (subuid(5)).
bool ProgramFiles::has_room_for(uid_t user) {
  if (noted_.size() == most_files) return false;
  if (user == 0 || user == ::geteuid()) return true;
  std::size_t& of_user = noted_of_[user];
  if (of_user == most_files_of_user || noted_of_others_ == most_files_of_others) return false;
  ++of_user;
  ++noted_of_others_;
  return true;
}

bool ProgramFiles::has_failed(const std::shared_ptr<FileOpening>& opening) {
  const OpenFile* const answer = opening ? opening->answer() : nullptr;
  return answer != nullptr && answer->error != 0;
}

/// None: too many files are open.
std::optional<ProgramFiles::Noted> ProgramFiles::noted(const walk::Mapping& mapping) {
  const std::lock_guard guard(lock_);
  const auto found = noted_.find(key_of(mapping));
  if (found == noted_.end()) return std::nullopt;
  // Too many files waited when it was mapped.
  if (!found->second.opening) found->second.opening = begin(mapping, found->second.user);
  return found->second;
}

std::shared_ptr<const OpenFile> ProgramFiles::open_text(const walk::Mapping& mapping) {
  const std::optional<Noted> noted = this->noted(mapping);
  if (!noted) return std::make_shared<OpenFile>(OpenFile{.error = EMFILE});
  return system_.wait_for(noted->opening, noted->user);
}

walk::OpenedFile ProgramFiles::open(const walk::Mapping& mapping) {
  if (mapping.path == vdso_name) return vdso_of_this_kernel();
  if (mapping.inode == 0 || !mapping.path.starts_with('/')) return {nullptr, walk::is_of_no_file};
  const Key key = key_of(mapping);
  const auto known = opened_.find(key);
  if (known != opened_.end()) return known->second;
  const std::optional<Noted> noted = this->noted(mapping);
  if (!noted) return {nullptr, too_many};
  const auto file = system_.wait_for(noted->opening, noted->user);
  // The next program that maps it may still have it, and a second need not be over.
  if (file->error == OpenFile::no_answer && !(noted->opening && noted->opening->is_over())) return {nullptr, no_answer};
  if (file->error != 0 && file->error != OpenFile::no_answer) return {nullptr, is_gone};
  {
    const std::lock_guard guard(lock_);
    noted_[key].opening = nullptr;
  }
  walk::OpenedFile& opened = opened_[key];
  try {
    if (file->error != 0) throw Refused(printable(mapping.path), no_answer);
    opened = open_first(*file, printable(mapping.path), noted->user);
  } catch (const Failure& failure) {
    opened = {nullptr, failure.what()};
  }
  return opened;
}

walk::OpenedFile ProgramFiles::vdso_of_this_kernel() {
  if (!vdso_.file) {
    const elf::OwnVdso own = elf::own_vdso();
    if (own.address == 0) return {nullptr, is_gone};
    vdso_ = made_of(elf::Image::of_bytes(own.bytes, vdso_name), 0);
  }
  return vdso_;
}

walk::OpenedFile ProgramFiles::open_first(const OpenFile& file, const std::string& name, uid_t user) {
  // The kernel gives no generation of what was mapped before the recording, and a file may have several names.
  const FileIdentity identity(file.status);
  auto& [known_identity, known] = by_number_[{identity.device, identity.inode}];
  if (known.file && known_identity == identity) return known;
  known_identity = identity;
  known = made_of(elf::Image::open(file.file.number(), name), user);
  return known;
}

walk::OpenedFile ProgramFiles::made_of(elf::Image image, uid_t user) const {
  const elf::Machine* const machine = elf::find_machine(image);
  if (machine == nullptr || machine->abi != walk::host_abi()) return {nullptr, "for another architecture"};
  return {std::make_shared<walk::CodeFile>(std::move(image), std::vector<std::byte>(), options_, system_, user), {}};
}

std::span<const std::byte> ProgramFiles::build_id(const walk::Mapping& mapping) try {
  const walk::OpenedFile opened = open(mapping);
  return opened.file ? elf::build_id(opened.file->image()) : std::span<const std::byte>();
} catch (const Failure&) {
  return {};
}

}  // namespace sframe_gen::trace::record
