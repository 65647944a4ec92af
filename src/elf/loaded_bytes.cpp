#include "elf/loaded_bytes.hpp"

namespace sframe_gen::elf {

std::span<const std::byte> loaded_bytes_from(const Image& image, std::uint64_t address) {
  const auto file = image.file_bytes();
  for (const Elf64_Phdr& load : image.segments()) {
    const bool in_file = load.p_offset <= file.size() && load.p_filesz <= file.size() - load.p_offset;
    const std::uint64_t within = address - load.p_vaddr;
    if (load.p_type != PT_LOAD || !in_file || address < load.p_vaddr || within >= load.p_filesz) continue;
    return file.subspan(load.p_offset + within, load.p_filesz - within);
  }
  return {};
}

std::span<const std::byte> loaded_bytes(const Image& image, std::uint64_t address, std::uint64_t size) {
  const auto bytes = loaded_bytes_from(image, address);
  return size <= bytes.size() ? bytes.first(size) : std::span<const std::byte>{};
}

std::uint64_t offset_of(const Image& image, std::span<const std::byte> bytes) {
  return static_cast<std::uint64_t>(bytes.data() - image.file_bytes().data());
}

}  // namespace sframe_gen::elf
