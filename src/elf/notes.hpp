#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/error.hpp"
#include "support/endian.hpp"
#include "support/range.hpp"

namespace sframe_gen::elf {

/// One entry of an SHT_NOTE section (gABI, chapter 5, "Note Section"), in the bytes that it was read from.
struct Note {
  std::uint32_t type;
  std::string_view owner;  ///< without the terminating zero
  std::span<const std::byte> descriptor;
};

/// `alignment` is the section's: 8 pads name and descriptor to 8 bytes, everything else to 4. Throws MalformedInput.
std::vector<Note> read_notes(std::span<const std::byte> bytes, std::uint64_t alignment, Endian endian,
                             const InputOrigin& origin);

/// Descriptor of the first NT_GNU_BUILD_ID note; empty if there is none. Of sections of notes that are
/// together larger than the file, and so share bytes, the last ones are not looked at. Throws MalformedInput.
std::span<const std::byte> build_id(const Image& image);

/// "1f02": bytes as digits, as build-ids are written.
std::string hex_digits(std::span<const std::byte> bytes);

/// Whether the bytes have a note of properties (NT_GNU_PROPERTY_TYPE_0), wherever a reader looks for one.
bool has_property_note(std::span<const std::byte> bytes, Endian endian);

/// Whether it is a PT_GNU_PROPERTY that leads to no such note. patchelf before 0.16 moves the note of a program, leaves
/// its PT_GNU_PROPERTY, and often lets the program headers grow over the place. glibc then finds no property. Linux for
/// AArch64 and qemu-aarch64 refuse such a program (parse_elf_properties); other kernels do not look.
bool is_stale_property(const Image& image, const Elf64_Phdr& segment);

/// File offsets of the build-id. None if it is not in the first page: then no reader misses it.
std::optional<Range> build_id_in_first_page(const Image& image);

/// Whether a build-id at these file offsets is.
bool is_in_first_page(const Range& place);

}  // namespace sframe_gen::elf
