#include "convert/plans.hpp"

#include <vector>

namespace sframe_gen::convert {

elf::Layout plan_layout(const elf::Image& image, std::uint64_t section_size, const elf::NewSection& added,
                        const Observer& observer) {
  if (!observer.plan) return elf::plan_layout(image, section_size, added);
  std::vector<elf::Trial> trials;
  const auto tell = [&] {
    for (const auto& [plan, outcome, possible, taken] : trials) observer.plan({plan, outcome, possible, taken});
  };
  try {
    elf::Layout layout = elf::plan_layout(image, section_size, added, &trials);
    tell();
    return layout;
  } catch (const Refused&) {
    tell();
    throw;
  }
}

}  // namespace sframe_gen::convert
