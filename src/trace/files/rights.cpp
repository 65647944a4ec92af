#include "trace/files/rights.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "support/mapped_file.hpp"

namespace sframe_gen::trace {

bool is_trusted(uid_t user) {
  if (user == 0 || user == ::geteuid()) return true;
  const char* const caller = std::getenv("SUDO_UID");
  return ::geteuid() == 0 && caller != nullptr && std::to_string(user) == caller;
}

bool may_name_code(uid_t owner, int process) {
  if (is_trusted(owner)) return true;
  struct stat status {};
  return ::stat(("/proc/" + std::to_string(process)).c_str(), &status) == 0 && status.st_uid == owner;
}

namespace {

// Linux, include/uapi/linux/landlock.h, which older systems have not. The numbers are those of all architectures.
constexpr long create_ruleset = 444, add_rule = 445, restrict_self = 446;
constexpr std::uint32_t ask_for_version = 1, rule_of_directory = 1;
constexpr std::uint64_t execute = 1U << 0U, write_file = 1U << 1U, truncate = 1U << 14U;
/// To remove files and directories, and to make those of each kind.
constexpr std::uint64_t change_directory = 0x1ff0;

struct RuleOfDirectory {
  std::uint64_t allowed;
  std::int32_t directory;
} __attribute__((packed));

}  // namespace

void give_up_rights(const std::vector<std::filesystem::path>& writable) {
  const long version = ::syscall(create_ruleset, nullptr, 0, ask_for_version);
  if (version < 1) return;
  const std::uint64_t changes = write_file | change_directory | (version >= 3 ? truncate : 0);
  const std::uint64_t handled = changes | execute;
  const Descriptor rules(static_cast<int>(::syscall(create_ruleset, &handled, sizeof handled, 0)));
  for (const std::filesystem::path& path : writable) {
    const Descriptor directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const RuleOfDirectory rule{changes, directory.number()};
    // What cannot be allowed, such as a directory that is not there, stays forbidden.
    static_cast<void>(::syscall(add_rule, rules.number(), rule_of_directory, &rule, 0));
  }
  // The kernel asks for it: no program that is started may have other rights.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) ::syscall(restrict_self, rules.number(), 0);
}

}  // namespace sframe_gen::trace
