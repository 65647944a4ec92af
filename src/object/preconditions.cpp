#include "object/preconditions.hpp"

#include <algorithm>

#include "elf/machine.hpp"
#include "elf/preconditions.hpp"

namespace sframe_gen::object {

namespace {

/// gcc -flto without -ffat-lto-objects: the linker's plugin makes the machine code. Objects with both are as any other.
void check_has_code(const elf::Image& object) {
  const auto& sections = object.sections();
  const bool intermediate = std::ranges::any_of(sections, [](const elf::Section& section) {
    return section.name.starts_with(".gnu.lto_") || section.name == ".llvm.lto";
  });
  const bool described = object.find_section(".eh_frame") != nullptr || object.find_section(".debug_frame") != nullptr;
  if (intermediate && !described) {
    throw Refused(object.name(),
                  "holds compiler intermediate code (LTO) and no machine code that call frame information describes; "
                  "convert what it is linked into");
  }
}

}  // namespace

void check_describable(const elf::Image& object) {
  elf::machine_of(object);
  if (object.sections().empty()) throw Refused(object.name(), "is a relocatable object without sections");
  if (!object.segments().empty()) throw Refused(object.name(), "is a relocatable object with program headers");
  check_has_code(object);
}

void check_preconditions(const elf::Image& object, bool drop_signature) {
  check_describable(object);
  if (drop_signature && elf::has_module_signature(object)) return;
  elf::check_not_signed(object);
  elf::check_nothing_appended(object);
}

}  // namespace sframe_gen::object
