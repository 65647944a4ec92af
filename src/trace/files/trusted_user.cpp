#include "trace/files/trusted_user.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

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

}  // namespace sframe_gen::trace
