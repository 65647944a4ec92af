#pragma once

#include <optional>

#include "elf/image.hpp"
#include "elf/new_section.hpp"

namespace sframe_gen::elf {

/// Writes what `converted` was made from when it got `added` to `output`, an empty file. Throws Refused when
/// `converted` is no file that sframe-gen wrote, or not as it wrote it; nothing is left out of that comparison.
/// `output` is then in no defined state. Returns the size. Throws SystemFailure as well.
std::uint64_t restore_original(const Image& converted, const NewSection& added, int output,
                               const std::string& output_name);

/// Does it without keeping the result.
std::uint64_t original_size(const Image& converted, const NewSection& added);

/// The file that `image` was made from when it got `added`, under the same name. Nothing if there is none to be had: it
/// was not converted, or changed since. `folder` is where the bytes go, in a file without a name.
std::optional<Image> find_original(const Image& image, const NewSection& added, const std::filesystem::path& folder);

}  // namespace sframe_gen::elf
