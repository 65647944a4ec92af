#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "elf/image.hpp"
#include "elf/new_section.hpp"
#include "files/regions.hpp"
#include "rewrite/plan/layout.hpp"
#include "support/hash.hpp"

namespace sframe_gen::rewrite {

/// Appends the undo record of `input` to `contents`, which are complete otherwise, in the section that the layout has
/// for it. `original` returns the digester that has read `input`; it is called last, as it may have to wait.
void append_undo(const elf::Image& input, const Layout& layout, const std::function<Digester()>& original,
                 files::Regions& contents);

/// What a converted file was made from.
struct Original {
  std::uint64_t size = 0;      ///< bytes
  bool has_section = false;    ///< of the name of the one that was added
  bool was_converted = false;  ///< that section is of an earlier conversion
};

/// Writes what `converted` was made from when it got `added` to `output`, an empty file. Throws
/// SystemFailure, and Refused if `converted` is not a file that sframe-gen wrote, or any byte of it has changed since;
/// `output` then has no defined contents.
Original restore_original(const elf::Image& converted, const elf::NewSection& added, int output,
                          const std::string& output_name);

/// Does it without keeping the result.
Original describe_original(const elf::Image& converted, const elf::NewSection& added);

/// Returns the file that `image` was made from when it got `added`, under the same name. Nothing if `image` was not
/// converted, or has changed since. The bytes go to a file without a name in `folder`.
std::optional<elf::Image> find_original(const elf::Image& image, const elf::NewSection& added,
                                        const std::filesystem::path& folder);

}  // namespace sframe_gen::rewrite
