#pragma once

#include <string>

#include "elf/edit/file_image.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::elf {

/// Whether the next is worth it: what is small takes longer to tell the kernel of, piece by piece, than to copy.
bool can_be_written_at_once(const FileImage& contents, const MappedFile& input);

/// Fills the empty file `output`, of which nothing is there early: the pieces of `input`'s mapping and the patches go
/// to the kernel in one list. Throws SystemFailure.
void write_at_once(const FileImage& contents, const MappedFile& input, int output, const std::string& name);

}  // namespace sframe_gen::elf
