#include "sframe_gen/lookup.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "sframe/format.hpp"

namespace sframe_gen::sframe {
namespace {

bool holds(const Function& function, std::uint64_t pc) {
  return pc >= function.start && pc - function.start < function.size;
}

}  // namespace

const Function* find_function(const Section& section, std::uint64_t pc) {
  const auto& functions = section.functions;
  if ((section.flags & flag::sorted) == 0) {
    const auto found = std::ranges::find_if(functions, [&](const Function& function) { return holds(function, pc); });
    return found == functions.end() ? nullptr : &*found;
  }
  auto found = std::ranges::upper_bound(functions, pc, {}, &Function::start);
  // A function of no bytes may share its start with a real one, or stand inside it; it holds no pc.
  while (found != functions.begin() && std::prev(found)->size == 0) --found;
  if (found == functions.begin()) return nullptr;
  --found;
  return holds(*found, pc) ? &*found : nullptr;
}

bool is_outermost_throughout(const Function& function, Version version) {
  return version == Version::V3 && function.type == DescriptorType::Default && function.rows.empty();
}

bool has_bit_mask_rows(const Function& function) {
  return function.pc_type == PcType::Mask && function.repeat_size == 0;
}

std::uint64_t block_size(const Function& function) {
  if (function.pc_type == PcType::Increment) return function.size;
  assert(!has_bit_mask_rows(function));
  return function.repeat_size;
}

const Row* find_row(const Function& function, std::uint64_t pc_offset) {
  if (pc_offset >= function.size) return nullptr;
  if (has_bit_mask_rows(function)) {
    const auto found = std::find_if(function.rows.rbegin(), function.rows.rend(),
                                    [&](const Row& row) { return (pc_offset & row.pc_offset) >= row.pc_offset; });
    return found == function.rows.rend() ? nullptr : &*found;
  }
  const auto behind = std::ranges::upper_bound(function.rows, pc_offset % block_size(function), {}, &Row::pc_offset);
  return behind == function.rows.begin() ? nullptr : &*std::prev(behind);
}

}  // namespace sframe_gen::sframe
