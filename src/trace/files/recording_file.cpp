#include "trace/files/recording_file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "sframe_gen/error.hpp"

namespace sframe_gen::trace {

namespace {

constexpr int most_attempts = 100;  // against a program that makes files under these names all the time

/// ".k3x9ab": others cannot know it before.
std::string random_suffix() {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  constexpr int length = 6;
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) throw SystemFailure("random numbers", "read", errno);
  std::string suffix = ".";
  for (int i = 0; i < length; ++i, number /= letters.size()) suffix += letters[number % letters.size()];
  return suffix;
}

/// False: there is none.
bool has_recording_or_link(const files::Place& place) {
  struct stat status {};
  if (::fstatat(place.folder(), place.name(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    throw SystemFailure(place.path().string(), "open", errno);
  }
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
    throw Refused(place.path().string(), "is not a regular file");
  return true;
}

}  // namespace

Descriptor open_unnamed_recording(const std::filesystem::path& folder) {
  constexpr mode_t private_file = 0600;
  const char* const named = ::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): no thread changes it
  const std::filesystem::path temporary = named != nullptr && *named != '\0' ? named : "/tmp";
  for (const std::filesystem::path& place : {folder, temporary}) {
    Descriptor file(::open(place.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, private_file));
    if (file.is_open()) return file;
  }
  // NFS has no such files.
  const std::string name = temporary / ("sframe-trace" + random_suffix());
  Descriptor file(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, private_file));
  if (!file.is_open()) throw SystemFailure(temporary.string(), "make a recording in", errno);
  ::unlink(name.c_str());
  return file;
}

void keep_old_recording(const files::Place& place) {
  if (!has_recording_or_link(place)) return;
  const std::string old = std::string(place.name()) + ".old";
  if (::renameat(place.folder(), place.name(), place.folder(), old.c_str()) != 0 && errno != ENOENT)
    throw SystemFailure(place.path().string(), "rename", errno);
}

RecordingFile::RecordingFile(std::filesystem::path path) : place_(std::move(path), "open") {
  has_recording_or_link(place_);
  // What is recorded tells of a user's programs, so that only that user can read it.
  constexpr mode_t private_file = 0600;
  for (int attempt = 0; attempt < most_attempts && !file_.is_open(); ++attempt) {
    name_ = place_.name() + random_suffix();
    file_ = Descriptor(
        ::openat(place_.folder(), name_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, private_file));
    if (!file_.is_open() && errno != EEXIST) break;
  }
  if (!file_.is_open()) throw SystemFailure(place_.path().string(), "open", errno);
}

RecordingFile::~RecordingFile() {
  if (!is_kept_ && file_.is_open()) ::unlinkat(place_.folder(), name_.c_str(), 0);
}

void RecordingFile::take_name() {
  if (std::exchange(is_kept_, true)) return;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    keep_old_recording(place_);
    if (take_free_name()) {
      name_.clear();
      return;
    }
    if (errno != EEXIST) break;
  }
  throw SystemFailure(place_.path().string(), "rename", errno);
}

std::filesystem::path RecordingFile::current_path() const {
  return name_.empty() ? path() : path().parent_path() / name_;
}

/// False: errno says why.
bool RecordingFile::take_free_name() {
  if (::renameat2(place_.folder(), name_.c_str(), place_.folder(), place_.name(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // File systems that cannot do it (NFS) do not replace a file by a link either.
  if (::linkat(place_.folder(), name_.c_str(), place_.folder(), place_.name(), 0) != 0) return false;
  ::unlinkat(place_.folder(), name_.c_str(), 0);
  return true;
}

}  // namespace sframe_gen::trace
