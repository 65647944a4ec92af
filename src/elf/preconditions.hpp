#pragma once

#include "elf/image.hpp"

namespace sframe_gen::elf {

/// Bytes that no header describes are refused beyond this even where they are zeros: they may be a hole of a sparse
/// file, and take memory as soon as they are looked at.
inline constexpr std::uint64_t most_undescribed = 32U << 20U;

/// The part of `check_preconditions` that looks at section and program headers: each by itself, and whether they
/// contradict each other. Throws Refused or MalformedInput.
void check_headers(const Image& image);

/// Throws MalformedInput if two sections share bytes of the file, or a section the bytes of headers. Moving one of them
/// would tear the other apart; and a small file could name the same megabytes by thousands of headers.
void check_no_overlap(const Image& image);

/// Recent lld counts padding in the file size of PT_GNU_RELRO that may follow the end of the file.
bool has_file_bytes(const Elf64_Phdr& segment);

/// Refuses, by name, what the rewriter cannot do or cannot do safely, and bounds every number it will calculate with
/// (`largest_number`). Throws Refused or MalformedInput.
void check_preconditions(const Image& image);

/// Throws Refused for what is signed as a whole, in one of the ways that leave a trace.
void check_not_signed(const Image& image);
/// Where the file ends by its headers.
std::uint64_t described_end(const Image& image);
/// Throws Refused where bytes that no header describes stand at the end of the file.
void check_nothing_appended(const Image& image);

/// Whether the kernel or a user starts programs through this file. Kernels before 6.7 cannot load an interpreter
/// that has a read-only PT_LOAD after its .bss: they kept one end of file bytes for all segments and cleared from
/// there on, which faults in a read-only page.
bool is_dynamic_loader(const Image& image);

}  // namespace sframe_gen::elf
