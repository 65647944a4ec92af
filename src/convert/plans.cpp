#include "convert/plans.hpp"

#include <vector>

namespace sframe_gen::convert {

elf::HeaderMoves header_moves(const ConvertOptions& options) {
  return options.move_headers ? elf::HeaderMoves::IfNeeded : elf::HeaderMoves::Never;
}

elf::Layout plan_layout(const elf::Image& image, std::uint64_t section_size, const elf::NewSection& added,
                        elf::HeaderMoves moves, const Observer& observer) {
  if (!observer.plan) return elf::plan_layout(image, section_size, added, moves);
  std::vector<TriedPlan> tried;
  const auto tell = [&] {
    for (const TriedPlan& plan : tried) observer.plan(plan);
  };
  try {
    elf::Layout layout = elf::plan_layout(image, section_size, added, moves, &tried);
    tell();
    return layout;
  } catch (const Refused&) {
    tell();
    throw;
  }
}

}  // namespace sframe_gen::convert
