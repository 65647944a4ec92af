#include "elf/kept_section.hpp"

#include <unistd.h>

#include <cerrno>

#include "elf/notes.hpp"
#include "files/kept_header.hpp"
#include "sframe_gen/error.hpp"
#include "sframe_gen/version.h"

namespace sframe_gen::elf {

KeptSection::KeptSection(const std::filesystem::path& directory, const Image& image, std::string_view kind)
    : file_(image.name()) {
  if (directory.empty()) return;
  const auto id = build_id(image);
  if (id.empty()) return;
  Digester digester;
  digester.update(image.file_bytes());
  digest_ = digester.digest();
  path_ = directory /
          (hex_digits(id) + "-" + hex_digits(digest_) + "-" SFRAME_GEN_VERSION_STRING + std::string(kind) + ".sframe");
  files::SectionName name(id);
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) name.add_code(segment.p_vaddr, segment.p_memsz);
  }
  if (const char* const text = name.finish()) offered_ = directory / text;
}

std::optional<files::KeptFile> KeptSection::find() const {
  return has_place() ? files::KeptFile::find(path_, digest_) : std::nullopt;
}

bool KeptSection::keep(std::span<const std::byte> section, mode_t mode) const {
  return has_place() && files::KeptFile::keep(path_, digest_, section, mode);
}

void KeptSection::offer() const {
  if (offered_.empty()) throw Refused(file_, "too many executable segments to name a section by");
  std::error_code ignored;
  if (std::filesystem::equivalent(path_, offered_, ignored)) return;
  std::filesystem::remove(offered_, ignored);
  // Another process may have been faster, with the same file.
  if (::link(path_.c_str(), offered_.c_str()) == 0 || errno == EEXIST) return;
  const int error = errno;
  // Some file systems have no such links.
  const auto kept = find();
  if (!kept || !files::KeptFile::keep(offered_, digest_, kept->content()))
    throw SystemFailure(offered_.string(), "write", error);
}

}  // namespace sframe_gen::elf
