#include "converted.hpp"

#include <utility>

#include "elf/preconditions.hpp"
#include "encode/encode_functions.hpp"
#include "rewrite/check/layout_check.hpp"
#include "rewrite/edit/contents.hpp"
#include "rewrite/plan/choose.hpp"
#include "rewrite/undo/undo.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::fuzz {

namespace {

std::vector<std::byte> written(const elf::Image& image, const rewrite::Layout& layout, ByteChunks section) {
  files::Regions contents = rewrite::contents_of(image, layout);
  // A segment's alignment may ask for a hole of 256 MiB. A file keeps it empty; here it is memory, and takes seconds.
  constexpr std::uint64_t most_bytes = std::uint64_t{32} << 20U;
  if (contents.size() > most_bytes) throw Refused(image.name(), "too large for memory");
  contents.put_bytes(layout.section_offset, std::move(section));
  const auto original = [&] {
    Digester digester;
    digester.update(image.file_bytes());
    return digester;
  };
  rewrite::append_undo(image, layout, original, contents);
  std::vector<std::byte> bytes = contents.bytes(0, contents.size(), image.file_bytes());
  rewrite::check_layout(image, elf::Image::of_bytes(bytes, "output"), rewrite::Contents::All, layout.section);
  return bytes;
}

}  // namespace

std::vector<std::byte> with_empty_section(const elf::Image& image, std::uint64_t section_size) {
  elf::check_preconditions(image);
  const rewrite::Layout layout =
      rewrite::plan_layout(image, section_size, elf::sframe_section, rewrite::HeaderMoves::IfNeeded);
  ByteChunks zeros;
  zeros.append(std::vector<std::byte>(section_size));
  return written(image, layout, std::move(zeros));
}

Converted converted(const elf::Image& image, const ConvertOptions& options) {
  elf::check_preconditions(image);
  const emit::Dialect dialect = encode::dialect_for(image, options.format);
  encode::EncodedFunctions encoded = encode::encode_file(image, image, encode::stubs_for(image, options), dialect);
  const rewrite::Layout layout =
      rewrite::plan_layout(image, encoded.encoder.encoded_size(), encode::section_for(options.format));
  ByteChunks section = encode::take_encoded(layout.section_address, encoded.encoder, image.name());
  return {written(image, layout, std::move(section)), !encoded.coverage.contradictions.empty()};
}

}  // namespace sframe_gen::fuzz
