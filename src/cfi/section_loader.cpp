#include "cfi/section_loader.hpp"

#include <utility>

namespace sframe_gen::cfi {

namespace {

bool has_bytes(const elf::Section* section) {
  return section != nullptr && section->header.sh_type != SHT_NOBITS && section->header.sh_size != 0;
}

/// What gcc, clang and objcopy give with -gz=zlib-gnu.
constexpr const char* compressed_debug_frame = ".zdebug_frame";

bool has_name_of(FrameSection kind, const std::string& name) {
  if (kind == FrameSection::EhFrame) return name == ".eh_frame";
  return name == ".debug_frame" || name == compressed_debug_frame;
}

std::vector<LoadedSection> load_object_sections(const elf::Image& object) {
  std::vector<LoadedSection> loaded;
  object::RelocationTables tables(object);
  for (const FrameSection kind : {FrameSection::EhFrame, FrameSection::DebugFrame}) {
    for (const elf::Section& section : object.sections()) {
      if (!has_name_of(kind, section.name) || !has_bytes(&section)) continue;
      object::RelocatedSection relocated = object::relocate(tables, section);
      loaded.push_back({kind,
                        section.header.sh_addr,
                        {object.name(), section.name},
                        std::move(relocated.bytes),
                        {},
                        std::move(relocated.code),
                        std::move(relocated.unknown)});
      loaded.back().bytes = loaded.back().storage;
    }
  }
  return loaded;
}

}  // namespace

std::vector<LoadedSection> load_frame_sections(const elf::Image& image) {
  if (image.is_object()) return load_object_sections(image);
  std::vector<LoadedSection> loaded;
  // A separate debug file keeps .eh_frame as SHT_NOBITS: its bytes are in the file that runs.
  if (const elf::Section* section = image.find_section(".eh_frame"); has_bytes(section)) {
    loaded.push_back({FrameSection::EhFrame,
                      section->header.sh_addr,
                      {image.name(), section->name},
                      {},
                      image.bytes_of(*section),
                      {},
                      {}});
  }
  const elf::Section* const plain = image.find_section(".debug_frame");
  if (const elf::Section* section = plain != nullptr ? plain : image.find_section(compressed_debug_frame);
      has_bytes(section)) {
    LoadedSection debug_frame{
        FrameSection::DebugFrame, section->header.sh_addr, {image.name(), section->name}, {}, {}, {}, {}};
    debug_frame.bytes = image.contents_of(*section, debug_frame.storage);
    loaded.push_back(std::move(debug_frame));
  }
  return loaded;
}

}  // namespace sframe_gen::cfi
