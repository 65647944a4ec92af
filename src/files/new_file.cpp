#include "files/new_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string_view>
#include <utility>

#include "sframe_gen/error.hpp"

namespace sframe_gen::files {

namespace {

std::atomic<bool> writes_through{false};

void sync(int descriptor, const std::filesystem::path& target) {
  if (writes_through && ::fsync(descriptor) != 0) throw SystemFailure(target.string(), "write to the disk", errno);
}

void sync_name(const Place& target) {
  if (!writes_through) return;
  const Descriptor directory(::openat(target.folder(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open()) throw SystemFailure(target.path().string(), "write to the disk", errno);
  sync(directory.number(), target.path());
}

const char* name_or_here(const std::filesystem::path& path) {
  return path.empty() ? "." : path.c_str();
}

Descriptor open_unnamed_below(int folder, const char* name, mode_t mode) {
  return Descriptor(::openat(folder, name, O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
}

/// The files that are being written, each by a thread of its own. A handler may do no more than read pointers; a file
/// that finds no slot free is removed by its destructor only.
std::array<std::atomic<const TemporaryFile*>, 256> current_files{};
static_assert(std::atomic<const TemporaryFile*>::is_always_lock_free);

std::atomic<const TemporaryFile*>* take_slot(const TemporaryFile* file) {
  for (std::atomic<const TemporaryFile*>& slot : current_files) {
    const TemporaryFile* expected = nullptr;
    if (slot.compare_exchange_strong(expected, file)) return &slot;
  }
  return nullptr;
}

/// The number of threads that are making a file, and whether the program is about to end. Each side sets its own flag
/// before it reads the other's.
std::atomic<int> making{0};
std::atomic<bool> is_ending{false};

void remove_current() {
  is_ending = true;
  constexpr timespec moment{0, 100'000};
  while (making > 0) ::nanosleep(&moment, nullptr);
  for (const std::atomic<const TemporaryFile*>& slot : current_files)
    if (const TemporaryFile* const file = slot.load()) file->remove();
}

/// A mapped file got shorter, or its disk failed: the only way to tell is this signal.
void remove_and_fail(int) {
  remove_current();
  constexpr std::string_view message =
      "sframe-gen: error: a file was cut short, or its disk failed, while it was read\n";
  static_cast<void>(!::write(STDERR_FILENO, message.data(), message.size()));
  ::_exit(1);
}

void remove_and_die(int signal) {
  remove_current();
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// Held while a file is made and noted: a signal that ends the program waits for it, and nothing is made when one has
/// come.
class Making {
 public:
  Making() {
    sigset_t ending;
    ::sigfillset(&ending);
    // What a thread does to itself cannot wait.
    for (const int signal : {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGABRT}) ::sigdelset(&ending, signal);
    ::pthread_sigmask(SIG_BLOCK, &ending, &before_);
    ++making;
    if (!is_ending) return;
    --making;
    for (;;) ::pause();
  }
  ~Making() {
    --making;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;

 private:
  sigset_t before_{};
};

constexpr std::string_view marker = ".sframe-gen-";
constexpr int most_names = 1000;             // that crashed runs of the same process number left
constexpr std::size_t longest_prefix = 200;  // NAME_MAX is 255

/// Where /proc leads to an open file. linkat() takes it from there without a privilege; by its descriptor, Linux before
/// 6.10 gives it to those alone who may read any file (CAP_DAC_READ_SEARCH).
std::string path_in_proc(const Descriptor& file) {
  return "/proc/self/fd/" + std::to_string(file.number());
}

}  // namespace

void write_through() {
  writes_through = true;
}

Descriptor open_unnamed(const std::filesystem::path& folder) {
  Descriptor file = open_unnamed_below(AT_FDCWD, name_or_here(folder), 0600);
  if (!file.is_open()) file = Descriptor(::memfd_create("sframe-gen", MFD_CLOEXEC));
  if (!file.is_open()) throw SystemFailure(folder.string(), "write", errno);
  return file;
}

Place::Place(std::filesystem::path file, const char* verb)
    : path_(std::move(file)),
      name_(name_or_here(path_.filename())),
      folder_(::open(name_or_here(path_.parent_path()), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (!folder_.is_open()) throw SystemFailure(path_.string(), verb, errno);
}

std::optional<FileIdentity> Place::identity() const {
  struct stat status {};
  if (::fstatat(folder(), name(), &status, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return FileIdentity(status);
}

bool is_temporary_name(std::string_view name) {
  const auto take_number = [&name] {
    const std::size_t end = name.find_last_not_of("0123456789") + 1;  // 0: all are digits
    const bool is_there = end != name.size();
    name = name.substr(0, end);
    return is_there;
  };
  if (!take_number() || !name.ends_with('-')) return false;
  name.remove_suffix(1);
  return take_number() && name.starts_with('.') && name.substr(1).ends_with(marker);
}

TemporaryFile::TemporaryFile(const Place& target, const char* verb, const std::function<int(const char*)>& make)
    : target_(target) {
  const std::string prefix = "." + std::string(target.name()).substr(0, longest_prefix) + std::string(marker) +
                             std::to_string(::getpid()) + '-';
  static std::atomic<std::uint32_t> next{0};
  for (int i = 0; i < most_names; ++i) {
    name_ = prefix + std::to_string(next++);
    // Nothing that may fail comes after the file is made: no destructor would remove it.
    const Making guard;
    if (make(name_.c_str()) >= 0) {
      slot_ = take_slot(this);
      return;
    }
    if (errno != EEXIST) break;
  }
  const int error = errno;
  // The rights of the directory count, whatever those of the file are.
  const bool is_denied = error == EACCES || error == EPERM || error == EROFS;
  const std::filesystem::path folder = target.path().parent_path();
  throw SystemFailure(target.path().string(), is_denied ? std::string("make a file in ") + name_or_here(folder) : verb,
                      error);
}

TemporaryFile::~TemporaryFile() {
  if (slot_ != nullptr) *slot_ = nullptr;
  if (!name_.empty()) remove();
}

void TemporaryFile::rename() {
  if (::renameat(target_.folder(), name_.c_str(), target_.folder(), target_.name()) != 0)
    throw SystemFailure(target_.path().string(), "replace", errno);
  if (slot_ != nullptr) *std::exchange(slot_, nullptr) = nullptr;
  name_.clear();
  sync_name(target_);
}

NewFile::NewFile(const Place& target, mode_t mode)
    : target_(target), file_(open_unnamed_below(target.folder(), ".", mode)) {
  if (file_.is_open()) unnamed_ = Descriptor(::open(path_in_proc(file_).c_str(), O_PATH | O_CLOEXEC));
  if (unnamed_.is_open()) return;
  temporary_.emplace(target, "write", [&](const char* name) {
    file_ = Descriptor(::openat(target.folder(), name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    return file_.number();
  });
}

void NewFile::sync() const {
  files::sync(descriptor(), target_.path());
}

void NewFile::take_temporary_name() {
  // Before it has the name: a program that is open for writing cannot be started.
  if (!file_.close()) throw SystemFailure(target_.path().string(), "write", errno);
  if (temporary_) return;
  temporary_.emplace(target_, "write", [path = path_in_proc(unnamed_), this](const char* name) {
    return ::linkat(AT_FDCWD, path.c_str(), target_.folder(), name, AT_SYMLINK_FOLLOW);
  });
}

void NewFile::replace_target() {
  take_temporary_name();
  temporary_->rename();
}

void remove_temporary_files_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2}) {
    // nohup and the like have it ignored on purpose.
    if (std::signal(signal, remove_and_die) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  std::signal(SIGBUS, remove_and_fail);
}

}  // namespace sframe_gen::files
