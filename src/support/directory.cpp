#include "support/directory.hpp"

#include <dirent.h>

#include <cerrno>
#include <memory>

namespace sframe_gen {

std::vector<std::string> names_in(const std::filesystem::path& directory, std::error_code& error) {
  const auto close = [](DIR* open) { ::closedir(open); };
  const std::unique_ptr<DIR, decltype(close)> entries(::opendir(directory.c_str()), close);
  error = entries != nullptr ? std::error_code() : std::error_code(errno, std::system_category());
  std::vector<std::string> names;
  while (!error) {
    errno = 0;
    const dirent* const entry = ::readdir(entries.get());
    if (entry == nullptr) {
      error.assign(errno, std::system_category());
      break;
    }
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

}  // namespace sframe_gen
