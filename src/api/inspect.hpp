#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/address_names.hpp"
#include "sframe_gen/section.hpp"

/// Looking into the sections of files, for people.
namespace sframe_gen::api {

struct Inspected {
  std::string name;
  std::vector<FileSection> sections;
  AddressNames places;
};

/// Calls `visit` for the file, or for each member of an archive that has a section; then `failed` for those that are
/// damaged. Throws Refused where there is none.
void inspect(const std::filesystem::path& file, const std::function<void(Inspected&)>& visit,
             const std::function<void(const Failure&)>& failed);

/// What a section says of an address, in one line:
///
///     0x4023 main+0x3: CFA = rsp+16, RA = *(CFA-8), FP unchanged; from .eh_frame; FDE 12 of 318, default, row 3
///     of 5, 0x4021..0x4035
///
/// No value: it does not describe it.
std::optional<std::string> look_up(Inspected& file, const sframe::Section& section, std::uint64_t address);

}  // namespace sframe_gen::api
