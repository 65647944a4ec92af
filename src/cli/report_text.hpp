#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/report.hpp"
#include "elf/plan/layout.hpp"

namespace sframe_gen::cli {

/// "libc.so.6: 3812 functions: 3790 whole, 12 in part, 10 left out (9 CFA is a DWARF expression …)".
void write_summary(const Report& report, std::ostream& out);
void write_summary(const Removal& removal, std::ostream& out);

/// Why a file with FDEs gets no section: "has no function that SFrame could describe (2 FDEs of discarded or no code)".
std::string why_no_function(const Report& report);

/// After the summary: each function left out, what was dropped, and the plan of the rewrite.
void write_details(const Report& report, std::ostream& out);

/// One line for each plan, the cheapest first.
void write_plans(const std::vector<elf::Trial>& plans, std::ostream& out);

}  // namespace sframe_gen::cli
