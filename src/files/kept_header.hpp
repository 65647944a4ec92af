#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe_gen/version.h"

/// What is known of the cache directory without the C++ library: libsframe-backtrace reads it in any program.
namespace sframe_gen::files {

/// In front of the content of a file in the cache directory. What another release keeps may look otherwise.
struct KeptHeader {
  std::array<char, 32> form{"sframe-gen " SFRAME_GEN_VERSION_STRING};
  std::array<std::byte, 16> digest{};  ///< of all that follows
  std::array<std::byte, 16> source{};  ///< a digest of what the content was made from
};
static_assert(sizeof(KeptHeader) == 64 && sizeof "sframe-gen " SFRAME_GEN_VERSION_STRING <= sizeof(KeptHeader::form));

/// Sections that are kept have this address.
inline constexpr std::uint64_t kept_section_address = 0;

/// The name of a section that programs may use for their own code: "BUILD-ID-ADDRESS+SIZE-RELEASE.sframe", with the
/// address and size of each executable segment. It has all that a program knows of a file that it has loaded, so that
/// nothing has to be compared with a digest of the file.
class SectionName {
 public:
  explicit SectionName(std::span<const std::byte> build_id) {
    for (const std::byte each : build_id) {
      put_digit(std::to_integer<unsigned>(each) >> 4U);
      put_digit(std::to_integer<unsigned>(each) & 15U);
    }
  }

  /// Adds an executable segment, in the order of the program headers: its address in the file's own addresses, and its
  /// size in memory.
  void add_code(std::uint64_t address, std::uint64_t size) {
    put('-');
    put_number(address);
    put('+');
    put_number(size);
  }

  /// Ends the name, and returns it. Null: no file system has names of this length.
  const char* finish() {
    for (const char* letter = "-" SFRAME_GEN_VERSION_STRING ".sframe"; *letter != '\0'; ++letter) put(*letter);
    return length_ <= longest ? text_.data() : nullptr;
  }

 private:
  static constexpr std::size_t longest = 255;  // bytes: NAME_MAX

  void put(char letter) {
    if (length_ < longest) text_[length_] = letter;
    ++length_;
  }
  void put_digit(unsigned digit) { put("0123456789abcdef"[digit]); }
  void put_number(std::uint64_t number) {
    unsigned shift = 60;
    while (shift != 0 && number >> shift == 0) shift -= 4;
    for (;; shift -= 4) {
      put_digit(number >> shift & 15U);
      if (shift == 0) break;
    }
  }

  std::array<char, longest + 1> text_{};
  std::size_t length_ = 0;
};

}  // namespace sframe_gen::files
