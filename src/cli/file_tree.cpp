#include "cli/file_tree.hpp"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "convert/file_kind.hpp"
#include "files/atomic_file.hpp"
#include "files/new_file.hpp"
#include "sframe_gen/error.hpp"
#include "support/directory.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

/// Returns whether another file system begins at a path. A file's device may differ from its directory's all the same:
/// an overlay tells the device of the layer that has the file.
bool is_mounted(const std::filesystem::path& path) {
  struct statx status {};
  return ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, 0, &status) == 0 &&
         (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

class TreeWalk {
 public:
  TreeWalk(std::filesystem::path root, const TreeFilter& filter) : root_(std::move(root)), filter_(filter) {
    struct stat status {};
    if (::lstat((root_ / ".").c_str(), &status) != 0) throw SystemFailure(root_.string(), "read", errno);
    device_ = status.st_dev;
  }

  FoundFiles run() {
    directory(root_, "");
    for (Subject& subject : found_.subjects) {
      const std::uint64_t names = 1 + subject.other_names.size();
      subject.names_elsewhere -= std::min(subject.names_elsewhere, names);
    }
    return std::move(found_);
  }

 private:
  /// `below`: its path from the root, with a slash after it.
  void directory(const std::filesystem::path& path, const std::string& below) {
    std::error_code error;
    std::vector<std::string> names = names_in(path, error);
    if (error) fail(path, error);
    std::ranges::sort(names);
    for (const std::string& name : names) entry(path / name, below + name);
  }

  void entry(const std::filesystem::path& path, const std::string& below) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) return fail_if_there(path, std::error_code(errno, std::system_category()));
    const bool same_device = status.st_dev == device_;
    if (S_ISDIR(status.st_mode) && same_device) return directory(path, below + '/');
    if (!S_ISREG(status.st_mode) || is_excluded(below)) return;
    if (files::is_temporary_name(path.filename().native())) {
      found_.temporary_files.emplace_back(status.st_dev, status.st_ino);
    } else if (same_device || !is_mounted(path)) {
      file(path, status);
    }
  }

  void file(const std::filesystem::path& path, const struct stat& status) {
    if (const auto known = first_of_.find({status.st_dev, status.st_ino}); known != first_of_.end()) {
      found_.subjects[known->second].other_names.push_back(path);
      return;
    }
    const convert::FileKind kind = kind_of(path);
    if (kind == convert::FileKind::Other) return;
    if (!is_wanted(path, kind)) {
      found_.left_alone.emplace(status.st_dev, status.st_ino);
      return;
    }
    if (status.st_nlink > 1) first_of_[{status.st_dev, status.st_ino}] = found_.subjects.size();
    found_.subjects.push_back(
        {path, static_cast<std::uint64_t>(status.st_size), {}, status.st_nlink, {status.st_dev, status.st_ino}});
  }

  convert::FileKind kind_of(const std::filesystem::path& path) {
    std::error_code error;
    const convert::FileKind kind = convert::kind_of(path, error);
    if (error) fail_if_there(path, error);
    return kind;
  }

  bool is_wanted(const std::filesystem::path& path, convert::FileKind kind) const {
    if (filter_.wanted == TreeFiles::All) return true;
    if (kind == convert::FileKind::Archive) return false;
    const std::uint16_t type = convert::type_of(path).value_or(ET_NONE);
    if (filter_.wanted == TreeFiles::Linked) return type == ET_EXEC || type == ET_DYN;
    return type != ET_REL || convert::is_kernel_module(path);  // a damaged file is reported
  }

  void fail(const std::filesystem::path& path, const std::error_code& error) {
    found_.failures.push_back(path.string() + ": cannot read: " + error.message());
  }

  /// Meanwhile, other programs may delete files.
  void fail_if_there(const std::filesystem::path& path, const std::error_code& error) {
    if (error != std::errc::no_such_file_or_directory) fail(path, error);
  }

  bool is_excluded(const std::string& below) const {
    return std::ranges::any_of(filter_.excluded,
                               [&](const std::string& part) { return below.find(part) != std::string::npos; });
  }

  std::filesystem::path root_;
  const TreeFilter& filter_;
  dev_t device_ = 0;
  std::map<std::pair<dev_t, ino_t>, std::size_t> first_of_;  ///< of files with several names
  FoundFiles found_;
};

}  // namespace

FoundFiles find_files(const std::filesystem::path& directory, const TreeFilter& filter) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) throw SystemFailure(directory.string(), "open", errno);
  if (!S_ISDIR(status.st_mode)) throw Refused(directory.string(), "not a directory (--recursive takes directories)");
  return TreeWalk(directory, filter).run();
}

void keep_names_together(const Subject& subject) {
  for (const std::filesystem::path& name : subject.other_names) {
    std::error_code ignored;
    if (std::filesystem::equivalent(subject.file, name, ignored)) continue;
    files::replace_by_link(name, subject.file, subject.identity);
  }
}

ReplacedFile::ReplacedFile(std::filesystem::path file) : file_(std::move(file)), before_(status()) {}

std::optional<struct stat> ReplacedFile::status() const {
  struct stat status {};
  if (::stat(file_.c_str(), &status) != 0) return {};
  return status;
}

std::string ReplacedFile::losses(std::size_t names_kept) const {
  const std::optional<struct stat> after = status();
  if (!before_ || !after || (before_->st_dev == after->st_dev && before_->st_ino == after->st_ino)) return {};
  std::string losses;
  const auto add = [&](const std::string& loss) { losses += (losses.empty() ? "" : "; ") + loss; };
  const auto add_change = [&](const std::string& what, std::uint64_t from, std::uint64_t to) {
    if (from != to) add(what + ' ' + std::to_string(from) + " to " + std::to_string(to));
  };
  add_change("owner changed from user", before_->st_uid, after->st_uid);
  add_change("group changed from", before_->st_gid, after->st_gid);
  const mode_t bits = before_->st_mode & ~after->st_mode;
  if ((bits & S_ISUID) != 0) add("no set-user-ID bit any more");
  if ((bits & S_ISGID) != 0) add("no set-group-ID bit any more");
  if (before_->st_nlink > names_kept) {
    const std::uint64_t others = before_->st_nlink - names_kept;
    add(count_of(others, "hard link") + (others == 1 ? " keeps" : " keep") + " the old contents");
  }
  return losses;
}

}  // namespace sframe_gen::cli
