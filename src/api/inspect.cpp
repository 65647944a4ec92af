#include "api/inspect.hpp"

#include <cstdint>

#include "convert/convert_archive.hpp"
#include "convert/file_kind.hpp"
#include "elf/image.hpp"
#include "elf/object/sframe_sections.hpp"
#include "sframe/format.hpp"
#include "sframe/names.hpp"
#include "sframe_gen/find_rows.hpp"

namespace sframe_gen::api {

namespace {

void inspect_image(const std::string& name, const elf::Image& image, const std::function<void(Inspected&)>& visit) {
  Inspected inspected{name, elf::object::read_with_remarks(image), AddressNames(image)};
  visit(inspected);
}

/// "CFA = rsp+16, RA = *(CFA-8), FP unchanged"
std::string rules_text(const sframe::Section& section, const sframe::Fde& function, const sframe::Fre& row) {
  if (!row.recovery) return "no caller, the outermost frame";
  const sframe::RecoveryRules& recovery = *row.recovery;
  const sframe::AbiTraits& abi = sframe::traits_of(section.abi);
  std::string text = "CFA = " + text_of(recovery.cfa, section.abi) + ", RA = ";
  if (recovery.return_address) {
    text += text_of(*recovery.return_address, section.abi);
  } else if (section.fixed_ra_offset != 0) {
    text += sframe::place_text("CFA", section.fixed_ra_offset, true);
  } else {
    text += sframe::register_name(section.abi, abi.return_address);
  }
  if (recovery.mangled_ra) text += function.b_key ? " signed with the B key" : " signed with the A key";
  text += recovery.frame_pointer ? ", FP = " + text_of(*recovery.frame_pointer, section.abi) : ", FP unchanged";
  return text;
}

struct FoundRow {
  const sframe::Fre* row = nullptr;
  std::uint64_t begin = 0, end = 0;  ///< addresses
};

FoundRow find_row(const sframe::Fde& function, std::uint64_t address) {
  FoundRow found;
  sframe::for_each_interval(function, [&](std::uint64_t begin, std::uint64_t end, const sframe::Fre& row) {
    const std::uint64_t offset = address - function.start;
    if (begin <= offset && offset < end) found = {&row, function.start + begin, function.start + end};
  });
  return found;
}

/// "0x10" of ".text+0x10", which stands before it already.
std::string offset_of(const std::string& place) {
  return place.substr(place.rfind('+') + 1);
}

std::string kind_of(const sframe::Fde& function) {
  std::string text = function.type == sframe::FdeType::Flexible ? "flexible" : "default";
  if (function.pc_type == sframe::PcType::Mask) text += ", repeating";
  if (function.signal_frame) text += ", signal frame";
  return text;
}

}  // namespace

void inspect(const std::filesystem::path& file, const std::function<void(Inspected&)>& visit,
             const std::function<void(const Failure&)>& failed) {
  if (convert::kind_of(file) != convert::FileKind::Archive) {
    const elf::Image image = elf::Image::open(file);
    return inspect_image(file.string(), image, visit);
  }
  convert::for_each_converted(
      file, [&](const std::string& name, const elf::Image& member) { inspect_image(name, member, visit); },
      [&](const std::string&, const Failure& failure) { failed(failure); });
}

std::optional<std::string> look_up(Inspected& file, const sframe::Section& section, std::uint64_t address) {
  const sframe::Fde* const function = sframe::find_fde(section, address);
  if (function == nullptr) return {};
  const std::string symbol = file.places.symbol_at(address);
  std::string text = file.places.text_of(address) + (symbol.empty() ? "" : " " + symbol) + ": ";
  const FoundRow found = find_row(*function, address);
  const bool outermost = sframe::is_outermost_throughout(*function, section.version);
  if (found.row == nullptr && !outermost) return {};
  text += found.row != nullptr ? rules_text(section, *function, *found.row) : "no caller, the outermost frame";
  if (const auto source = file.places.source_at(address, function->start)) {
    text += "; from " + std::string(name_of(*source));
  } else if (file.places.knows_sources()) {
    text += "; by its instructions (--synthesize) or a debug file (--cfi-from)";
  }
  text += "; FDE " + std::to_string(function - section.fdes.data() + 1) + " of " + std::to_string(section.fdes.size()) +
          ", " + kind_of(*function);
  if (found.row == nullptr) return text + ", without rows";
  return text + ", row " + std::to_string(found.row - function->fres.data() + 1) + " of " +
         std::to_string(function->fres.size()) + ", " + file.places.text_of(found.begin) + ".." +
         offset_of(file.places.text_of(found.end));
}

}  // namespace sframe_gen::api
