#pragma once

#include <cstdint>
#include <string>

#include "sframe/format.hpp"
#include "sframe_gen/section.hpp"

/// What registers and rules are called in messages.
namespace sframe_gen::sframe {

/// What the psABI calls a DWARF register: "rsp", "x29", "r15"; "column 34" where it is no register of the machine.
std::string register_name(Abi abi, std::uint64_t number);

/// "rsp+8", "*(CFA-16)".
std::string place_text(const std::string& base, std::int64_t offset, bool dereferenced);
std::string text_of(const Rule& rule, Abi abi);

}  // namespace sframe_gen::sframe
