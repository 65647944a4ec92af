#pragma once

#include <span>
#include <vector>

#include "elf/image.hpp"
#include "readers/fact.hpp"
#include "sframe_gen/check.hpp"

namespace sframe_gen::readers {

/// What a reader makes of a section in which this was found.
ReaderVerdict judge(const ReaderTarget& reader, bool is_object, const Findings& findings);

/// What each of `readers` makes of the file's .sframe; without any, those that read such files are asked. Throws
/// Refused where there is none.
std::vector<ReaderVerdict> judge(const elf::Image& image, std::span<const ReaderTarget* const> readers);

}  // namespace sframe_gen::readers
