#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "elf/image.hpp"
#include "support/mapped_file.hpp"
#include "trace/files/file_opener.hpp"
#include "trace/files/file_root.hpp"
#include "trace/recorded/sample_words.hpp"
#include "trace/walk/address_space.hpp"

namespace sframe_gen::trace::record {

/// The files of programs that run. They are opened as they are mapped, since a program and its mount namespace may be
/// gone when its first sample is walked. Two threads may use this at the same time: one calls note(), one the others.
class ProgramFiles {
 public:
  explicit ProgramFiles(const walk::TranslationOptions& options) : options_(options) {
    system_.limit_waiting_for_others();
  }

  /// Starts what opens files, which must be before there are two threads.
  void start() { system_.opener(); }
  /// The recording ends: files that other users chose are waited for half a second more in all.
  void end_waiting() { system_.end_waiting_for_others(); }

  /// Begins to open the file of a mapping, unless it is open, or one of more than there may be. It does not wait. A
  /// file system that does not answer within a second has no file.
  void note(const recorded::MappingWords& words);

  /// Waits for the file, if it does not answer at once.
  walk::OpenedFile open(const walk::Mapping& mapping);
  /// The same of a file that is no program. Never null.
  std::shared_ptr<const OpenFile> open_text(const walk::Mapping& mapping);
  /// Returns the build-id of a mapping's file, as bytes; empty: it has none, or cannot be had.
  std::span<const std::byte> build_id(const walk::Mapping& mapping);

  /// Where debug files are.
  const FileRoot& root() const { return system_; }

  /// All stay open: who is recorded must not fill the memory with new ones (0.1 MB each, without what they contain).
  static constexpr std::size_t most_files = 16384, most_files_of_user = 4096, most_files_of_others = 12288;

 private:
  /// Device, inode number and its generation, and path: what the kernel says of a mapping's file.
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::string>;

  struct Noted {
    std::shared_ptr<FileOpening> opening;  ///< null: it has not begun, or was taken
    uid_t user = 0;                        ///< whose program mapped it
  };

  static Key key_of(const walk::Mapping& mapping);
  static bool has_failed(const std::shared_ptr<FileOpening>& opening);
  std::optional<Noted> noted(const walk::Mapping& mapping);
  bool has_room_for(uid_t user);
  std::shared_ptr<FileOpening> begin(const walk::Mapping& mapping, uid_t user);
  walk::OpenedFile vdso_of_this_kernel();
  walk::OpenedFile open_first(const OpenFile& file, const std::string& name, uid_t user);
  walk::OpenedFile made_of(elf::Image image, uid_t user) const;

  const walk::TranslationOptions& options_;
  FileRoot system_;
  std::mutex lock_;
  std::map<Key, Noted> noted_;
  std::map<uid_t, std::size_t> noted_of_;  ///< how many of another user's
  std::size_t noted_of_others_ = 0;        ///< of them all
  std::map<Key, walk::OpenedFile> opened_;
  std::map<std::pair<dev_t, ino_t>, std::pair<FileIdentity, walk::OpenedFile>> by_number_;
  walk::OpenedFile vdso_;
};

}  // namespace sframe_gen::trace::record
