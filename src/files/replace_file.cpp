#include "files/replace_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "files/atomic_file.hpp"
#include "files/temporary_file.hpp"
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
  AtomicFile file(output, input);
  for (const auto piece : pieces) write_all(file.descriptor(), piece, output);
  file.take_attributes();
  file.commit();
}

void write_new_file(const std::filesystem::path& output, std::span<const std::byte> bytes, const MappedFile& input) {
  AtomicFile file(output, input, AtomicFile::New::LikeAny);
  write_all(file.descriptor(), bytes, output);
  file.take_attributes();
  file.commit();
}

void replace_by_link(const std::filesystem::path& name, const std::filesystem::path& file) {
  // link() replaces nothing, rename() does.
  constexpr std::size_t longest_prefix = 200;  // NAME_MAX is 255
  const std::string beside = (name.parent_path() / ("." + name.filename().string().substr(0, longest_prefix) +
                                                    ".sframe-gen-" + std::to_string(::getpid()) + "-name"))
                                 .string();
  std::optional<TemporaryFile> link;
  {
    const MakingFile making;
    if (::link(file.c_str(), beside.c_str()) != 0) throw SystemFailure(name.string(), "replace", errno);
    link.emplace(beside);
  }
  if (::rename(beside.c_str(), name.c_str()) != 0) throw SystemFailure(name.string(), "replace", errno);
  link->forget();
}

}  // namespace sframe_gen::files
