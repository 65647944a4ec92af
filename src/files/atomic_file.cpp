#include "files/atomic_file.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "files/replace_file.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::files {

Descriptor open_unnamed(const std::filesystem::path& folder) {
  Descriptor file(::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.is_open()) file = Descriptor(::memfd_create("sframe-gen", MFD_CLOEXEC));
  if (!file.is_open()) throw SystemFailure(folder.string(), "write", errno);
  return file;
}

namespace {

/// The files that are being written, each by a thread of its own. A handler may do no more than read pointers; a file
/// that finds no slot free is removed by its destructor only.
std::array<std::atomic<const char*>, 256> current_paths{};
static_assert(std::atomic<const char*>::is_always_lock_free);

std::atomic<const char*>* take_slot(const char* path) {
  for (std::atomic<const char*>& slot : current_paths) {
    const char* expected = nullptr;
    if (slot.compare_exchange_strong(expected, path)) return &slot;
  }
  return nullptr;
}

/// How many threads are about to make a file, and whether the program is about to end: each looks at the other's after
/// it has said its own.
std::atomic<int> making{0};
std::atomic<bool> is_ending{false};

void remove_current() {
  is_ending = true;
  constexpr timespec moment{0, 100'000};
  while (making > 0) ::nanosleep(&moment, nullptr);
  for (const std::atomic<const char*>& slot : current_paths)
    if (const char* const path = slot.load()) ::unlink(path);
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

}  // namespace

MakingFile::MakingFile() {
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

MakingFile::~MakingFile() {
  --making;
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

TemporaryFile::TemporaryFile(std::string&& path) noexcept : path_(std::move(path)), slot_(take_slot(path_.c_str())) {}

TemporaryFile::~TemporaryFile() {
  if (path_.empty()) return;
  leave_slot();
  ::unlink(path_.c_str());
}

void TemporaryFile::forget() {
  leave_slot();
  path_.clear();
}

void TemporaryFile::leave_slot() {
  if (slot_ != nullptr) *slot_ = nullptr;
  slot_ = nullptr;
}

void remove_temporary_files_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2}) {
    // nohup and the like have it ignored on purpose.
    if (std::signal(signal, remove_and_die) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  std::signal(SIGBUS, remove_and_fail);
}

namespace {

constexpr const char* access_list = "system.posix_acl_access";
constexpr int most_links = 40;               // as the kernel follows
constexpr int most_names = 1000;             // that crashed runs of the same process number left
constexpr std::size_t longest_prefix = 200;  // NAME_MAX is 255

/// /dev/stdout leads to /proc/self/fd/1, and that to a pipe, which nothing can replace, or to a file that is written
/// at.
bool is_an_open_stream(const std::filesystem::path& path) {
  struct statfs status {};
  return path.parent_path().filename() == "fd" && ::statfs(path.parent_path().c_str(), &status) == 0 &&
         status.f_type == PROC_SUPER_MAGIC;
}

std::filesystem::path follow_links(const std::filesystem::path& target) {
  std::filesystem::path path = target;
  for (int i = 0; i < most_links; ++i) {
    if (is_an_open_stream(path)) {
      throw Failure(target.string() +
                    ": is a stream, and the result takes the place of a regular file; --emit without --output writes "
                    "to standard output");
    }
    std::error_code error;
    const auto next = std::filesystem::read_symlink(path, error);
    if (error) return path;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  throw SystemFailure(target.string(), "open", ELOOP);
}

Descriptor open_target(const std::filesystem::path& target) {
  return Descriptor(::open(target.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

/// Rights or file system do not allow it.
bool is_not_allowed(int error) {
  return error == EPERM || error == EACCES || error == ENOTSUP || error == EINVAL || error == ENODATA;
}

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& target, const MappedFile& input, New kind)
    : input_(input), kind_(kind), target_(follow_links(target)), target_before_(target_now()) {
  struct stat status {};
  if (::stat(target_.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw Failure(target.string() + ": is not a regular file");
  if (const Descriptor replaced = open_target(target_); replaced.is_open())
    check_replaceable(replaced.number(), target);
  check_unchanged();
  create_temporary_file();
}

/// Not mkostemp: this way the kernel gives a new file the mode that the umask says. Asking for the umask would change
/// it for all threads.
void AtomicFile::create_temporary_file() {
  const mode_t mode = kind_ == New::LikeAny && !target_before_ ? 0666 : 0600;
  const std::string prefix =
      "." + target_.filename().string().substr(0, longest_prefix) + ".sframe-gen-" + std::to_string(::getpid()) + '-';
  static std::atomic<std::uint32_t> next{0};
  for (int i = 0; i < most_names; ++i) {
    std::string path = (target_.parent_path() / (prefix + std::to_string(next++))).string();
    const MakingFile making;
    file_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (file_.is_open()) {
      temporary_.emplace(std::move(path));
      return;
    }
    if (errno != EEXIST) break;
  }
  throw SystemFailure(target_.string(), "write", errno);
}

void AtomicFile::take_attributes() {
  if (kind_ == New::LikeAny && !target_before_) return;
  const Descriptor replaced = open_target(target_);
  if (!replaced.is_open() && target_before_) throw SystemFailure(target_.string(), "read the attributes", errno);
  const int source = replaced.is_open() ? replaced.number() : input_.descriptor();
  struct stat status {};
  if (::fstat(source, &status) != 0) throw SystemFailure(target_.string(), "read", errno);
  // As cp and strip -o: only what replaces a program may have its privileges.
  const bool is_new = !replaced.is_open();
  mode_t mode = status.st_mode & (is_new ? 0777 : 07777);
  // Owner first: chown takes setuid bits away. Only root may give files to others; then the bits must not stay.
  if (::fchown(descriptor(), status.st_uid, status.st_gid) != 0) {
    if (errno != EPERM) throw SystemFailure(target_.string(), "set the owner", errno);
    if (::fchown(descriptor(), static_cast<uid_t>(-1), status.st_gid) != 0) mode &= ~static_cast<mode_t>(S_ISGID);
    if (status.st_uid != ::geteuid()) mode &= ~static_cast<mode_t>(S_ISUID);
  }
  // A folder's default list must not let in whom the old file kept out; its own list, if any, is copied below.
  ::fremovexattr(descriptor(), access_list);
  if (::fchmod(descriptor(), mode) != 0) throw SystemFailure(target_.string(), "set the mode", errno);
  copy_extended_attributes(source, is_new);
}

void AtomicFile::copy_extended_attributes(int source, bool is_new) const {
  const ssize_t size = ::flistxattr(source, nullptr, 0);
  if (size < 0 && errno != ENOTSUP) throw SystemFailure(target_.string(), "read the attributes", errno);
  if (size <= 0) return;
  std::vector<char> names(static_cast<std::size_t>(size));
  const ssize_t listed = ::flistxattr(source, names.data(), names.size());
  if (listed < 0) throw SystemFailure(target_.string(), "read the attributes", errno);
  std::string_view rest(names.data(), static_cast<std::size_t>(listed));
  while (!rest.empty()) {
    const std::string name(rest.substr(0, rest.find('\0')));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    // Hashes and signatures of the old contents.
    if (name == "security.ima" || name == "security.evm") continue;
    if (is_new && name == "security.capability") continue;
    const ssize_t value_size = ::fgetxattr(source, name.c_str(), nullptr, 0);
    std::vector<char> value(static_cast<std::size_t>(std::max<ssize_t>(value_size, 0)));
    const ssize_t got = value_size < 0 ? -1 : ::fgetxattr(source, name.c_str(), value.data(), value.size());
    // Security modules may list what they do not show.
    if (got < 0 && is_not_allowed(errno)) continue;
    if (got < 0) throw SystemFailure(target_.string(), "read the attribute " + name, errno);
    const bool kept = ::fsetxattr(descriptor(), name.c_str(), value.data(), static_cast<std::size_t>(got), 0) == 0;
    // A program that lost its capabilities would be broken in a way nobody looks for.
    const bool must_stay = name == "security.capability" || name.starts_with("system.posix_acl");
    if (!kept && (must_stay || !is_not_allowed(errno)))
      throw SystemFailure(target_.string(), "keep the attribute " + name, errno);
  }
}

std::optional<FileIdentity> AtomicFile::target_now() const {
  struct stat status {};
  if (::stat(target_.c_str(), &status) != 0) return {};
  return FileIdentity(status);
}

/// A moment is left between this and the rename: no system call does both at once.
void AtomicFile::check_unchanged() const {
  struct stat status {};
  if (::fstat(input_.descriptor(), &status) != 0) throw SystemFailure(input_.name(), "read", errno);
  if (FileIdentity(status) != input_.identity()) throw Refused(input_.name(), "was changed while it was read");
  if (target_now() != target_before_) throw Refused(target_.string(), "was changed by somebody else meanwhile");
}

void AtomicFile::commit() {
  check_unchanged();
  if (!file_.close()) throw SystemFailure(target_.string(), "write", errno);
  if (::rename(temporary_->path().c_str(), target_.c_str()) != 0)
    throw SystemFailure(target_.string(), "replace", errno);
  temporary_->forget();
}

}  // namespace sframe_gen::files
