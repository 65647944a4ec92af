#pragma once

#include <functional>

#include "elf/image.hpp"
#include "elf/plan/layout.hpp"
#include "elf/undo/undo_record.hpp"
#include "files/regions.hpp"
#include "support/digest.hpp"

namespace sframe_gen::elf {

/// Returns what gives back `input` from the output that has `contents`.
UndoRecord make_undo(const Image& input, const Layout& layout, const files::Regions& contents);

/// Puts that at the end of `contents`, which are complete otherwise, into the section that the layout has for it.
/// `original` returns what has seen the bytes of `input`; it is called last, as it may have to wait.
void append_undo(const Image& input, const Layout& layout, const std::function<Digester()>& original,
                 files::Regions& contents);

}  // namespace sframe_gen::elf
