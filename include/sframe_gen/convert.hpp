#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sframe_gen/convert_options.hpp"
#include "sframe_gen/coverage.hpp"
#include "sframe_gen/error.hpp"
#include "sframe_gen/format.hpp"
#include "sframe_gen/layout_plans.hpp"
#include "sframe_gen/outcomes.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// Gives files their section. If a function fails, it throws Failure (error.hpp) and leaves every file as it was.
/// Several threads may call them, for different files.
namespace sframe_gen {

/// Returns the short names of docs/design.md, which reports have: "replaced", "S1", "S2", "S3", "filled".
std::string_view name_of(SectionPlan plan);
/// "T0" to "T4".
std::string_view name_of(TablePlan plan);

/// Returns the plan's short name: "S2+T1", "S1+T0 after 0x2000", "filled".
std::string name_of(const TriedPlan& plan);
/// Returns what the plan does to the file, or why it does not work, in a clause for people.
std::string outcome_of(const TriedPlan& plan);

/// Gives `input` its section, as its kind asks for, and writes the result to `output`, which may be `input` itself.
/// `output` is replaced atomically and keeps mode, owner and attributes; a thin archive's members are files of their
/// own, replaced one after the other.
ConvertOutcome convert_file(const std::filesystem::path& input, const std::filesystem::path& output,
                            const ConvertOptions& options = {}, const WorkObserver& observer = {});

/// The section of a program, library or kernel in memory, `elf`: its file's bytes, not its loaded segments. `name` is
/// for messages. `address`: where the section will be. `options` that name how a file is written do not count.
TranslateOutcome translate(std::span<const std::byte> elf, const std::string& name, std::uint64_t address,
                           const ConvertOptions& options = {});

/// The section that `input` would get at `address`; the default is where the file has one, or a conversion would put
/// it.
EmitOutcome emit_section(const std::filesystem::path& input, EmitForm form, const ConvertOptions& options = {},
                         std::optional<std::uint64_t> address = {}, const WorkObserver& observer = {});

/// Restores the file that was converted, byte for byte, or throws Refused. With `section_only`, it may take out the
/// section alone; it always does so to objects and to members of archives.
RemoveOutcome remove_section(const std::filesystem::path& input, const std::filesystem::path& output,
                             const RemoveOptions& options = {});

}  // namespace sframe_gen

SFRAME_GEN_END_CXX
