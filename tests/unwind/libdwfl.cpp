#include "libdwfl.hpp"

#include <cstdlib>

namespace sframe_gen::unwind {

namespace {

constexpr unsigned general_registers = 16;
constexpr int return_address = 16;  ///< the column of DWARF that the PC is given as

/// Files alone are asked, as for .sframe: no debug information beside them, or from elsewhere.
int find_no_debuginfo(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
  return -1;
}

constexpr Dwfl_Callbacks callbacks{dwfl_linux_proc_find_elf, find_no_debuginfo, nullptr, nullptr};

}  // namespace

Libdwfl::Libdwfl(int pid, ReadMemory read, void* context)
    : pid_(pid), read_(read), context_(context), dwfl_(dwfl_begin(&callbacks)) {}

Libdwfl::~Libdwfl() {
  dwfl_end(dwfl_);
}

bool Libdwfl::find_files() {
  dwfl_report_begin(dwfl_);
  const bool found = dwfl_linux_proc_report(dwfl_, pid_) == 0;
  dwfl_report_end(dwfl_, nullptr, nullptr);
  if (found && !is_attached_) is_attached_ = dwfl_attach_state(dwfl_, nullptr, pid_, &thread_callbacks, this);
  return found && is_attached_;
}

std::size_t Libdwfl::walk(const Registers& registers, std::span<std::uint64_t> pcs, const char*& why) {
  registers_ = &registers;
  pcs_ = pcs;
  count_ = 0;
  why = dwfl_getthread_frames(dwfl_, pid_, add_frame, this) < 0 ? dwfl_errmsg(-1) : nullptr;
  return count_;
}

bool Libdwfl::has_rules(std::uint64_t pc) const {
  Dwfl_Module* const module = dwfl_addrmodule(dwfl_, pc);
  if (module == nullptr) return false;
  for (const auto find_rules : {dwfl_module_eh_cfi, dwfl_module_dwarf_cfi}) {
    Dwarf_Addr bias = 0;
    Dwarf_CFI* const rules = find_rules(module, &bias);
    Dwarf_Frame* frame = nullptr;
    if (rules == nullptr || dwarf_cfi_addrframe(rules, pc - bias, &frame) != 0) continue;
    std::free(frame);
    return true;
  }
  return false;
}

pid_t Libdwfl::next_thread(Dwfl*, void* self, void** argument) {
  if (*argument != nullptr) return 0;
  *argument = self;
  return static_cast<Libdwfl*>(self)->pid_;
}

bool Libdwfl::get_thread(Dwfl*, pid_t, void* self, void** argument) {
  *argument = self;
  return true;
}

bool Libdwfl::read_word(Dwfl*, Dwarf_Addr address, Dwarf_Word* word, void* self) {
  const auto& walker = *static_cast<const Libdwfl*>(self);
  return walker.read_(walker.context_, address, word);
}

bool Libdwfl::set_registers(Dwfl_Thread* thread, void* self) {
  const Registers& registers = *static_cast<const Libdwfl*>(self)->registers_;
  for (unsigned number = 0; number < general_registers; ++number) {
    const Dwarf_Word value = registers.values[number];
    if (registers.knows(number) && !dwfl_thread_state_registers(thread, static_cast<int>(number), 1, &value))
      return false;
  }
  const Dwarf_Word pc = registers.pc;
  return dwfl_thread_state_registers(thread, return_address, 1, &pc);
}

int Libdwfl::add_frame(Dwfl_Frame* frame, void* self) {
  auto& walker = *static_cast<Libdwfl*>(self);
  Dwarf_Addr pc = 0;
  if (walker.count_ == walker.pcs_.size() || !dwfl_frame_pc(frame, &pc, nullptr)) return DWARF_CB_ABORT;
  walker.pcs_[walker.count_++] = pc;
  return DWARF_CB_OK;
}

}  // namespace sframe_gen::unwind
