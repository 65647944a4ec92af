#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "convert/reencode.hpp"
#include "elf/image.hpp"
#include "encode/encode_functions.hpp"
#include "sframe_gen/convert_options.hpp"

namespace sframe_gen::convert {

/// What the new section of a linked file is made of: call frame information, its own or that of a debug file; or the
/// section that it has, for --from-sframe.
class LinkedRows {
 public:
  /// `image` is what gets the section, and `opened` has the one that there is: they differ where an earlier conversion
  /// was undone. Both and `options` must outlive it. Throws Failure.
  LinkedRows(const elf::Image& image, const elf::Image& opened, const ConvertOptions& options);

  /// Throws Failure. `with_stubs`: if the options say so.
  encode::EncodedFunctions encode(bool with_stubs = true) const;

  /// Reads the new section back, if it is made of another one. Throws Refused if its rows differ.
  void check(std::span<const std::byte> bytes, std::uint64_t address) const;

 private:
  const elf::Image& image_;
  const ConvertOptions& options_;
  std::optional<Reencoding> existing_;
  std::optional<elf::Image> debug_;
  emit::Dialect dialect_;
};

}  // namespace sframe_gen::convert
