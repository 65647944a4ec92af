// Any bytes as a Go program. The table of its functions is read twice, by what makes rows and by what judges them, and
// both find the same callers.

#include <utility>

#include "elf/go_table.hpp"
#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "rows/go/functions.hpp"
#include "target.hpp"
#include "verify/go_frames.hpp"

namespace sframe_gen::fuzz {

namespace {

verify::Caller caller_of(const cfi::Rules& rules, std::uint64_t pc, const sframe::AbiTraits& abi) {
  const verify::SyntheticContext context(pc, abi);
  const auto* const cfa = std::get_if<cfi::Formula>(&rules.cfa);
  require(cfa != nullptr && cfa->base && !cfa->dereferenced, "the CFA is some bytes from a register");
  verify::Caller caller;
  caller.exists = !std::holds_alternative<cfi::Undefined>(rules.return_address);
  const std::uint64_t top =
      context.register_value(static_cast<std::uint64_t>(*cfa->base)) + static_cast<std::uint64_t>(cfa->offset);
  const auto value = [&](const cfi::RegisterRule& rule, std::uint64_t column) {
    const auto* const saved = std::get_if<cfi::Formula>(&rule);
    if (saved == nullptr) return context.register_value(column);
    return context.read_memory(top + static_cast<std::uint64_t>(saved->offset));
  };
  caller.stack_pointer = top;
  caller.return_address = value(rules.return_address, abi.return_address);
  caller.frame_pointer = value(rules.frame_pointer, abi.frame_pointer);
  return caller;
}

void check(const rows::go::GoFunction& function, const verify::GoFrames& frames, const sframe::AbiTraits& abi) {
  require(function.rows.empty() == function.gap.has_value(), "a function has rows, or a reason for none");
  for (std::size_t i = 0; i < function.rows.size(); ++i) {
    const std::uint32_t at = function.rows[i].pc_offset;
    require(at < function.size && (i == 0 ? at == 0 : at > function.rows[i - 1].pc_offset),
            "rows ascend in a function");
    const auto judged = frames.answer_at(function.start + at);
    require(judged && judged->caller, "the other reader finds a caller");
    require(same_caller(*judged->caller, caller_of(function.rows[i].rules, function.start + at, abi)),
            "both readers find the same caller");
  }
}

}  // namespace

void go(Bytes input) {
  succeeds([&] {
    const elf::Image image = elf::Image::of_bytes(input, "fuzz");
    auto table = elf::GoTable::find(image);
    if (!table) return;
    const sframe::AbiTraits& abi = sframe::traits_of(elf::machine_of(image).abi);
    const verify::GoFrames frames(image, abi);
    const rows::go::Functions functions(image, std::move(*table));
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const rows::go::GoFunction function = functions.function(i);
      const elf::GoTable::Entry& described = functions.table().entries()[i];
      require(function.start == described.start && function.size <= described.end - described.start,
              "a function is where the table has it");
      check(function, frames, abi);
    }
  });
}

}  // namespace sframe_gen::fuzz
