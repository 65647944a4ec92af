#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cfi/frame_source.hpp"
#include "convert/padding.hpp"
#include "elf/image.hpp"
#include "elf/new_section.hpp"
#include "emit/compact/encode.hpp"
#include "emit/encoder.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/coverage.hpp"
#include "stubs/recognize.hpp"

namespace sframe_gen::convert {

/// Opens the separate debug file `path` of `image`. Throws Refused when their code is not at the same addresses,
/// or when their build-ids differ or one has none, unless `ignore_build_id`.
elf::Image open_debug_file(const elf::Image& image, const std::filesystem::path& path, bool ignore_build_id);

/// The one that the options name, if they name one.
std::optional<elf::Image> open_debug_file(const elf::Image& image, const ConvertOptions& options);

/// How the section for `image` is to be written. Throws Refused where the format cannot say anything of its machine.
emit::Dialect dialect_for(const elf::Image& image, const OutputFormat& format);

/// The stubs of a program or library that are to get rows by their instructions: none if the options say so.
stubs::Found stubs_for(const elf::Image& image, const ConvertOptions& options);

/// What is added to a file in this format.
const elf::NewSection& section_for(const OutputFormat& format);

sframe::Family family_of(const OutputFormat& format);

/// A section without its address yet, and what it covers.
struct LoweredFunctions {
  emit::SectionEncoder encoder;
  Coverage coverage;
};

/// The rows of a compact section, cut: what becomes of `all`.
void take_compacted(emit::compact::Compacted compacted, LoweredFunctions& all);

/// The bytes of the section at this virtual address. Throws Refused, naming `file`, where a version with 32-bit starts
/// cannot reach a function.
std::vector<std::byte> encode_at(std::uint64_t address, const emit::SectionEncoder& encoder, const std::string& file);
/// The same, of an encoder that is of no use from then on.
BytePieces take_encoded(std::uint64_t address, emit::SectionEncoder& encoder, const std::string& file);

/// Every function of the source, and the stubs, lowered and encoded in `dialect`. Large files go through several
/// threads; the bytes do not depend on how many. For a compact section `gaps` tells what stands between functions; else
/// it is null. Throws MalformedInput.
LoweredFunctions lower_functions(const cfi::FrameSource& source, const stubs::Found& stubs,
                                 const emit::Dialect& dialect, const CodeGaps* gaps = nullptr);

/// The same of the call frame information that `cfi_image` (often `image` itself) has; throws Refused where there is
/// nothing to say, or too much. `count_code`: as in ConvertOptions.
LoweredFunctions lower_functions_of(const elf::Image& image, const elf::Image& cfi_image, const stubs::Found& stubs,
                                    const emit::Dialect& dialect, bool count_code = false);
/// For those who need the source afterwards.
LoweredFunctions lower_functions_of(const elf::Image& image, const cfi::FrameSource& source, const stubs::Found& stubs,
                                    const emit::Dialect& dialect, bool count_code = false);

}  // namespace sframe_gen::convert
