#include "files/replace_file.hpp"

#include <unistd.h>

#include <cerrno>

#include "files/output_file.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::files {

namespace {

void write_all(int descriptor, std::span<const std::byte> bytes, const std::filesystem::path& output) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw SystemFailure(output.string(), "write", written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

}  // namespace

void replace_file(const std::filesystem::path& output, std::span<const std::span<const std::byte>> pieces,
                  const MappedFile& input) {
  OutputFile file(output, input);
  for (const auto piece : pieces) write_all(file.descriptor(), piece, output);
  file.take_attributes();
  file.commit();
}

void write_new_file(const std::filesystem::path& output, std::span<const std::byte> bytes, const MappedFile& input) {
  OutputFile file(output, input, OutputFile::New::LikeAny);
  write_all(file.descriptor(), bytes, output);
  file.take_attributes();
  file.commit();
}

}  // namespace sframe_gen::files
