#include "trace/files/output_file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <streambuf>
#include <string_view>
#include <utility>
#include <vector>

#include "sframe_gen/error.hpp"

namespace sframe_gen::trace {

namespace {

/// Writes to an open file. After a failure, the stream is bad and error() says why.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int file) : file_(file), room_(std::size_t{1} << 16U) { begin(); }

  int error() const { return error_; }

 protected:
  int_type overflow(int_type letter) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(letter, traits_type::eof())) sputc(traits_type::to_char_type(letter));
    return traits_type::not_eof(letter);
  }
  int sync() override {
    for (const char* at = pbase(); at != pptr() && error_ == 0;) {
      const ssize_t count = ::write(file_, at, static_cast<std::size_t>(pptr() - at));
      if (count > 0) at += count;
      if (count < 0 && errno != EINTR) error_ = errno;
    }
    begin();
    return error_ == 0 ? 0 : -1;
  }

 private:
  void begin() { setp(room_.data(), room_.data() + room_.size()); }

  int file_, error_ = 0;
  std::vector<char> room_;
};

bool is_of_user_or_root(const struct stat& status) {
  return status.st_uid == ::geteuid() || status.st_uid == 0;
}

/// Where a link leads. A user who may write to its directory could have put it there, and chosen which file is
/// replaced.
std::filesystem::path followed(const files::Place& link, const struct stat& status) {
  struct stat folder {};
  if (::fstat(link.folder(), &folder) != 0) throw SystemFailure(link.path().string(), "open", errno);
  const bool others_may_write = (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (!is_of_user_or_root(status) || !is_of_user_or_root(folder) || others_may_write)
    throw Refused(link.path().string(), "a link that another user may have made (name the file that it leads to)");
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(link.folder(), link.name(), target.data(), target.size());
  if (size < 0) throw SystemFailure(link.path().string(), "open", errno);
  return link.path().parent_path() / std::string_view(target.data(), static_cast<std::size_t>(size));
}

/// The new file is the owner's of the one that it replaces, and has its mode.
void take_owner_and_mode(int file, const struct stat& old, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(file, &status) != 0) throw SystemFailure(path.string(), "write", errno);
  const bool is_same_owner = status.st_uid == old.st_uid && status.st_gid == old.st_gid;
  // Only root may give a file away. Another user's new file stays that user's.
  if (!is_same_owner && ::fchown(file, old.st_uid, old.st_gid) != 0) return;
  constexpr mode_t rights = 0777;
  if (::fchmod(file, old.st_mode & rights) != 0) throw SystemFailure(path.string(), "write", errno);
}

/// A pipe or a device, which `place` is known to lead to.
Descriptor open_special(const files::Place& place) {
  Descriptor file(::openat(place.folder(), place.name(), O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0)
    throw SystemFailure(place.path().string(), "write", errno);
  if (S_ISREG(status.st_mode)) throw Refused(place.path().string(), "changed by another process meanwhile");
  return file;
}

void write_to(int file, const std::function<void(std::ostream&)>& content, const std::filesystem::path& path) {
  DescriptorBuffer buffer(file);
  std::ostream out(&buffer);
  content(out);
  out.flush();
  if (buffer.error() != 0) throw SystemFailure(path.string(), "write", buffer.error());
}

/// A forgotten FILE must not cost a program or a recording: `--flamegraph ./program`.
void refuse_other_files(const files::Place& place) {
  const Descriptor old(::openat(place.folder(), place.name(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::array<char, 8> head{};
  if (!old.is_open() || ::pread(old.number(), head.data(), head.size(), 0) != std::ssize(head)) return;
  const std::string_view begin(head.data(), head.size());
  const bool is_program = begin.starts_with("\177ELF"), is_recording = begin == "PERFILE2" || begin == "2ELIFREP";
  if (is_program || is_recording)
    throw Refused(place.path().string(), std::string("is ") + (is_program ? "an ELF file" : "a recording") +
                                             ", which it would replace (name another file)");
}

}  // namespace

std::optional<int> stream_named(const std::filesystem::path& path) {
  const std::string& name = path.native();
  if (name == "-" || name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string& folder :
       {std::string("/dev/fd/"), std::string("/proc/self/fd/"), "/proc/" + std::to_string(::getpid()) + "/fd/"}) {
    if (!name.starts_with(folder)) continue;
    int number = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + folder.size(), end, number);
    if (error == std::errc() && stop == end && number >= 0) return number;
  }
  return std::nullopt;
}

void require_writable(int stream, const std::filesystem::path& path) {
  const int mode = ::fcntl(stream, F_GETFL);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  if (mode < 0 || (mode & O_ACCMODE) == O_RDONLY) throw SystemFailure(path.string(), "write", EBADF);
}

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) {
  constexpr int most_links = 40;  // as the kernel follows
  std::filesystem::path next = path_;
  struct stat status {};
  for (int links = 0;; ++links) {
    stream_ = stream_named(next);
    if (stream_) require_writable(*stream_, path_);
    if (stream_) return;
    place_.emplace(next, "write");
    const bool is_there = ::fstatat(place_->folder(), place_->name(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!is_there && errno != ENOENT) throw SystemFailure(path_.string(), "write", errno);
    if (!is_there) status = {};
    if (!S_ISLNK(status.st_mode)) break;
    if (links == most_links) throw SystemFailure(path_.string(), "open", ELOOP);
    next = followed(*place_, status);
  }
  if (S_ISDIR(status.st_mode)) throw SystemFailure(path_.string(), "write", EISDIR);
  constexpr mode_t usual = 0666, until_it_is_complete = 0600;
  const bool replaces = S_ISREG(status.st_mode);
  if (!replaces && status.st_mode != 0) {
    if (::faccessat(place_->folder(), place_->name(), W_OK, AT_EACCESS) != 0)
      throw SystemFailure(path_.string(), "write", errno);
    return;
  }
  if (replaces) refuse_other_files(*place_);
  file_.emplace(*place_, replaces ? until_it_is_complete : usual);
  if (replaces) take_owner_and_mode(file_->descriptor(), status, path_);
}

std::filesystem::path OutputFile::folder() const {
  if (!place_ || stream_) return {};
  std::error_code ignored;
  const std::filesystem::path written = std::filesystem::absolute(place_->path(), ignored);
  return std::filesystem::weakly_canonical(written.parent_path(), ignored);
}

void OutputFile::write(const std::function<void(std::ostream&)>& content) {
  if (stream_) return write_to(*stream_, content, path_);
  if (!file_) return write_to(open_special(*place_).number(), content, path_);
  write_to(file_->descriptor(), content, path_);
  file_->sync();
  file_->replace_target();
}

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
