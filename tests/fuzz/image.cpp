// Any bytes as an ELF file, as they are and without section headers: all that is read of one.

#include "elf/image.hpp"

#include <cstring>
#include <vector>

#include "cfi/frame_index.hpp"
#include "elf/dynamic_table.hpp"
#include "elf/kernel_files.hpp"
#include "elf/notes.hpp"
#include "elf/preconditions.hpp"
#include "elf/symbol_names.hpp"
#include "rows/stubs/recognize.hpp"
#include "target.hpp"

namespace sframe_gen::fuzz {

namespace {

void read(Bytes bytes) {
  succeeds([&] {
    const elf::Image image = elf::Image::of_bytes(bytes, "fuzz");
    for (const elf::Section& section : image.sections()) {
      std::vector<std::byte> storage;
      succeeds([&] { image.contents_of(section, storage); });
      succeeds([&] {
        if (section.header.sh_type == SHT_NOTE)
          elf::read_notes(image.bytes_of(section), section.header.sh_addralign, image.endian(), {"fuzz", "note"});
      });
      if (image.is_code(section)) require(!image.bytes_of(section).empty(), "code has bytes");
    }
    succeeds([&] { elf::soname_of(image, elf::read_dynamic(image)); });
    succeeds([&] { elf::build_id(image); });
    succeeds([&] { elf::is_kernel(image); });
    elf::SymbolNames names(image);
    names.name_at(image.header().e_entry);
    names.begin_after(image.header().e_entry);
    succeeds([&] { elf::check_preconditions(image); });
    succeeds([&] { cfi::load_frame_sections(image); });
    succeeds([&] { rows::stubs::find_stubs(image); });
  });
}

}  // namespace

void image(Bytes input) {
  read(input);
  if (input.size() < sizeof(Elf64_Ehdr)) return;
  std::vector<std::byte> stripped(input.begin(), input.end());
  std::memset(&stripped[offsetof(Elf64_Ehdr, e_shoff)], 0, sizeof(Elf64_Off));
  std::memset(&stripped[offsetof(Elf64_Ehdr, e_shnum)], 0, 2 * sizeof(Elf64_Half));
  read(stripped);
}

}  // namespace sframe_gen::fuzz
