#pragma once

#include <vector>

#include "emit/split_functions.hpp"

namespace sframe_gen::test {

/// What becomes of one function, spelled out.
struct Spelled {
  std::vector<sframe::Fde> fdes;
  std::vector<Hole> holes;
};

inline Spelled select(const cfi::FunctionFrames& frames, const emit::Dialect& dialect) {
  cfi::NumberedRules rules;
  emit::Selector selector(dialect, rules);
  const emit::Selected& selected = selector.select(frames);
  Spelled spelled{{}, selected.holes};
  for (const emit::NumberedFde& fde : selected.fdes) spelled.fdes.push_back(emit::spelled_out(fde, selector.rules()));
  return spelled;
}

}  // namespace sframe_gen::test
