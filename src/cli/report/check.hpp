#pragma once

#include <iosfwd>

#include "sframe_gen/check.hpp"

/// What readers make of a section.
namespace sframe_gen::cli {

/// A line a reader:
///
///     a.out: kernel accepts it
///     a.out: glibc refuses it: it is SFrame version 3 (.sframe+0x2); glibc takes version 2 only; --for=glibc helps
///
/// `quiet`: those that do not accept.
void write_verdicts(const CheckedSection& checked, bool quiet, std::ostream& out);

/// One JSON object on one line.
void write_json(const CheckedSection& checked, std::ostream& out);

}  // namespace sframe_gen::cli
