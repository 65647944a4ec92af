#include "rows/proof/described.hpp"

#include <algorithm>
#include <string>

#include "elf/machine.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::rows::proof {

void check_supported(const elf::Image& image, std::string_view option) {
  if (elf::machine_of(image).abi != sframe::Abi::Amd64)
    throw Refused(image.name(),
                  std::string(option) + " supports only x86-64, not " + elf::machine_name(image.header().e_machine));
  // Interrupts overwrite what is below the stack pointer there, and entries keep to no ABI.
  constexpr std::uint64_t upper_half = std::uint64_t{1} << 63U;
  const auto is_kernels = [](const Range& code) { return code.begin >= upper_half; };
  if (std::ranges::any_of(image.code(), is_kernels) || image.find_section(".modinfo") != nullptr)
    throw Refused(image.name(),
                  std::string(option) + " supports programs and libraries, not kernels and their modules");
  if (image.is_object()) throw Refused(image.name(), std::string(option) + " requires a linked file (link the object)");
}

std::vector<cfi::Function> described_functions(const cfi::FrameSource& source, cfi::RuleTable& rules) {
  std::vector<cfi::Function> functions;
  functions.reserve(source.size());
  cfi::FrameReader reader(source, rules);
  for (const auto& part : source.parts(1))
    reader.for_each_function(part, [&](const cfi::Function& function) { functions.push_back(function); });
  return functions;
}

}  // namespace sframe_gen::rows::proof
