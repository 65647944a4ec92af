#include "trace/walk/dwarf_walker.hpp"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "sframe_gen/error.hpp"
#include "support/text.hpp"

namespace sframe_gen::trace {

namespace {

/// Each keeps a file open.
constexpr std::size_t most_modules = 500;

/// A descriptor of its own for libdwfl: it closes what it is given. -1: none.
int descriptor_of(const elf::Image& image, bool is_file) {
  if (is_file) return ::fcntl(image.descriptor(), F_DUPFD_CLOEXEC, 0);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  const int descriptor = ::memfd_create("image", MFD_CLOEXEC);
  const auto bytes = image.file_bytes();
  if (descriptor < 0 || ::write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size())) {
    return descriptor;
  }
  ::close(descriptor);
  return -1;
}

/// Where only one file's information counts, no other is looked for, least of all in the network.
int find_no_debug_file(Dwfl_Module* /*module*/, void** /*user_data*/, const char* /*name*/, Dwarf_Addr /*base*/,
                       const char* /*path*/, const char* /*link*/, GElf_Word /*checksum*/, char** /*found*/) {
  return -1;
}

std::string why_no_rules(AddressSpace& space, std::uint64_t pc) {
  const AddressSpace::Place place = space.place_of(pc);
  if (place.mapping == nullptr) return std::string(unwind::text_of(unwind::Stop::NoModule)) + " (" + hex(pc) + ")";
  const std::string_view why = place.file == nullptr ? place.why_no_file : "no call frame information";
  return std::string(place.name) + ": " + printable(why) + " (" + hex(place.address) + ")";
}

int find_no_file(Dwfl_Module* /*module*/, void** /*user_data*/, const char* /*name*/, Dwarf_Addr /*base*/,
                 char** /*path*/, Elf** /*elf*/) {
  return -1;
}

}  // namespace

struct DwarfWalker::Walk {
  AddressSpace& space;
  const unwind::Registers& registers;
  unwind::ReadMemory read = nullptr;
  void* context = nullptr;
  DwarfStack stack{};
  Endian endian = host_endian;
  std::uint16_t machine = EM_NONE;
  std::uint64_t no_address = 0;  ///< bits of a PC that may be a signature
  bool overlaps = false;         ///< something that another walk was about stands in the way
  bool ends = false;             ///< the last frame's rules say that it has no caller
};

/// What libdwfl asks for, of the walk that goes on.
struct DwarfWalker::Callbacks {
  static pid_t next_thread(Dwfl* /*dwfl*/, void* /*walker*/, void** /*thread*/) { return 0; }

  static bool get_thread(Dwfl* /*dwfl*/, pid_t /*thread*/, void* walker, void** thread) {
    *thread = walker;
    return true;
  }

  static bool read(Dwfl* /*dwfl*/, Dwarf_Addr address, Dwarf_Word* word, void* walker) {
    Walk& walk = *static_cast<DwarfWalker*>(walker)->now_;
    std::byte bytes[sizeof *word];
    if (!walk.read(walk.context, address, bytes)) {
      walk.stack.memory_ends = true;
      return false;
    }
    *word = load<std::uint64_t>(bytes, walk.endian);
    return true;
  }

  static bool set_registers(Dwfl_Thread* thread, void* walker) {
    const Walk& walk = *static_cast<DwarfWalker*>(walker)->now_;
    const unwind::Registers& registers = walk.registers;
    for (std::uint32_t number = 0; number < unwind::Registers::count; ++number) {
      const Dwarf_Word value = registers.values[number];
      if (registers.knows(number) && !dwfl_thread_state_registers(thread, static_cast<int>(number), 1, &value)) {
        return false;
      }
    }
    dwfl_thread_state_register_pc(thread, registers.pc);
    // x86-64 counts the PC as a register, and the rules of a lazy PLT compute with it.
    constexpr int x86_64_pc = 16;
    const Dwarf_Word pc = registers.pc;
    return walk.machine != EM_X86_64 || dwfl_thread_state_registers(thread, x86_64_pc, 1, &pc);
  }

  static int take_frame(Dwfl_Frame* frame, void* walker) {
    auto& self = *static_cast<DwarfWalker*>(walker);
    return self.take_frame(*self.now_, frame);
  }
};

DwarfWalker::DwarfWalker(std::size_t most_frames) : most_frames_(most_frames) {
  begin_anew();
}

DwarfWalker::~DwarfWalker() {
  dwfl_end(dwfl_);
}

void DwarfWalker::begin_anew() {
  static const Dwfl_Callbacks callbacks{find_no_file, find_no_debug_file, dwfl_offline_section_address, nullptr};
  dwfl_end(dwfl_);
  modules_.clear();
  is_attached_ = false;
  dwfl_ = dwfl_begin(&callbacks);
  if (dwfl_ == nullptr) throw SystemFailure("libdwfl", "begin", ENOMEM);
}

DwarfStack DwarfWalker::walk(AddressSpace& space, const unwind::Registers& registers, unwind::ReadMemory read,
                             void* context) {
  if (modules_.size() > most_modules) begin_anew();
  for (const bool is_first : {true, false}) {
    Walk walk{space, registers, read, context};
    walk_once(walk);
    if (!walk.overlaps) return std::move(walk.stack);
    if (is_first) begin_anew();
  }
  return {{Frame{registers.pc}}, "files lie over each other"};
}

void DwarfWalker::walk_once(Walk& walk) {
  DwarfStack& stack = walk.stack;
  add_module(walk, walk.registers.pc);
  if (walk.overlaps) return;
  now_ = &walk;
  // libdwfl learns from the first file what machine it is.
  if (modules_.empty() || !attach(walk)) {
    stack.frames.push_back({walk.registers.pc});
    stack.cut = modules_.empty() ? why_no_rules(walk.space, walk.registers.pc) : dwfl_errmsg(-1);
    return;
  }
  const int result = dwfl_getthread_frames(dwfl_, 1, Callbacks::take_frame, this);
  // Where it cannot read a return address, it ends as at the outermost frame.
  const bool is_whole = result == DWARF_CB_OK && (walk.ends || !stack.memory_ends);
  if (is_whole || stack.cut) return;
  const std::uint64_t last = stack.frames.empty() ? 0 : stack.frames.back().pc;
  stack.cut = stack.memory_ends ? "memory that cannot be read" : std::string(dwfl_errmsg(-1)) + " (" + hex(last) + ")";
}

bool DwarfWalker::attach(Walk& walk) {
  static const Dwfl_Thread_Callbacks callbacks{
      Callbacks::next_thread, Callbacks::get_thread, Callbacks::read, Callbacks::set_registers, nullptr, nullptr};
  const elf::Image& first = modules_.front().file->image();
  walk.endian = first.endian();
  walk.machine = first.header().e_machine;
  if (walk.machine == EM_AARCH64) walk.no_address = signature_mask;
  is_attached_ = is_attached_ || dwfl_attach_state(dwfl_, nullptr, 1, &callbacks, this);
  return is_attached_;
}

/// The file that `pc` leads to, where the address space says that it is.
void DwarfWalker::add_module(Walk& walk, std::uint64_t pc) {
  const AddressSpace::Place place = walk.space.place_of(pc);
  if (place.file == nullptr) return;
  const std::uint64_t bias = pc - place.address;
  void** known = nullptr;
  if (Dwfl_Module* const there = dwfl_addrmodule(dwfl_, pc)) {
    dwfl_module_info(there, &known, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    const auto* const module = static_cast<const Module*>(*known);
    walk.overlaps = walk.overlaps || module == nullptr || module->file != place.file || module->bias != bias;
    return;
  }
  const int descriptor = descriptor_of(place.file->image(), place.mapping->path != "[vdso]");
  if (descriptor < 0) return;
  // libdwfl takes modules of one name for one.
  const std::string name = std::to_string(modules_.size());
  Dwfl_Module* const added = dwfl_report_elf(dwfl_, name.c_str(), name.c_str(), descriptor, bias, true);
  if (added == nullptr) {
    ::close(descriptor);
    return;
  }
  dwfl_module_info(added, &known, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  *known = &modules_.emplace_back(Module{place.file, bias});
  walk.overlaps = walk.overlaps || dwfl_addrmodule(dwfl_, pc) != added;
}

int DwarfWalker::take_frame(Walk& walk, Dwfl_Frame* frame) {
  DwarfStack& stack = walk.stack;
  Dwarf_Addr pc = 0;
  if (!dwfl_frame_pc(frame, &pc, nullptr)) return DWARF_CB_ABORT;
  const bool is_first = stack.frames.empty();
  const std::uint64_t address = pc & ~walk.no_address;
  Frame& added = stack.frames.emplace_back(Frame{address, is_first});
  added.location = walk.space.location_of(added.instruction());
  stack.memory_ends = false;
  if (stack.frames.size() == most_frames_) {
    stack.cut = "as many frames as were asked for";
  } else if (address != pc) {
    stack.cut = "a signed return address, which elfutils does not read";
  }
  if (stack.cut) return DWARF_CB_ABORT;
  // Which of the two counts, libdwfl knows when it has asked for the next frame.
  if (!is_first) add_module(walk, pc - 1);
  add_module(walk, pc);
  if (walk.overlaps) return DWARF_CB_ABORT;
  bool is_exact = false;
  dwfl_frame_pc(frame, &pc, &is_exact);
  const std::uint64_t instruction = is_exact ? pc : pc - 1;
  if (find_rules(walk, instruction)) return DWARF_CB_OK;
  stack.cut = why_no_rules(walk.space, instruction);
  return DWARF_CB_ABORT;
}

bool DwarfWalker::find_rules(Walk& walk, std::uint64_t pc) {
  // libdwfl may know a file there from the walk of another program.
  const bool is_in_file = walk.space.place_of(pc).file != nullptr;
  Dwfl_Module* const module = is_in_file ? dwfl_addrmodule(dwfl_, pc) : nullptr;
  if (module == nullptr) return false;
  Dwarf_Addr bias = 0;
  for (const auto find : {dwfl_module_eh_cfi, dwfl_module_dwarf_cfi}) {
    Dwarf_CFI* const information = find(module, &bias);
    Dwarf_Frame* rules = nullptr;
    if (information == nullptr || dwarf_cfi_addrframe(information, pc - bias, &rules) != 0) continue;
    const std::unique_ptr<Dwarf_Frame, decltype(&std::free)> owned(rules, &std::free);
    const int return_address = dwarf_frame_info(rules, nullptr, nullptr, nullptr);
    Dwarf_Op room[3];  // NOLINT(modernize-avoid-c-arrays): as libdw wants it
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    // No operation in the room that it was given: undefined.
    walk.ends =
        dwarf_frame_register(rules, return_address, room, &operations, &count) == 0 && count == 0 && operations == room;
    return true;
  }
  return false;
}

}  // namespace sframe_gen::trace
