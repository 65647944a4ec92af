#pragma once

#include <optional>
#include <variant>

#include "elf/plan/placement.hpp"

/// Steps of `place` that fill a file of their own.
namespace sframe_gen::elf {

/// Room for the program headers where they are: what stands where they grow to becomes a group that moves. Gives free
/// bytes of the file behind them, which may be none.
std::variant<FileRange, Obstacle> make_table_room(const Task& task, Placement& placement);

/// TablePlan::Below: the program headers, and with SectionPlan::Head the section, into new pages below all others.
std::optional<Obstacle> put_pages_below(const Task& task, Placement& placement);

/// File bytes for all that has an address.
std::optional<Obstacle> make_file_room(const Task& task, Placement& placement);

}  // namespace sframe_gen::elf
