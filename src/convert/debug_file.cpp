#include "convert/debug_file.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "elf/notes.hpp"
#include "elf/object/preconditions.hpp"
#include "sframe_gen/error.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace sframe_gen::convert {

namespace {

/// Where sections of one name are.
struct Places {
  std::set<std::uint64_t> addresses;
  std::uint64_t last = 0;
};

SeededMap<std::string_view, Places> places_by_name(const elf::Image& image) {
  SeededMap<std::string_view, Places> places;
  for (const elf::Section& section : image.sections()) {
    Places& of_name = places[section.name];
    of_name.last = section.header.sh_addr;
    of_name.addresses.insert(of_name.last);
  }
  return places;
}

/// A debug file keeps the headers of all sections. If its code is at other addresses, its CFI
/// describes other bytes than ours. Equal build-ids do not rule that out: a prelinker or a fixed build-id can part the
/// two.
void check_same_addresses(const elf::Image& image, const elf::Image& debug) {
  constexpr std::uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
  const auto places = places_by_name(image);
  for (const elf::Section& section : debug.sections()) {
    if ((section.header.sh_flags & code) != code || section.header.sh_size == 0) continue;
    if (!image.has_section_headers() && !image.is_code(section.header.sh_addr, section.header.sh_size)) {
      throw Refused(debug.name(), section.name + " at " + hex(section.header.sh_addr) + ", but " + image.name() +
                                      " has no code there");
    }
    const auto found = places.find(section.name);
    if (found == places.end() || found->second.addresses.contains(section.header.sh_addr)) continue;
    throw Refused(debug.name(), section.name + " at " + hex(section.header.sh_addr) + ", but " + image.name() +
                                    " has it at " + hex(found->second.last));
  }
}

void check_build_id(const elf::Image& image, const elf::Image& debug) {
  const auto expected = elf::build_id(image);
  const auto found = elf::build_id(debug);
  if (expected.empty())
    throw Refused(image.name(),
                  "no build-id to compare with " + debug.name() + " (use --ignore-build-id to read it anyway)");
  if (!std::equal(expected.begin(), expected.end(), found.begin(), found.end())) {
    throw Refused(debug.name(),
                  "build-id differs from that of " + image.name() + " (use --ignore-build-id to read it anyway)");
  }
}

}  // namespace

elf::Image open_debug_file(const elf::Image& image, const std::filesystem::path& path, bool ignore_build_id) {
  elf::Image debug = elf::Image::open(path);
  if (debug.header().e_machine != image.header().e_machine || debug.endian() != image.endian()) {
    throw Refused(path.string(), "for another architecture than " + image.name());
  }
  // Only relocations say what an object's call frame information points to.
  if (debug.is_object() != image.is_object()) {
    throw Refused(path.string(), debug.is_object() ? "relocatable object, but " + image.name() + " is linked"
                                                   : "linked, but " + image.name() + " is a relocatable object");
  }
  if (debug.is_object()) elf::object::check_contents_apart(debug);
  if (!ignore_build_id) check_build_id(image, debug);
  check_same_addresses(image, debug);
  return debug;
}

std::optional<elf::Image> open_debug_file(const elf::Image& image, const ConvertOptions& options) {
  if (!options.debug_file) return {};
  return open_debug_file(image, *options.debug_file, options.ignore_build_id);
}

}  // namespace sframe_gen::convert
