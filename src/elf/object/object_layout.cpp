#include "elf/object/object_layout.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "elf/records.hpp"

namespace sframe_gen::elf::object {

namespace {

/// Contents from this size on are not held in memory. A piece of its own costs more than the copy of a smaller one.
constexpr std::size_t worth_mapping = std::size_t{1} << 20;

}  // namespace

ObjectLayout::ObjectLayout(const elf::Image& object) : object_(object), output_(object.endian()) {
  output_.append_bytes(object.slice(0, sizeof(Elf64_Ehdr), "ELF header"));
}

void ObjectLayout::keep(std::vector<std::uint32_t> sections, std::vector<Elf64_Shdr>& headers,
                        const Contents& changed) {
  const auto bytes_of = [&](std::uint32_t index) { return object_.bytes_of(object_.sections()[index]); };
  // What is empty goes first among equals: a gap that closes in front of a section must not turn the two around.
  std::ranges::stable_sort(
      sections, {}, [&](std::uint32_t index) { return std::pair(headers[index].sh_offset, !bytes_of(index).empty()); });
  for (const std::uint32_t index : sections) {
    Elf64_Shdr& header = headers[index];
    // No reader needs them aligned in the file; what is aligned, as assemblers do it, stays so.
    const bool is_aligned = elf::is_power_of_two_or_zero(header.sh_addralign) &&
                            elf::align_down(header.sh_offset, header.sh_addralign) == header.sh_offset;
    header.sh_offset = pad_to(is_aligned && !bytes_of(index).empty() ? header.sh_addralign : 1);
    if (const auto found = changed.find(index); found != changed.end()) {
      header.sh_size = found->second.size();
      output_.append_bytes(found->second);
    } else {
      append(bytes_of(index));
    }
  }
}

void ObjectLayout::append(std::span<const std::byte> contents) {
  if (contents.size() < worth_mapping) return output_.append_bytes(contents);
  end_piece();
  const auto from = static_cast<std::uint64_t>(contents.data() - object_.file_bytes().data());
  form_.put_input(form_.size(), from, contents.size());
}

void ObjectLayout::end_piece() {
  form_.put_bytes(form_.size(), std::exchange(output_, ByteWriter(object_.endian())).release());
}

std::uint64_t ObjectLayout::pad_to(std::uint64_t alignment) {
  while (offset() != elf::align_up(offset(), alignment)) output_.u8(0);
  return offset();
}

files::Regions ObjectLayout::finish(std::vector<Elf64_Shdr> headers, std::uint32_t names) {
  Elf64_Ehdr elf_header = object_.header();
  elf_header.e_shoff = pad_to(alignof(Elf64_Shdr));
  // Numbers beyond 16 bits stand in section header 0 (gABI, chapter 4).
  const bool extended = headers.size() >= SHN_LORESERVE;
  elf_header.e_shnum = extended ? Elf64_Half{0} : static_cast<Elf64_Half>(headers.size());
  if (extended) headers[0].sh_size = headers.size();
  if (names != object_.section_name_table_index()) {
    const bool is_wide = names >= SHN_LORESERVE;
    elf_header.e_shstrndx = is_wide ? Elf64_Half{SHN_XINDEX} : static_cast<Elf64_Half>(names);
    if (is_wide) headers[0].sh_link = names;
  }
  for (const Elf64_Shdr& section : headers) {
    std::array<std::byte, sizeof(Elf64_Shdr)> bytes{};
    elf::store_section(bytes, section, object_.endian());
    output_.append_bytes(bytes);
  }
  end_piece();
  std::vector<std::byte> bytes(sizeof(Elf64_Ehdr));
  elf::store_header(bytes, elf_header, object_.endian());
  form_.put_bytes(0, std::move(bytes));
  return std::move(form_);
}

}  // namespace sframe_gen::elf::object
