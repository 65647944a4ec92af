#pragma once

#include <filesystem>
#include <string>

#include "sframe_gen/convert.hpp"

namespace sframe_gen::cli {

/// Whether a section by itself may go to standard output. Throws Refused where nobody could use it: bytes on a
/// terminal.
void check_standard_output(EmitForm form);

/// Writes it to `output`, complete or not at all. Throws Refused where that is `file` itself, which it was made from.
void write_emitted(const std::string& contents, const std::filesystem::path& file, const std::filesystem::path& output);

}  // namespace sframe_gen::cli
