#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cfi/frame_source.hpp"
#include "elf/image.hpp"
#include "elf/new_section.hpp"
#include "emit/compact/compacted.hpp"
#include "emit/encoder.hpp"
#include "encode/padding.hpp"
#include "rows/proof/synthesis.hpp"
#include "rows/stubs/recognize.hpp"
#include "sframe_gen/convert_options.hpp"
#include "sframe_gen/coverage.hpp"
#include "support/range.hpp"

/// The rows of all functions of a file, as bytes: from call frame information and stubs to a section without an
/// address.
namespace sframe_gen::encode {

/// Returns how the section for `image` is to be written. Throws Refused where the format has no identifier for its
/// machine.
emit::Dialect dialect_for(const elf::Image& image, const OutputFormat& format);

/// Returns the stubs of a program or library that are to get rows by their instructions: none if the options say so.
rows::stubs::StubList stubs_for(const elf::Image& image, const ConvertOptions& options);

/// Returns the option that asks for a proof of the instructions: "--synthesize"; null if none does.
constexpr const char* option_of_proof(const ConvertOptions& options) {
  return options.synthesize ? "--synthesize" : options.omit_disproved ? "--omit-disproved" : nullptr;
}

/// Returns what is added to a file in this format.
const elf::NewSection& section_for(const OutputFormat& format);

sframe::Family family_of(const OutputFormat& format);

/// A section without its address yet, and what it covers.
struct EncodedFunctions {
  emit::SectionEncoder encoder;
  Coverage coverage;
};

/// Takes the rows of a compact section, cut: what becomes of `all`.
void take_compacted(emit::compact::Compacted compacted, EncodedFunctions& all);

/// Returns the bytes of the section at this virtual address. Throws Refused, naming `file`, where a version with 32-bit
/// starts cannot reach a function.
std::vector<std::byte> encode_at(std::uint64_t address, const emit::SectionEncoder& encoder, const std::string& file);
/// The same, of an encoder that is of no use from then on.
ByteChunks take_encoded(std::uint64_t address, emit::SectionEncoder& encoder, const std::string& file);

/// Encodes every function of the source, and the stubs, in `dialect`. Large files go through several threads; the bytes
/// do not depend on how many. For a compact section `gaps` tells what is between functions; else it is null. PCs that
/// are `disproved` get no rows. Throws MalformedInput.
EncodedFunctions encode_functions(const cfi::FrameSource& source, const rows::stubs::StubList& stubs,
                                  const emit::Dialect& dialect, const CodeGaps* gaps = nullptr,
                                  const RangeSet& disproved = {});

/// For readers that look up the return address of a call at a function's end: lets functions go on over the padding
/// after them, if `gaps` tells what it is and it has at least `smallest` bytes, and keeps PCs at the start of a segment
/// apart from functions of others. PCs of `code` are no padding, whatever their instructions.
void cover_padding(const elf::Image& image, const CodeGaps* gaps, const RangeSet& code, std::uint64_t smallest,
                   EncodedFunctions& all);

/// Encodes the functions of the call frame information that `cfi_image` (often `image` itself) has, as above; throws
/// Refused where there is nothing to say, or too much. `options` that say what is read count, and those that ask for a
/// proof of the instructions.
EncodedFunctions encode_file(const elf::Image& image, const elf::Image& cfi_image, const rows::stubs::StubList& stubs,
                             const emit::Dialect& dialect, const ConvertOptions& options = {});
/// For those who need the source afterwards. PCs that are `disproved` get no rows. `lacking`: as code_coverage() has
/// it.
EncodedFunctions encode_source(const elf::Image& image, const cfi::FrameSource& source,
                               const rows::stubs::StubList& look_alikes, const emit::Dialect& dialect,
                               bool count_code = false, const RangeSet& disproved = {},
                               const std::vector<rows::proof::Lack>* lacking = nullptr);

}  // namespace sframe_gen::encode
