#include "code/described.hpp"

#include <string>

#include "elf/machine.hpp"
#include "sframe_gen/error.hpp"

namespace sframe_gen::code {

void check_supported(const elf::Image& image, std::string_view option) {
  if (elf::machine_of(image).abi != sframe::Abi::Amd64)
    throw Refused(image.name(),
                  std::string(option) + " supports only x86-64, not " + elf::machine_name(image.header().e_machine));
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

}  // namespace sframe_gen::code
