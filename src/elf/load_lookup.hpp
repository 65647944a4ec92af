#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "elf/image.hpp"

/// Which PT_LOAD or section holds an address or a file offset. check/ comes here for bytes only, and finds the PT_LOADs
/// of its rules by itself: it judges what the others made of these answers.
namespace sframe_gen::elf {

constexpr bool holds_address(const Elf64_Phdr& segment, std::uint64_t address) {
  return address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_memsz;
}

constexpr bool holds_offset(const Elf64_Phdr& segment, std::uint64_t offset) {
  return offset >= segment.p_offset && offset - segment.p_offset < segment.p_filesz;
}

constexpr bool holds_address(const Elf64_Shdr& section, std::uint64_t address) {
  return address >= section.sh_addr && address - section.sh_addr < section.sh_size;
}

/// Whether the section is loaded as part of the segment: its bytes are the segment's, at the address where they stand.
bool holds_section(const Elf64_Phdr& segment, const Elf64_Shdr& section);

/// Index of the first PT_LOAD with file bytes at `offset`.
std::optional<std::size_t> find_load_at_offset(const Image& image, std::uint64_t offset);

/// The PT_LOAD that holds an address whose bytes stand at `offset`: at the border of two PT_LOADs both may hold the
/// address, and the offset decides. Null where there is none.
const Elf64_Phdr* find_load(const Image& image, std::uint64_t address, std::uint64_t size, std::uint64_t offset);

/// The PT_LOAD at the lowest address; null where there is none.
const Elf64_Phdr* lowest_load(const Image& image);

/// The same where the kernel maps the ELF header with it, though it begins behind that: pages are mapped as a whole.
/// Seen in what ld.lld --omagic links.
const Elf64_Phdr* load_that_shares_page_of_header(const Image& image);

/// The bytes that the file has from a virtual address on, up to the end of the PT_LOAD's file bytes that hold it; empty
/// where there are none. Believes nothing: a PT_LOAD outside the file holds nothing.
std::span<const std::byte> loaded_bytes_from(const Image& image, std::uint64_t address);

/// The same, of a given size; empty where the file does not have all of it.
std::span<const std::byte> loaded_bytes(const Image& image, std::uint64_t address, std::uint64_t size);

/// Where in the file such bytes stand.
std::uint64_t offset_of(const Image& image, std::span<const std::byte> bytes);

}  // namespace sframe_gen::elf
