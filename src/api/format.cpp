#include "sframe_gen/format.hpp"

#include <algorithm>

#include "readers/judge.hpp"

namespace sframe_gen {

std::span<const ReaderTarget> reader_targets() {
  return readers::known_targets();
}

const ReaderTarget* find_reader_target(std::string_view name) {
  const auto targets = reader_targets();
  const auto found = std::ranges::find(targets, name, &ReaderTarget::name);
  return found == targets.end() ? nullptr : &*found;
}

}  // namespace sframe_gen
