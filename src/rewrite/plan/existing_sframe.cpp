#include "rewrite/plan/existing_sframe.hpp"

#include <algorithm>

#include "elf/image.hpp"
#include "elf/kernel_files.hpp"
#include "rewrite/plan/movable.hpp"

namespace sframe_gen::rewrite {

namespace {

/// GNU ld 2.43 sizes PT_GNU_SFRAME before it drops functions, so the segment may reach further than the section.
std::uint64_t segment_end(const elf::Image& image, const Elf64_Shdr& section, const elf::NewSection& wanted) {
  std::uint64_t end = 0;
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type == wanted.segment_type && segment.p_offset == section.sh_offset)
      end = std::max<std::uint64_t>(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

/// PT_LOAD that may keep it: readable, not writable, all of it in the file, and not made read-only after relocation.
std::optional<std::size_t> usable_load(const elf::Image& image, const Elf64_Shdr& section,
                                       const elf::NewSection& wanted) {
  if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_type == SHT_NOBITS || section.sh_addr % wanted.alignment != 0)
    return {};
  std::optional<std::size_t> load;
  for (std::size_t i = 0; i < image.segments().size(); ++i) {
    const Elf64_Phdr& segment = image.segments()[i];
    if (!elf::holds_section(segment, section)) continue;
    if (segment.p_type == PT_GNU_RELRO || segment.p_type == PT_TLS) return {};
    if (segment.p_type != PT_LOAD) continue;
    if ((segment.p_flags & (PF_R | PF_W)) != PF_R || segment.p_filesz != segment.p_memsz) return {};
    load = i;
  }
  return load;
}

/// A part of the section, to look for references to it.
elf::Section part_of(const elf::Section& section, std::uint64_t begin, std::uint64_t size) {
  elf::Section part = section;
  part.header.sh_addr += begin;
  part.header.sh_size = size;
  return part;
}

/// Code may know a section's place by a label that left no symbol, however many others the file has.
bool is_referred_to(const elf::Image& image, const elf::Section& part) {
  return has_named_symbol_in(image, part) || has_relative_relocation_to(image, part) ||
         has_direct_reference_to(image, part);
}

bool begins_at(const elf::Image& image, std::uint64_t address) {
  return std::ranges::any_of(image.sections(), [&](const elf::Section& section) {
    return (section.header.sh_flags & SHF_ALLOC) != 0 && section.header.sh_addr == address;
  });
}

/// The section's size changes, and mostly its place: a reader that finds it by an address, as kernels do by symbols of
/// their linker script, would read something else. Only GNU's and other tools' sections have such readers. They know
/// where it begins, and read its preamble first, or where it ends. In all of its hundred kilobytes, something in the
/// code of nearly every program at a fixed address would look like a reference by chance.
void check_not_referred_to(const elf::Image& image, const elf::Section& section) {
  constexpr std::uint64_t preamble_size = 4;
  const std::uint64_t size = section.header.sh_size;
  if ((section.header.sh_flags & SHF_ALLOC) == 0) return;
  const bool has_other_end = !begins_at(image, section.header.sh_addr + size);
  if (has_named_symbol_in(image, section) ||
      is_referred_to(image, part_of(section, 0, std::min(size, preamble_size))) ||
      (has_other_end && is_referred_to(image, part_of(section, size, 1))))
    throw Refused(image.name(),
                  "cannot get another " + section.name + ": a symbol, a relocation or code points to the one it has");
}

}  // namespace

ExistingSframe find_existing_sframe(const elf::Image& image, const elf::NewSection& wanted) {
  ExistingSframe found;
  found.has_segment = wanted.segment_type && image.find_segment(*wanted.segment_type) != nullptr;
  for (const elf::Section& section : image.sections()) {
    if (section.name == wanted.undo_name) {
      if (found.undo_section) throw Refused(image.name(), "more than one " + section.name + " section");
      found.undo_section = section.index;
      found.undo_bytes = {section.header.sh_offset, section.header.sh_offset + image.bytes_of(section).size()};
    }
    if (section.name != wanted.name) continue;
    if (found.section) throw Refused(image.name(), "more than one " + section.name + " section");
    found.section = section.index;
  }
  if (!found.section) return found;
  if (elf::has_relocations(image, image.sections()[*found.section]))
    throw Refused(image.name(), "cannot get another " + std::string(wanted.name) +
                                    ": the one it has has relocations of its own (ld --emit-relocs)");
  if (!found.undo_section) check_not_referred_to(image, image.sections()[*found.section]);
  const Elf64_Shdr& section = image.sections()[*found.section].header;
  const std::uint64_t size = image.bytes_of(image.sections()[*found.section]).size();
  FileSpace space(image);
  found.bytes = {section.sh_offset, section.sh_offset + size};
  space.release(found.bytes);
  found.load = usable_load(image, section, wanted);
  if (!found.load) return found;
  const Elf64_Phdr& load = image.segments()[*found.load];
  // The PT_LOAD's own claim covers all of it: look at what starts after the section.
  std::uint64_t limit = load.p_offset + load.p_filesz;
  found.is_last = true;
  for (const elf::Section& other : image.sections()) {
    const Range bytes = file_bytes_under(image, other);
    const bool occupies = other.index != *found.section && !bytes.empty();
    if (!occupies || bytes.end <= section.sh_offset || bytes.begin >= limit) continue;
    limit = std::max<std::uint64_t>(bytes.begin, section.sh_offset);
    found.is_last = false;
  }
  found.bytes.end = std::min(limit, std::max(found.bytes.end, segment_end(image, section, wanted)));
  space.release(found.bytes);
  const bool rest_is_zero = space.is_zero({section.sh_offset, limit});
  found.room = (rest_is_zero ? limit : found.bytes.end) - section.sh_offset;
  found.is_last = found.is_last && rest_is_zero;
  return found;
}

}  // namespace sframe_gen::rewrite
