#include "convert/linked_rows.hpp"

#include <string>

#include "convert/debug_file.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::convert {

LinkedRows::LinkedRows(const elf::Image& image, const elf::Image& opened, const ConvertOptions& options)
    : image_(image), options_(options) {
  if (const char* const asked = encode::option_of_proof(options); options.from_section && asked != nullptr)
    throw Refused(image.name(), std::string(asked) + " cannot be combined with --from-sframe");
  if (options.from_section) existing_.emplace(opened);
  debug_ = open_debug_file(image, options);
  dialect_ = encode::dialect_for(image, options.format);
}

encode::EncodedFunctions LinkedRows::encode(bool with_stubs) const {
  if (existing_) return existing_->encode(dialect_);
  return encode::encode_file(image_, debug_ ? *debug_ : image_,
                             with_stubs ? encode::stubs_for(image_, options_) : rows::stubs::StubList{}, dialect_,
                             options_);
}

void LinkedRows::check(std::span<const std::byte> bytes, std::uint64_t address) const {
  if (existing_) existing_->check(bytes, address, encode::family_of(options_.format));
}

}  // namespace sframe_gen::convert
