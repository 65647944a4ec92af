#include "cli/emitted_file.hpp"

#include <unistd.h>

#include <span>

#include "files/replace_file.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::cli {

void check_standard_output(EmitForm form) {
  if (form == EmitForm::Section && ::isatty(STDOUT_FILENO) == 1)
    throw Refused("standard output", "is a terminal, which has no use for bytes; use --output, or redirect it");
}

void write_emitted(const std::string& contents, const std::filesystem::path& file,
                   const std::filesystem::path& output) {
  std::error_code ignored;
  if (std::filesystem::equivalent(file, output, ignored))
    throw Refused(output.string(), "is the input itself, and --emit leaves that as it is");
  files::write_new_file(output, std::as_bytes(std::span(contents)), MappedFile(file));
}

}  // namespace sframe_gen::cli
