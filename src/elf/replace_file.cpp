#include "elf/replace_file.hpp"

#include <unistd.h>

#include <cerrno>

#include "elf/output_file.hpp"
#include "support/error.hpp"

namespace sframe_gen::elf {

void replace_file(const std::filesystem::path& output, std::span<const std::byte> bytes, const MappedFile& input) {
  OutputFile file(output, input);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.descriptor(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw SystemFailure(output.string(), "write", written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  file.take_attributes();
  file.commit();
}

}  // namespace sframe_gen::elf
