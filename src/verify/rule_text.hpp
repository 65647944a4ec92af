#pragma once

#include <cstdint>
#include <string>

namespace sframe_gen::verify {

/// Name of an AMD64 DWARF register ("rsp"), or "r" and the number beyond the general ones.
std::string register_name(std::uint64_t number);

/// "rsp+8", "*(CFA-16)".
std::string place_text(const std::string& base, std::int64_t offset, bool dereferenced);

}  // namespace sframe_gen::verify
