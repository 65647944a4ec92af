#pragma once

#include "sframe/test_bytes.hpp"

namespace sframe_gen::sframe::test {

/// Where `good_section` lies.
inline constexpr std::uint64_t good_address = 0x2000;

/// A sound section of three functions: one default, one repeated, one flexible signal frame. The left column gives the
/// offset of each line, so that a test can say which field it pokes.
inline std::vector<std::byte> good_section() {
  return bytes_of(R"(
    e2 de 03 05              # 0x00 magic, version 3, sorted + pc-relative
    03 00 f8 00              # 0x04 AMD64, no fixed FP, fixed RA -8, no auxiliary header
    03 00 00 00              # 0x08 functions
    0a 00 00 00              # 0x0c rows
    38 00 00 00              # 0x10 bytes of rows
    00 00 00 00              # 0x14 function index at 0x1c
    30 00 00 00              # 0x18 rows at 0x4c

    e4 ef ff ff ff ff ff ff  # 0x1c start 0x1000
    07 00 00 00 00 00 00 00  # 0x24 size, rows at 0x4c
    e4 ef ff ff ff ff ff ff  # 0x2c start 0x1010
    20 00 00 00 13 00 00 00  # 0x34 size, rows at 0x5f
    04 f0 ff ff ff ff ff ff  # 0x3c start 0x1040
    14 00 00 00 1e 00 00 00  # 0x44 size, rows at 0x6a

    04 00 00 00 00           # 0x4c 4 rows, default
    00 03 08                 # 0x51 sp+8
    01 05 10 f0              # 0x54 sp+16, FP at CFA-16
    04 04 10 f0              # 0x58 fp+16, FP at CFA-16
    06 03 08                 # 0x5c sp+8

    02 00 10 00 10           # 0x5f 2 rows, MASK, repeat size 16
    00 03 08                 # 0x64 sp+8
    0b 03 10                 # 0x67 sp+16

    04 00 80 01 00           # 0x6a 4 rows, signal frame, flexible
    00 04 39 08              # 0x6f sp+8
    04 0a 51 00 00 33 00     # 0x73 r10+0, RA at its fixed place, FP at *(fp+0)
    08 0c 33 f8 02 f0 02 e8  # 0x7a *(fp-8), RA at CFA-16, FP at CFA-24
    10 00                    # 0x82 RA undefined

    00 00 00 00              # 0x84 padding
  )");
}

}  // namespace sframe_gen::sframe::test
