#pragma once

#include <cstdint>

namespace sframe_gen::cli {

/// What one run of the program does. All but the first have an option of their own.
enum class Action : std::uint8_t { Convert, Emit, Remove, Dump, LookUp, Verify, Check, Launch, Help, Version };

}  // namespace sframe_gen::cli
