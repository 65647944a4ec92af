#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "convert/reencode.hpp"
#include "elf/image.hpp"
#include "encode/encode_functions.hpp"
#include "sframe_gen/convert_options.hpp"
#include "sframe_gen/outcomes.hpp"

/// Programs, libraries and kernels: what their section is made of, and how they get it.
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

/// The whole way of a program or library: read, encode, place, write. What `opened` was made from by an earlier
/// conversion is converted again. Throws Failure; `output` is then as it was.
LinkedOutcome convert_linked(const elf::Image& opened, const std::filesystem::path& output,
                             const ConvertOptions& options, const WorkObserver& observer);

/// Fills the room that the linker script of a Linux kernel (elf/kernel_files.hpp) has reserved for the section, and
/// changes nothing else. Throws Failure, which says how much room it takes if there is too little; `output` is then
/// as it was.
KernelOutcome convert_kernel(const elf::Image& kernel, const std::filesystem::path& output,
                             const ConvertOptions& options, const WorkObserver& observer);

}  // namespace sframe_gen::convert
