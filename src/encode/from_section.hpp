#pragma once

#include <string>
#include <vector>

#include "emit/dialect.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::encode {

/// Returns the functions of a decoded section as FDEs that `dialect` can represent, ascending: each PC has the row that
/// it has in `section`. Blocks that repeat stay so, where the version has them; other functions may become several
/// FDEs. Throws CannotRepresent, naming `file`, for a row that the dialect cannot represent.
std::vector<sframe::Fde> fdes_of(const sframe::Section& section, const emit::Dialect& dialect, const std::string& file);

}  // namespace sframe_gen::encode
