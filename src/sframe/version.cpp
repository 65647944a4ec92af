#include "sframe/version.hpp"

#include <algorithm>
#include <array>

namespace sframe_gen::sframe {
namespace {

constexpr std::uint8_t old_flags = flag::sorted | flag::frame_pointer;

constexpr VersionTraits ctf_frame() {
  VersionTraits traits;
  traits.version = Version::CtfFrame;
  traits.name = "CTF Frame";
  traits.section_name = ".ctf_frame";
  traits.number = 1;
  traits.known_flags = old_flags;
  traits.reserved_fde_info = 0xe0;
  traits.has_auxiliary_header = false;
  traits.first_fre_type = 1;
  traits.descriptor_size = 17;
  traits.dumps_bare_registers = true;
  traits.frame_pointer_first = true;
  return traits;
}

constexpr VersionTraits version_1() {
  VersionTraits traits;
  traits.version = Version::V1;
  traits.name = "SFrame version 1";
  traits.section_name = ".sframe";
  traits.number = 1;
  traits.known_flags = old_flags;
  traits.reserved_fde_info = 0xc0;
  traits.descriptor_size = 17;
  traits.dumps_bare_registers = true;
  traits.has_mangled_ra = true;
  return traits;
}

constexpr VersionTraits version_2() {
  VersionTraits traits = version_1();
  traits.version = Version::V2;
  traits.name = "SFrame version 2";
  traits.number = 2;
  traits.known_flags = old_flags | flag::function_start_pc_relative;
  traits.descriptor_size = 20;
  traits.has_repeat_size = true;
  traits.has_s390x = true;
  traits.has_register_words = true;
  return traits;
}

constexpr VersionTraits version_3() {
  VersionTraits traits = version_2();
  traits.version = Version::V3;
  traits.name = "SFrame version 3";
  traits.number = 3;
  traits.known_flags = flag::sorted | flag::function_start_pc_relative;
  traits.reserved_fde_info = 0x40;
  traits.descriptor_size = 16;
  traits.splits_descriptor = true;
  traits.start_size = 8;
  traits.largest_fre_count = UINT16_MAX;
  traits.marks_signal_frames = true;
  traits.has_flexible_fdes = true;
  traits.has_register_words = false;
  traits.dumps_bare_registers = false;
  return traits;
}

constexpr std::array all{ctf_frame(), version_1(), version_2(), version_3()};

}  // namespace

const VersionTraits& traits_of(Version version) {
  return all[static_cast<std::size_t>(version)];
}

const VersionTraits* find_version(std::uint8_t number) {
  const auto found = std::ranges::find_if(
      all, [&](const VersionTraits& traits) { return traits.version != Version::CtfFrame && traits.number == number; });
  return found == all.end() ? nullptr : &*found;
}

std::string_view name_of(Version version) {
  return traits_of(version).name;
}

}  // namespace sframe_gen::sframe
