#include "sframe_gen/unwind.hpp"

#include <cstring>

#include "support/endian.hpp"
#include "unwind/row_cache.hpp"
#include "unwind/walk.hpp"

namespace sframe_gen::unwind {
namespace {

/// The caller's memory, in the walked machine's byte order.
class ReadByCaller {
 public:
  ReadByCaller(const Walked& walked, const sframe::AbiTraits* abi) : walked_(walked) { use(abi); }

  void use(const sframe::AbiTraits* abi) { swap_ = abi != nullptr && abi->endian != host_endian; }

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
  bool swap_ = false;
};

/// Returns the module that holds `pc`, or null. Modules that do not ascend are searched one by one.
const Module* find_module(std::span<const Module> modules, std::uint64_t pc) {
  const auto is_in = [pc](const Module& module) { return module.begin <= pc && pc < module.end; };
  if (modules.empty()) return nullptr;
  if (const Module* const last = last_begin(modules, pc); is_in(*last)) return last;
  for (const Module& module : modules) {
    if (is_in(module)) return &module;
  }
  return nullptr;
}

/// Finds rows in the modules that the caller names.
class GivenRows {
 public:
  /// `abi` is that of all sections, if `has_section`. A fallback may change all three, as a StackWalker's may.
  GivenRows(const Walked& walked, const sframe::Abi& abi, const bool& has_section)
      : walked_(walked), abi_now_(abi), has_section_now_(has_section), remembered_(walked.rows) {
    look_at_abi();
  }

  using Place = RowCache::Place;

  /// Null: no module has a section.
  const sframe::AbiTraits* known_abi() const { return abi_; }
  const sframe::AbiTraits& abi() const { return abi_ != nullptr ? *abi_ : sframe::default_abi; }

  Stop find(std::uint64_t pc, Place& /*place*/, PackedRow& row) const {
    const auto generation = static_cast<std::uint32_t>(walked_.generation);
    if (remembered_.find_tagged(pc, generation, row)) return abi_ != nullptr ? Stop::Stepped : Stop::BadSection;
    const Module* const module = find_module(walked_.modules, pc);
    if (module == nullptr) return Stop::NoModule;
    const Stop stop = row_in_sections(module->view, module->second_view, abi(), pc - module->bias, row);
    if (stop == Stop::Stepped) remembered_.put(pc, row, generation);
    return stop;
  }

  /// Signal frames are a matter of the fallback: code may not be among what can be read.
  Stop step_without_row(Stop why, ReadByCaller& memory, Registers& registers) {
    if (walked_.fallback == nullptr) return why;
    Registers caller = registers;
    const Stop stop = walked_.fallback(walked_.context, caller, why);
    look_at_abi();
    memory.use(abi_);
    if (stop != Stop::Stepped) return stop;
    const std::uint32_t stack_pointer = abi().stack_pointer;
    if (caller.pc == registers.pc && caller.values[stack_pointer] == registers.values[stack_pointer])
      return Stop::NoProgress;
    registers = caller;
    return stop;
  }

 private:
  void look_at_abi() { abi_ = has_section_now_ ? &sframe::traits_of(abi_now_) : nullptr; }

  const Walked& walked_;
  const sframe::Abi& abi_now_;
  const bool& has_section_now_;
  const sframe::AbiTraits* abi_ = nullptr;
  RowCache remembered_;
};

}  // namespace

Unwinder::Unwinder(const Walked& walked) noexcept : walked_(walked) {
  for (const Module& module : walked.modules) {
    for (const sframe::SectionView* const view : {module.view, module.second_view}) {
      if (view == nullptr || !view->is_open()) continue;
      abi_ = view->abi();
      has_section_ = true;
      return;
    }
  }
}

Stop Unwinder::step(Registers& registers) const noexcept {
  GivenRows rows(walked_, abi_, has_section_);
  ReadByCaller memory(walked_, rows.known_abi());
  return Walk(rows, memory, registers, std::span<std::uint64_t>()).step();
}

std::size_t Unwinder::walk(Registers& registers, std::span<std::uint64_t> pcs, Stop& stop) const noexcept {
  GivenRows rows(walked_, abi_, has_section_);
  ReadByCaller memory(walked_, rows.known_abi());
  return Walk(rows, memory, registers, pcs).run(stop);
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
