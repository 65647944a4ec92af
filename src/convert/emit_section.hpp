#pragma once

#include <cstdint>
#include <optional>

#include "elf/image.hpp"
#include "sframe_gen/convert_options.hpp"
#include "sframe_gen/outcomes.hpp"

/// Sections that are written alone, or go into a caller's memory.
namespace sframe_gen::convert {

/// Returns the section of an object, which only assembly text can hold without the object. Throws Failure.
EmitOutcome emit_object(const elf::Image& object, EmitForm form, const ConvertOptions& options,
                        std::optional<std::uint64_t> address);

/// Returns the section of a program, library or kernel for `address`, or else for where it would go. Throws Failure.
EmitOutcome emit_linked(const elf::Image& image, EmitForm form, const ConvertOptions& options,
                        std::optional<std::uint64_t> address, const WorkObserver& observer);

/// Returns the section's bytes for `address`. Throws Failure.
TranslateOutcome translate_linked(const elf::Image& image, std::uint64_t address, const ConvertOptions& options);

}  // namespace sframe_gen::convert
