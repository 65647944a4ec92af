#include "convert/plans.hpp"

#include <vector>

namespace sframe_gen::convert {

elf::Layout plan_layout(const elf::Image& image, std::uint64_t section_size, const elf::NewSection& added,
                        const Observer& observer) {
  if (!observer.plan) return elf::plan_layout(image, section_size, added);
  std::vector<TriedPlan> tried;
  const auto tell = [&] {
    for (const TriedPlan& plan : tried) observer.plan(plan);
  };
  try {
    elf::Layout layout = elf::plan_layout(image, section_size, added, &tried);
    tell();
    return layout;
  } catch (const Refused&) {
    tell();
    throw;
  }
}

}  // namespace sframe_gen::convert
