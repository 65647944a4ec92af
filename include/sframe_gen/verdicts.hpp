#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sframe_gen/format.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// What readers make of a section (check.hpp).
namespace sframe_gen {

/// What a reader makes of a section.
struct ReaderVerdict {
  enum class Kind : std::uint8_t {
    Accepts,
    Refuses,   ///< it reports an error, or leaves the section alone
    Misreads,  ///< it does not notice that it cannot read the section: wrong rows, lost ones, or a crash
  };
  const ReaderTarget* reader = nullptr;
  Kind kind = Kind::Accepts;
  // But for Accepts:
  std::string finding;                  ///< the first fact that the reader does not support: "it is SFrame version 3"
  std::optional<std::uint64_t> offset;  ///< of the fact in .sframe, in bytes; no value if it has no place there
  std::string_view rule;                ///< what the reader does about it, without its name: "supports only version 2"
  bool helped_by_target = false;        ///< a conversion with `reader`'s format writes a section that it supports
  std::string_view patches;             ///< that are meant, of a reader that is not released for the file's machine
};

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
