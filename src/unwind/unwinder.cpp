#include <cstring>

#include "sframe_gen/unwind.hpp"
#include "support/endian.hpp"
#include "unwind/row_cache.hpp"
#include "unwind/section_reader.hpp"
#include "unwind/step.hpp"

namespace sframe_gen::unwind {
namespace {

/// The caller's memory, in the walked machine's byte order.
class ReadByCaller {
 public:
  ReadByCaller(const Walked& walked, Endian endian) : walked_(walked), swap_(endian != host_endian) {}

  bool word(std::uint64_t address, std::uint64_t& value) {
    std::uint64_t read = 0;
    if (walked_.read == nullptr || !walked_.read(walked_.context, address, &read)) return false;
    value = swap_ ? swapped(read) : read;
    return true;
  }

  /// Bit 55 says whose address it is, and so what the bits above the address were (Armv8-A, AddPAC).
  std::uint64_t plain(std::uint64_t address) const {
    const bool is_kernel = (address >> 55U & 1U) != 0;
    return is_kernel ? address | walked_.signature_mask : address & ~walked_.signature_mask;
  }

 private:
  const Walked& walked_;
  bool swap_;
};

bool holds(const Module& module, std::uint64_t pc) {
  return module.begin <= pc && pc < module.end;
}

/// In ascending modules by halves. If the one that they lead to does not hold `pc`, the modules may stand in another
/// order, or the walk is over.
const Module* find_module(std::span<const Module> modules, std::uint64_t pc) {
  const Module* first = modules.data();
  for (std::size_t count = modules.size(); count > 1; count -= count / 2) {
    if (first[count / 2].begin <= pc) first += count / 2;
  }
  if (!modules.empty() && holds(*first, pc)) return first;
  for (const Module& module : modules) {
    if (holds(module, pc)) return &module;
  }
  return nullptr;
}

}  // namespace

Unwinder::Unwinder(const Walked& walked) noexcept : walked_(walked) {
  for (const Module& module : walked.modules) {
    if (module.view == nullptr || !module.view->is_open()) continue;
    abi_ = &sframe::traits_of(module.view->abi());
    break;
  }
}

Stop Unwinder::step(Registers& registers) const noexcept {
  const std::uint64_t pc = registers.pc - (registers.pc_is_exact != 0 ? 0 : 1);
  const RowCache cache(walked_.rows);
  PackedRow row;
  RowCache::Found unused;
  if (!cache.find(pc, 0, row, unused)) {
    const Module* const module = find_module(walked_.modules, pc);
    if (module == nullptr) return Stop::NoModule;
    if (module->view == nullptr || !module->view->is_open()) return Stop::NoSection;
    if (module->view->abi() != abi_->abi) return Stop::BadSection;
    if (const Stop stop = find_row(*module->view, *abi_, pc - module->bias, row); stop != Stop::Stepped) return stop;
    cache.put(pc, row, 0);
  }
  if (abi_ == nullptr) return Stop::BadSection;
  ReadByCaller memory(walked_, abi_->endian);
  return apply(row, *abi_, memory, registers);
}

std::size_t Unwinder::walk(Registers& registers, std::span<std::uint64_t> pcs, Stop& stop) const noexcept {
  stop = Stop::Stepped;
  std::size_t count = 0;
  while (count < pcs.size()) {
    pcs.data()[count++] = registers.pc;
    if (count == pcs.size()) break;
    stop = step(registers);
    if (stop != Stop::Stepped) break;
  }
  return count;
}

const char* text_of(Stop stop) noexcept {
  switch (stop) {
    case Stop::Stepped:
      return "a frame with a caller";
    case Stop::Outermost:
      return "the outermost frame";
    case Stop::NoModule:
      return "a PC in no module";
    case Stop::NoSection:
      return "a module without a section";
    case Stop::NoRow:
      return "a PC that the section leaves out";
    case Stop::UnreadableMemory:
      return "memory that cannot be read";
    case Stop::UnknownRegister:
      return "a rule based on a register that is not known";
    case Stop::NoProgress:
      return "a caller's frame that is not above";
    case Stop::BadSection:
      return "a damaged section";
  }
  return "";
}

}  // namespace sframe_gen::unwind
