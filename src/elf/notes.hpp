#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "sframe_gen/error.hpp"
#include "support/endian.hpp"

namespace sframe_gen::elf {

/// One entry of an SHT_NOTE section (gABI, chapter 5, "Note Section").
struct Note {
  std::uint32_t type;
  std::string owner;  ///< without the terminating zero
  std::span<const std::byte> descriptor;
};

/// `alignment` is the section's: 8 pads name and descriptor to 8 bytes, everything else to 4. Throws MalformedInput.
std::vector<Note> read_notes(std::span<const std::byte> bytes, std::uint64_t alignment, Endian endian,
                             const Origin& origin);

/// Descriptor of the first NT_GNU_BUILD_ID note; empty if there is none. Throws MalformedInput.
std::span<const std::byte> build_id(const Image& image);

/// "1f02": bytes as digits, as build-ids are written.
std::string hex_digits(std::span<const std::byte> bytes);

/// Whether the bytes have a note of properties (NT_GNU_PROPERTY_TYPE_0), wherever a reader looks for one.
bool has_property_note(std::span<const std::byte> bytes, Endian endian);

/// Whether it is a PT_GNU_PROPERTY that leads to no such note. patchelf before 0.16 moves the note of a program, leaves
/// its PT_GNU_PROPERTY, and often lets the program headers grow over the place. glibc then finds no property. Linux for
/// AArch64 and qemu-aarch64 refuse such a program (parse_elf_properties); other kernels do not look.
bool is_stale_property(const Image& image, const Elf64_Phdr& segment);

/// File offset of the build-id. None if it is not in the first page: then no reader misses it.
std::optional<std::uint64_t> build_id_in_first_page(const Image& image);

/// Whether a build-id of as many bytes as that of `image` is within the first page at `file_offset`.
bool is_build_id_in_first_page(const Image& image, std::uint64_t file_offset);

}  // namespace sframe_gen::elf
