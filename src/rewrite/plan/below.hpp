#pragma once

#include <elf.h>

#include <optional>

#include "rewrite/plan/layout.hpp"
#include "rewrite/plan/placement.hpp"

/// TablePlan::Below: new pages below those of a program at fixed addresses hold the program headers, and with
/// SectionPlan::Head the section. What is there stays, the old headers too. Every kernel finds the table there: those
/// before 5.18 look for it in the first PT_LOAD.
///
///     file        [ELF header, table, section]|[old ELF header, old table, ...    | the file as it was follows
///     addresses   [Head                      ]|[the program's first PT_LOAD ...
namespace sframe_gen::rewrite {

/// Finds addresses for the new pages, and puts into them what they hold.
std::optional<PlanFailure> put_pages_below(const Task& task, Placement& placement);

/// Adds their PT_LOAD to the program headers, and lets the ELF header that stays in memory lead to these.
void lay_out_pages_below(const Task& task, const Placement& placement, Layout& layout);

/// Returns the section header of `.orig_headers`, which covers the old headers in memory: GNU strip clears what no
/// section claims. None if they are not in memory, or under another plan.
std::optional<Elf64_Shdr> old_headers_section(const Task& task, const Placement& placement);

}  // namespace sframe_gen::rewrite
