#include "files/unnamed_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "sframe_gen/error.hpp"

namespace sframe_gen::files {

UnnamedFile::UnnamedFile(const std::filesystem::path& folder)
    : descriptor_(::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
  if (descriptor_ < 0) descriptor_ = ::memfd_create("sframe-gen", MFD_CLOEXEC);
  if (descriptor_ < 0) throw SystemFailure(folder.string(), "write", errno);
}

UnnamedFile::~UnnamedFile() {
  ::close(descriptor_);
}

}  // namespace sframe_gen::files
