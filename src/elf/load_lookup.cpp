#include "elf/load_lookup.hpp"

namespace sframe_gen::elf {

bool holds_section(const Elf64_Phdr& segment, const Elf64_Shdr& section) {
  return section.sh_addr >= segment.p_vaddr && section.sh_offset >= segment.p_offset &&
         section.sh_addr - segment.p_vaddr == section.sh_offset - segment.p_offset &&
         section.sh_offset + section.sh_size <= segment.p_offset + segment.p_filesz;
}

std::optional<std::size_t> find_load_at_offset(const Image& image, std::uint64_t offset) {
  for (std::size_t i = 0; i < image.segments().size(); ++i) {
    const Elf64_Phdr& segment = image.segments()[i];
    if (segment.p_type == PT_LOAD && holds_offset(segment, offset)) return i;
  }
  return {};
}

const Elf64_Phdr* find_load(const Image& image, std::uint64_t address, std::uint64_t size, std::uint64_t offset) {
  for (const Elf64_Phdr& segment : image.segments()) {
    const bool same_place = segment.p_type == PT_LOAD && address >= segment.p_vaddr && offset >= segment.p_offset &&
                            address - segment.p_vaddr == offset - segment.p_offset;
    if (same_place && address - segment.p_vaddr <= segment.p_memsz &&
        size <= segment.p_memsz - (address - segment.p_vaddr))
      return &segment;
  }
  // .bss's offset need not agree with its address.
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type == PT_LOAD && holds_address(segment, address) &&
        size <= segment.p_memsz - (address - segment.p_vaddr))
      return &segment;
  }
  return nullptr;
}

const Elf64_Phdr* lowest_load(const Image& image) {
  const Elf64_Phdr* lowest = nullptr;
  for (const Elf64_Phdr& segment : image.segments())
    if (segment.p_type == PT_LOAD && (lowest == nullptr || segment.p_vaddr < lowest->p_vaddr)) lowest = &segment;
  return lowest;
}

const Elf64_Phdr* load_that_shares_page_of_header(const Image& image) {
  constexpr std::uint64_t smallest_page = 0x1000;
  const Elf64_Phdr* const lowest = lowest_load(image);
  if (lowest == nullptr || lowest->p_offset == 0 || lowest->p_offset >= smallest_page) return nullptr;
  const bool is_mapped =
      lowest->p_vaddr >= lowest->p_offset && (lowest->p_vaddr - lowest->p_offset) % smallest_page == 0;
  return is_mapped && lowest->p_offset >= sizeof(Elf64_Ehdr) ? lowest : nullptr;
}

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
