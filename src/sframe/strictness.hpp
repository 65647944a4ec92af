#pragma once

namespace sframe_gen::sframe {

/// Where the decoder takes what the specification would not have written.
struct Strictness {
  /// A row may start at the end of its function, where it covers nothing. GNU as writes one for a CFI directive behind
  /// the last instruction, and for a function of no bytes; libsframe of binutils 2.46 and later takes it.
  bool allow_row_at_end = true;
  /// Functions may overlap: for a relocatable file, where relocations have yet to say what the starts are.
  bool allow_overlap = false;
};

}  // namespace sframe_gen::sframe
