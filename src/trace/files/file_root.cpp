#include "trace/files/file_root.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "sframe_gen/error.hpp"

namespace sframe_gen::trace {

namespace {

const std::filesystem::path begin_of_paths = "/";

/// Where the kernel has the open file. Empty: it cannot be told.
std::filesystem::path place_of(int descriptor) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), error);
  return error ? std::filesystem::path() : place;
}

/// Empty: the path leads elsewhere.
std::filesystem::path below(const std::filesystem::path& root, const std::filesystem::path& path) {
  const auto [in_root, in_path] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  // "/a/" ends with an empty part.
  if (in_root != root.end() && !in_root->empty()) return {};
  std::filesystem::path rest = "/";
  for (auto part = in_path; part != path.end(); ++part) rest /= *part;
  return rest;
}

}  // namespace

void throw_why(const std::string& name, const OpenFile& file) {
  if (file.error == OpenFile::not_regular) throw Refused(name, "not a regular file");
  if (file.error == OpenFile::no_answer) throw Refused(name, "its file system does not answer");
  throw SystemFailure(name, "open", file.error);
}

struct FileRoot::Waiting {
  using Clock = FileOpening::Clock;

  bool is_for_others(uid_t user) const { return is_limited && user != 0 && user != ::geteuid(); }
  Clock::duration allowed(uid_t user) {
    if (!is_for_others(user)) return FileOpening::patience;
    // One user may have many numbers (subuid(5)).
    constexpr int share = 100, users = 3;
    const Clock::time_point now = Clock::now();
    const Clock::duration of_each = FileOpening::patience + (now - begun) / share;
    const Clock::duration left =
        std::min({of_each - spent[user], users * of_each - spent_in_all, end.load() - now.time_since_epoch()});
    return std::max(left, Clock::duration::zero());
  }
  void note(uid_t user, Clock::duration time) {
    if (!is_for_others(user)) return;
    spent[user] += time;
    spent_in_all += time;
  }

  std::unique_ptr<FileOpener> opener;
  bool is_limited = false;
  Clock::time_point begun = Clock::now();
  std::map<uid_t, Clock::duration> spent;  ///< by who chose the files
  Clock::duration spent_in_all{};
  std::atomic<Clock::duration> end = Clock::duration::max();
};

FileRoot::FileRoot() : waiting_(std::make_unique<Waiting>()) {}

FileRoot::FileRoot(std::filesystem::path directory)
    : name_(std::move(directory)),
      directory_(::open(name_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
      waiting_(std::make_unique<Waiting>()) {
  if (!directory_.is_open()) throw SystemFailure(name_.string(), "open", errno);
  if (const OpenFile self = open_named_file({.path = "."}, directory_.number(), {});
      self.error != OpenFile::not_regular) {
    throw SystemFailure(name_.string(), "be the --root without openat2() (Linux 5.6; a container may forbid it)",
                        self.error);
  }
}

FileRoot::FileRoot(FileRoot&&) noexcept = default;
FileRoot::~FileRoot() = default;

FileOpener& FileRoot::opener() const {
  if (!waiting_->opener) waiting_->opener = std::make_unique<FileOpener>(directory_.number());
  return *waiting_->opener;
}

void FileRoot::limit_waiting_for_others() {
  waiting_->is_limited = true;
}

void FileRoot::end_waiting_for_others() {
  waiting_->end = Waiting::Clock::now().time_since_epoch() + std::chrono::milliseconds(500);
}

std::shared_ptr<const OpenFile> FileRoot::wait_for(const std::shared_ptr<FileOpening>& opening, uid_t user) const {
  static const auto none = std::make_shared<const OpenFile>(OpenFile{.error = OpenFile::no_answer});
  if (!opening) return none;
  // The recording may end meanwhile.
  constexpr std::chrono::milliseconds step{50};
  const OpenFile* answer = nullptr;
  for (auto left = waiting_->allowed(user);; left = waiting_->allowed(user)) {
    const auto begun = Waiting::Clock::now();
    answer = opening->wait(std::min<Waiting::Clock::duration>(left, step));
    waiting_->note(user, Waiting::Clock::now() - begun);
    if (answer != nullptr || opening->is_over() || left == Waiting::Clock::duration::zero()) break;
  }
  return answer == nullptr ? none : std::shared_ptr<const OpenFile>(opening, answer);
}

std::shared_ptr<const OpenFile> FileRoot::open_file(const NamedFile& file, const WaitingGroup& group) const {
  return wait_for(opener().begin(file, group), group.user);
}

elf::Image FileRoot::open(const std::filesystem::path& path, uid_t user) const {
  return elf::Image::open(open_path(path, user)->file.number(), full_name(path));
}

std::shared_ptr<const OpenFile> FileRoot::open_path(const std::filesystem::path& path, uid_t user) const {
  auto opened =
      open_file({.path = (begin_of_paths / path.relative_path()).string()}, {user, path.parent_path().string()});
  if (opened->error != 0) throw_why(full_name(path), *opened);
  return opened;
}

std::shared_ptr<const OpenFile> FileRoot::open_text(const std::filesystem::path& path) const {
  return open_file({.path = path.string(), .may_be_link = false}, {0, path.parent_path().string()});
}

std::vector<std::filesystem::path> FileRoot::names_of(const elf::Image& image) const {
  std::vector<std::filesystem::path> names;
  const auto add = [&](const std::filesystem::path& name) {
    if (name.is_absolute() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  const std::filesystem::path given = image.name();
  const std::filesystem::path given_below = directory_.is_open() ? below(name_, given) : given;
  add(given_below.empty() ? given : given_below);
  if (!image.is_file()) return names;
  const std::filesystem::path place = place_of(image.descriptor());
  add(directory_.is_open() ? below(place_of(directory_.number()), place) : place);
  return names;
}

}  // namespace sframe_gen::trace
