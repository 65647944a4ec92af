#pragma once

#include <string>
#include <vector>

#include "sframe/test_bytes.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::sframe::test {

/// Sound sections of the other versions, ABIs and byte orders, at `good_address` as the one of good_section.hpp: files
/// of tests/sframe/data, with the offset of each line, so that a test can say which field it pokes.
inline constexpr const char* good_versions[]{"v2_amd64",    "v2_s390x",      "v1_aarch64_be",
                                             "ctf_aarch64", "v3_aarch64_be", "v3_s390x"};

inline std::vector<std::byte> good_version(const std::string& name) {
  return bytes_of(golden_text(name + ".hex"));
}

inline Family family_of(const std::string& name) {
  return name == "ctf_aarch64" ? Family::CtfFrame : Family::SFrame;
}

}  // namespace sframe_gen::sframe::test
