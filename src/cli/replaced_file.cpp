#include "cli/replaced_file.hpp"

#include <cstdint>
#include <utility>

#include "support/text.hpp"

namespace sframe_gen::cli {

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
