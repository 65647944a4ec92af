#pragma once

#include <filesystem>
#include <string>

#include "cfi/frame_source.hpp"
#include "cli/report.hpp"
#include "elf/new_section.hpp"
#include "emit/encoder.hpp"

namespace sframe_gen::cli {

/// How the section for `image` is to be written. Throws Refused where the format cannot say anything of its machine.
emit::Dialect dialect_for(const elf::Image& image, const emit::OutputFormat& format);

/// What is added to a file in this format.
const elf::NewSection& section_for(const emit::OutputFormat& format);

/// With what is known before the work begins.
Report new_report(const std::filesystem::path& file, const std::filesystem::path& output, const emit::Dialect& dialect);

/// Every function of the source, lowered and encoded in `dialect`, which must outlive the encoder; the report counts on
/// the way. Large files go through several threads; the bytes do not depend on how many. Throws MalformedInput.
emit::SectionEncoder lower_functions(const cfi::FrameSource& source, const emit::Dialect& dialect, Report& report);

/// The same; throws Refused, naming `file`, where there is nothing to say.
emit::SectionEncoder lower_functions_of(const std::string& file, const cfi::FrameSource& source,
                                        const emit::Dialect& dialect, Report& report);

/// Gives the report's holes the names of their functions and, in an object, of their sections.
void name_holes(Report& report, const elf::Image& image);

}  // namespace sframe_gen::cli
