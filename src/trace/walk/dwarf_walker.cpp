#include "trace/walk/dwarf_walker.hpp"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "sframe_gen/error.hpp"
#include "support/text.hpp"
#include "trace/files/rights.hpp"
#include "trace/walk/kernel_registers.hpp"

namespace sframe_gen::trace::walk {

namespace {

/// Whether only users who may stop this program anyway can cut the file short.
bool is_of_trusted_user(const elf::Image& image) {
  struct stat status {};
  return ::fstat(image.descriptor(), &status) == 0 && is_trusted(status.st_uid);
}

/// A descriptor of its own for libdwfl: it closes what it is given, and maps it by itself. -1: none.
int descriptor_of(const elf::Image& image, bool is_file) {
  if (is_file && is_of_trusted_user(image))
    return ::fcntl(image.descriptor(), F_DUPFD_CLOEXEC, 0);  // NOLINT(cppcoreguidelines-pro-type-vararg)
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

int find_no_file(Dwfl_Module* /*module*/, void** /*user_data*/, const char* /*name*/, Dwarf_Addr /*base*/,
                 char** /*path*/, Elf** /*elf*/) {
  return -1;
}

/// Returns the addresses at which libdwfl would find the file (libdwfl/dwfl_report_elf.c).
std::pair<std::uint64_t, std::uint64_t> range_of(const elf::Image& image) {
  std::optional<std::uint64_t> begin;
  std::uint64_t end = 0;
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    if (!begin) begin = segment.p_vaddr & -segment.p_align;
    end = segment.p_vaddr + segment.p_memsz;
  }
  return {begin.value_or(0), end};
}

/// Each keeps a file open.
constexpr std::size_t most_files = 500;

std::string why_no_rules(AddressSpace& space, std::uint64_t pc) {
  const Location* const location = space.location_of(pc);
  if (location == nullptr) return std::string(unwind::text_of(unwind::Stop::NoModule)) + " (" + hex(pc) + ")";
  const std::string why = location->file() == nullptr ? location->why_not() : "no call frame information";
  return location->name() + ": " + printable(why) + " (" + hex(pc - location->bias) + ")";
}

}  // namespace

DwarfFiles::DwarfFiles() {
  static const Dwfl_Callbacks callbacks{find_no_file, find_no_debug_file, dwfl_offline_section_address, nullptr};
  dwfl_ = dwfl_begin(&callbacks);
  if (dwfl_ == nullptr) throw SystemFailure("libdwfl", "begin", ENOMEM);
}

DwarfFiles::~DwarfFiles() {
  dwfl_end(dwfl_);
}

bool DwarfFiles::is_free(const File& file) const {
  return std::ranges::none_of(files_,
                              [&](const File& other) { return file.begin < other.end && other.begin < file.end; });
}

bool DwarfFiles::put(AddressSpace& space, std::uint64_t pc) {
  const Location* const location = space.location_of(pc);
  const std::shared_ptr<const CodeFile> file_there = location == nullptr ? nullptr : location->file();
  if (!file_there) return true;
  const std::uint64_t bias = location->bias;
  if (Dwfl_Module* const there = dwfl_addrmodule(dwfl_, pc)) {
    void** known = nullptr;
    dwfl_module_info(there, &known, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    const auto* const file = static_cast<const File*>(*known);
    return file != nullptr && file->file == file_there && file->bias == bias;
  }
  const auto [begin, end] = range_of(file_there->image());
  const File file{file_there, bias, begin + bias, end + bias};
  // It finds nothing by the file there, whatever it is told.
  if (pc < file.begin || pc >= file.end) return true;
  return is_free(file) && report(file, location->name() != "[vdso]" && !location->is_of_no_file(), pc);
}

bool DwarfFiles::report(const File& file, bool is_file, std::uint64_t pc) {
  const int descriptor = descriptor_of(file.file->image(), is_file);
  if (descriptor < 0) return true;
  // libdwfl takes modules of one name for one.
  const std::string name = std::to_string(files_.size());
  Dwfl_Module* const added = dwfl_report_elf(dwfl_, name.c_str(), name.c_str(), descriptor, file.bias, true);
  if (added == nullptr) {
    ::close(descriptor);
    return true;
  }
  void** known = nullptr;
  dwfl_module_info(added, &known, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  *known = &files_.emplace_back(file);
  return dwfl_addrmodule(dwfl_, pc) == added;
}

struct DwarfWalker::Walk {
  AddressSpace& space;
  unwind::Registers from;  ///< of the frame that libdwfl begins with
  unwind::ReadMemory read = nullptr;
  void* context = nullptr;
  DwarfStack stack{};
  DwarfFiles* files = nullptr;
  Endian endian = host_endian;
  std::uint16_t machine = EM_NONE;
  std::uint64_t no_address = 0;  ///< bits of a PC that may be a signature
  bool begins = true;            ///< the next frame is the one that libdwfl begins with
  bool goes_on = false;          ///< from there, with other files
  bool is_interrupted = true;    ///< the next frame: a signal handler was called there, or it is the first
  bool ends = false;             ///< the last frame's rules say that it has no caller

  bool add_frame(std::uint64_t pc, std::size_t most_frames);
  void go_on_from(Dwfl_Frame* frame, std::uint64_t instruction);
  bool find_rules(std::uint64_t pc);
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
    const unwind::Registers& registers = walk.from;
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
    if (walk.machine != EM_X86_64 || registers.knows(x86_64_pc)) return true;
    return dwfl_thread_state_registers(thread, x86_64_pc, 1, &pc);
  }

  static int take_frame(Dwfl_Frame* frame, void* walker) {
    auto& self = *static_cast<DwarfWalker*>(walker);
    return self.take_frame(*self.now_, frame);
  }
};

/// Returns the set of files in which libdwfl finds the one at `pc`.
DwarfFiles& DwarfWalker::files_at(AddressSpace& space, std::uint64_t pc) {
  const auto add = [](std::size_t sum, const DwarfFiles& files) { return sum + files.count(); };
  if (std::accumulate(files_.begin(), files_.end(), std::size_t{0}, add) > most_files) files_.clear();
  for (DwarfFiles& files : files_) {
    if (files.put(space, pc)) return files;
  }
  files_.emplace_back().put(space, pc);
  return files_.back();
}

DwarfStack DwarfWalker::walk(AddressSpace& space, const unwind::Registers& registers, unwind::ReadMemory read,
                             void* context) {
  Walk walk{space, registers, read, context};
  do walk_on(walk);
  while (walk.goes_on);
  return std::move(walk.stack);
}

/// To the end, or to a frame whose file lies over another.
void DwarfWalker::walk_on(Walk& walk) {
  DwarfStack& stack = walk.stack;
  walk.files = &files_at(walk.space, walk.from.pc);
  walk.begins = true;
  walk.goes_on = false;
  now_ = &walk;
  // libdwfl learns from the first file what machine it is.
  if (walk.files->count() == 0 || !attach(walk)) {
    if (stack.frames.empty()) stack.frames.push_back({walk.from.pc});
    stack.cut = walk.files->count() == 0 ? why_no_rules(walk.space, walk.from.pc) : dwfl_errmsg(-1);
    return;
  }
  const int result = dwfl_getthread_frames(walk.files->dwfl(), 1, Callbacks::take_frame, this);
  // Where it cannot read a return address, it ends as at the outermost frame.
  const bool is_whole = result == DWARF_CB_OK && (walk.ends || !stack.memory_ends);
  if (is_whole || stack.cut || walk.goes_on) return;
  const std::uint64_t last = stack.frames.empty() ? 0 : stack.frames.back().pc;
  stack.cut = stack.memory_ends ? "memory that cannot be read" : std::string(dwfl_errmsg(-1)) + " (" + hex(last) + ")";
}

bool DwarfWalker::attach(Walk& walk) {
  static const Dwfl_Thread_Callbacks callbacks{
      Callbacks::next_thread, Callbacks::get_thread, Callbacks::read, Callbacks::set_registers, nullptr, nullptr};
  const elf::Image& first = walk.files->first()->image();
  walk.endian = first.endian();
  walk.machine = first.header().e_machine;
  if (walk.machine == EM_AARCH64) walk.no_address = signature_mask;
  bool& is_attached = walk.files->is_attached;
  is_attached = is_attached || dwfl_attach_state(walk.files->dwfl(), nullptr, 1, &callbacks, this);
  return is_attached;
}

/// False: the stack ends there.
bool DwarfWalker::Walk::add_frame(std::uint64_t pc, std::size_t most_frames) {
  const bool is_first = stack.frames.empty();
  const std::uint64_t address = pc & ~no_address;
  Frame& added = stack.frames.emplace_back(Frame{address, is_first});
  added.location = space.location_of(added.instruction());
  stack.memory_ends = false;
  if (stack.frames.size() == most_frames) {
    stack.cut = "limit of frames reached (--frames)";
  } else if (address != pc) {
    stack.cut = "a signed return address, which elfutils does not read";
  }
  return !stack.cut;
}

/// From this frame, whose instruction is at `instruction`.
void DwarfWalker::Walk::go_on_from(Dwfl_Frame* frame, std::uint64_t instruction) {
  from = {};
  from.pc = instruction;
  for (std::uint32_t number = 0; number < unwind::Registers::count; ++number) {
    Dwarf_Word value = 0;
    if (dwfl_frame_reg(frame, number, &value) == 0) from.set(number, value);
  }
  goes_on = true;
}

int DwarfWalker::take_frame(Walk& walk, Dwfl_Frame* frame) {
  DwarfStack& stack = walk.stack;
  Dwarf_Addr pc = 0;
  if (!dwfl_frame_pc(frame, &pc, nullptr)) return DWARF_CB_ABORT;
  const bool is_known = walk.begins && !stack.frames.empty();
  if (!is_known && !walk.add_frame(pc, most_frames_)) return DWARF_CB_ABORT;
  // Where libdwfl looks for rules.
  const std::uint64_t place = walk.begins || walk.is_interrupted ? pc : pc - 1;
  if (!walk.begins && !walk.files->put(walk.space, place)) {
    walk.go_on_from(frame, place);
    return DWARF_CB_ABORT;
  }
  walk.begins = false;
  bool is_exact = false;
  dwfl_frame_pc(frame, &pc, &is_exact);
  const std::uint64_t instruction = is_exact ? pc : pc - 1;
  if (walk.find_rules(instruction)) return DWARF_CB_OK;
  stack.cut = why_no_rules(walk.space, instruction);
  return DWARF_CB_ABORT;
}

bool DwarfWalker::Walk::find_rules(std::uint64_t pc) {
  // libdwfl may know a file there from the walk of another program.
  const Location* const location = space.location_of(pc);
  const bool is_in_file = location != nullptr && location->file() != nullptr;
  Dwfl_Module* const module = is_in_file ? dwfl_addrmodule(files->dwfl(), pc) : nullptr;
  if (module == nullptr) return false;
  Dwarf_Addr bias = 0;
  for (const auto find : {dwfl_module_eh_cfi, dwfl_module_dwarf_cfi}) {
    Dwarf_CFI* const information = find(module, &bias);
    Dwarf_Frame* rules = nullptr;
    if (information == nullptr || dwarf_cfi_addrframe(information, pc - bias, &rules) != 0) continue;
    const std::unique_ptr<Dwarf_Frame, decltype(&std::free)> owned(rules, &std::free);
    const int return_address = dwarf_frame_info(rules, nullptr, nullptr, &is_interrupted);
    Dwarf_Op room[3];  // NOLINT(modernize-avoid-c-arrays): as libdw wants it
    Dwarf_Op* operations = nullptr;
    std::size_t count = 0;
    // No operation in the room that it was given: undefined.
    ends =
        dwarf_frame_register(rules, return_address, room, &operations, &count) == 0 && count == 0 && operations == room;
    return true;
  }
  return false;
}

}  // namespace sframe_gen::trace::walk
