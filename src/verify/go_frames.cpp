#include "verify/go_frames.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "elf/dynamic_table.hpp"
#include "support/endian.hpp"
#include "support/text.hpp"

namespace sframe_gen::verify {

namespace {

/// The memory of a program that is not running: words as the dynamic linker leaves them. What is not in the file is 0.
class Memory {
 public:
  explicit Memory(const elf::Image& image) : image_(image) {
    const auto dynamic = elf::read_dynamic(image);
    const auto address = elf::find_dynamic(dynamic, DT_RELA), size = elf::find_dynamic(dynamic, DT_RELASZ);
    const std::uint32_t relative = image.header().e_machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
    if (!address || !size) return;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= *size; at += sizeof(Elf64_Rela)) {
      const auto entry = elf::loaded_bytes(image, *address + at, sizeof(Elf64_Rela));
      if (entry.empty()) return;
      if (load<std::uint32_t>(entry.subspan(8), image.endian()) == relative)
        relocated_[load<std::uint64_t>(entry, image.endian())] = load<std::uint64_t>(entry.subspan(16), image.endian());
    }
  }

  std::uint8_t byte(std::uint64_t address) const { return read<std::uint8_t>(address); }
  std::uint32_t half(std::uint64_t address) const { return read<std::uint32_t>(address); }
  std::uint64_t word(std::uint64_t address) const {
    const auto relocated = relocated_.find(address);
    return relocated == relocated_.end() ? read<std::uint64_t>(address) : relocated->second;
  }
  bool has(std::uint64_t address, std::uint64_t size) const {
    return size == 0 || !elf::loaded_bytes(image_, address, size).empty();
  }

  /// Calls back with each aligned word of writable memory: address and value.
  template <typename Callback>
  void for_each_word(Callback&& callback) const {
    for (const auto& [address, value] : relocated_) callback(address, value);
    for (const Elf64_Phdr& segment : image_.segments()) {
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
      const auto bytes = elf::loaded_bytes(image_, segment.p_vaddr, segment.p_filesz);
      for (std::uint64_t at = (0 - segment.p_vaddr) % 8; at + 8 <= bytes.size(); at += 8)
        callback(segment.p_vaddr + at, load<std::uint64_t>(bytes.subspan(at), image_.endian()));
    }
  }

 private:
  template <typename Number>
  Number read(std::uint64_t address) const {
    const auto bytes = elf::loaded_bytes(image_, address, sizeof(Number));
    return bytes.empty() ? Number{0} : load<Number>(bytes, image_.endian());
  }

  const elf::Image& image_;
  std::map<std::uint64_t, std::uint64_t> relocated_;
};

/// A module of Go as its runtime finds it: the description leads to the table.
struct GoModule {
  std::uint64_t header = 0, names = 0, values = 0, functions = 0;  ///< addresses
  std::uint64_t count = 0, text = 0;
  bool has_line_numbers = false;  ///< of where functions start, in their records
};

/// Returns the module that is described at `place`. Words of the description that say one thing twice must agree.
std::optional<GoModule> module_at(const Memory& memory, std::uint64_t place) {
  GoModule module;
  module.header = memory.word(place);
  const std::uint32_t magic = memory.half(module.header);
  if (magic != 0xfffffff0 && magic != 0xfffffff1) return std::nullopt;
  if (memory.byte(module.header + 7) != 8) return std::nullopt;
  module.has_line_numbers = magic == 0xfffffff1;
  const auto field = [&](unsigned index) { return memory.word(place + 8 * std::uint64_t{index}); };
  module.names = field(1);
  module.values = field(10);
  module.functions = field(13);
  module.count = field(17) - 1;
  module.text = field(22);
  if (module.count == 0 || module.count > UINT32_MAX || module.count != memory.word(module.header + 8))
    return std::nullopt;
  if (field(16) != module.functions || module.functions != module.header + memory.word(module.header + 64))
    return std::nullopt;
  if (module.values != module.header + memory.word(module.header + 56)) return std::nullopt;
  if (!memory.has(module.functions, module.count * 8 + 4)) return std::nullopt;
  if (field(20) - module.text != memory.half(module.functions)) return std::nullopt;
  return module;
}

/// Takes a number of 7 bits a byte from memory.
std::uint32_t take_number(const Memory& memory, std::uint64_t& address) {
  std::uint32_t number = 0;
  for (unsigned shift = 0; shift < 32; shift += 7) {
    const std::uint32_t byte = memory.byte(address++);
    number |= (byte & 127U) << shift;
    if (byte < 128) break;
  }
  return number;
}

/// Reads the frames of [begin, end). None if they make no sense: then no row of the function can be judged.
std::vector<GoFrames::Frame> frames_at(const Memory& memory, std::uint64_t record, std::uint64_t begin,
                                       std::uint64_t end, std::uint64_t quantum) {
  std::vector<GoFrames::Frame> frames;
  std::int64_t size = -1;
  std::uint64_t pc = begin;
  for (;;) {
    const std::uint32_t change = take_number(memory, record);
    if (change == 0 && pc != begin) return frames;
    const std::int64_t magnitude = (std::int64_t{change} + 1) / 2;
    size += change % 2 == 0 ? magnitude : -magnitude;
    const std::uint64_t length = take_number(memory, record) * quantum;
    if (size < 0 || length == 0 || length > end - pc) return {};
    if (pc == begin && size != 0) return {};  // a call leaves no more than the return address
    frames.push_back({pc, pc + length, static_cast<std::uint64_t>(size), pc});
    pc += length;
  }
}

/// Checks whether control does not come to `address` from the instruction before it, as the bytes there look.
bool follows_jump(const Memory& memory, std::uint64_t address, bool is_amd64) {
  if (!is_amd64) {
    const std::uint32_t before = memory.half(address - 4), earlier = memory.half(address - 8);
    const auto is_call = [](std::uint32_t word) { return word >> 26U == 0x25 || (word & 0xfffffc1fU) == 0xd63f0000; };
    return before == 0xd65f03c0 || before >> 26U == 5 || (before & 0xfffffc1fU) == 0xd61f0000 || is_call(before) ||
           (before == 0xd503201f && is_call(earlier)) || before == 0 || before >> 24U == 0xd4;
  }
  const auto at = [&](std::uint64_t back) { return memory.byte(address - back); };
  return at(1) == 0xc3 || at(1) == 0x90 || at(1) == 0xcc || at(2) == 0xeb || at(2) == 0xff || at(5) == 0xe9 ||
         at(5) == 0xe8 || (at(2) == 0x0f && at(1) == 0x0b);
}

/// Returns the PC from which on the frame pointer is saved in a frame. No value: it is not.
std::optional<std::uint64_t> saved_from(const Memory& memory, const GoFrames::Frame& frame, bool is_amd64) {
  if (!is_amd64) {
    if (memory.half(frame.begin - 4) == 0x9100029f && memory.half(frame.begin - 8) == 0xa93ffa9d) return frame.begin;
    if (memory.half(frame.begin) == 0xf81f83fd) return frame.begin + 4;
    return std::nullopt;
  }
  if (frame.size == 8 && memory.byte(frame.begin - 1) == 0x55) return frame.begin;
  // mov %rbp,N(%rsp); the scale of no index does not count
  const std::uint32_t store = memory.half(frame.begin) & 0x3fffffffU;
  if (store == 0x242c8948 && frame.size == 8) return frame.begin + 4;
  if (store == 0x246c8948 && memory.byte(frame.begin + 4) == frame.size - 8 && frame.size < 136) return frame.begin + 5;
  if (store == 0x24ac8948 && memory.half(frame.begin + 4) == frame.size - 8) return frame.begin + 8;
  return std::nullopt;
}

void find_saves(const Memory& memory, GoFrames::Function& function, bool is_amd64) {
  bool always = true, ever = false;
  std::uint64_t saved = function.begin;
  for (std::size_t i = 0; i < function.frames.size(); ++i) {
    GoFrames::Frame& frame = function.frames[i];
    const bool begins = frame.size != 0 && i != 0 && function.frames[i - 1].size == 0;
    if (begins) {
      const auto from = saved_from(memory, frame, is_amd64);
      const bool entered = from || !follows_jump(memory, frame.begin, is_amd64);
      if (from) {
        saved = *from;
        ever = true;
      } else if (entered) {
        always = false;
      }
      const std::uint32_t before = memory.half(frame.begin - 4);
      if (!is_amd64 && entered && before != 0x9100029f && (before & 0xffe00fffU) != 0xf8000ffe)
        function.keeps_return_address = false;
    }
    frame.saved_from = std::max(saved, frame.begin);
  }
  using Saves = GoFrames::Function::Saves;
  function.saves = !ever ? Saves::Never : always ? Saves::Always : Saves::Sometimes;
}

std::string text_at(const Memory& memory, std::uint64_t address) {
  constexpr std::size_t longest = 64;
  std::string text;
  while (text.size() < longest && memory.byte(address + text.size()) != 0)
    text.push_back(static_cast<char>(memory.byte(address + text.size())));
  return text;
}

/// Checks whether the file may be one of Go: looking at each word of others takes time.
bool may_have_module(const elf::Image& image) {
  return !image.has_section_headers() || image.find_section(".go.buildinfo") != nullptr ||
         image.find_section(".note.go.buildid") != nullptr || image.find_section(".gopclntab") != nullptr;
}

/// Bytes from the start of a function's record to the offset of its frames.
constexpr std::uint64_t frames_in_record = 16;

GoFrames::Function function_at(const Memory& memory, const GoModule& module, std::uint64_t record, const Range& code,
                               bool is_amd64) {
  const std::uint64_t quantum = is_amd64 ? 1 : 4, flags_in_record = module.has_line_numbers ? 41 : 37;
  const std::uint64_t frames = module.values + memory.half(record + frames_in_record);
  GoFrames::Function function;
  function.begin = code.begin;
  function.frames = frames_at(memory, frames, code.begin, code.end, quantum);
  function.end = function.frames.empty() ? code.end : function.frames.back().end;
  function.flags = memory.byte(record + flags_in_record);
  function.name = text_at(memory, module.names + memory.half(record + 4));
  find_saves(memory, function, is_amd64);
  return function;
}

/// Returns the target of the jump at `pc`; no value: no jump is there.
std::optional<std::uint64_t> target_of_jump(const Memory& memory, std::uint64_t pc, bool is_amd64) {
  const std::uint32_t bits = memory.half(pc);
  const auto from = [](std::uint64_t base, std::int64_t distance) {
    return base + static_cast<std::uint64_t>(distance);
  };
  if (is_amd64 && (bits & 0xffU) == 0xe9) return from(pc + 5, static_cast<std::int32_t>(memory.half(pc + 1)));
  if (is_amd64 && (bits & 0xffU) == 0xeb) return from(pc + 2, static_cast<std::int8_t>(memory.byte(pc + 1)));
  if (!is_amd64 && bits >> 26U == 5) return from(pc, std::int64_t{static_cast<std::int32_t>(bits << 6U) >> 4U});
  return std::nullopt;
}

/// Returns the starts of the function that the kernel enters, of the one that this jumps to, and so on. In programs
/// with cgo, the kernel enters _start of C, which calls.
std::vector<std::uint64_t> entered_from(const Memory& memory, std::span<const GoFrames::Function> functions,
                                        std::uint64_t entry, bool is_amd64) {
  constexpr std::size_t most_jumps = 4;
  constexpr std::uint64_t longest_way_to_jump = 64;
  std::vector<std::uint64_t> starts;
  std::optional<std::uint64_t> next = entry;
  while (next && starts.size() < most_jumps) {
    const auto entered = std::ranges::lower_bound(functions, *next, {}, &GoFrames::Function::begin);
    if (entered == functions.end() || entered->begin != *next) break;
    starts.push_back(*next);
    const std::uint64_t begin = *next, end = std::min(begin + longest_way_to_jump, entered->end);
    next.reset();
    for (std::uint64_t pc = begin; pc < end && !next; pc += is_amd64 ? 1 : 4) {
      next = target_of_jump(memory, pc, is_amd64);
      if (next == begin) next.reset();
    }
  }
  return starts;
}

}  // namespace

GoFrames::GoFrames(const elf::Image& image, const sframe::AbiTraits& abi) : abi_(abi) {
  const bool is_amd64 = abi.fixed_ra_offset != 0;
  if (image.is_object() || image.endian() != Endian::Little || !may_have_module(image)) return;
  if (!is_amd64 && !abi.signs_return_address) return;
  const Memory memory(image);
  std::optional<GoModule> module;
  memory.for_each_word([&](std::uint64_t place, std::uint64_t value) {
    if (!module && memory.half(value) >= 0xfffffff0) module = module_at(memory, place);
  });
  if (!module) return;
  for (std::uint64_t i = 0; i < module->count; ++i) {
    const std::uint64_t pair = module->functions + i * 8;
    const std::uint64_t begin = module->text + memory.half(pair), end = module->text + memory.half(pair + 8);
    starts_.push_back(begin);
    const std::uint64_t record = module->functions + memory.half(pair + 4);
    const bool has_frames = memory.half(record + frames_in_record) != 0 && end != begin;
    // Functions follow each other, and their bytes are in the file: this bounds what is read of them.
    if (end < begin || (has_frames && !memory.has(begin, end - begin))) {
      functions_.clear();
      return;
    }
    if (has_frames) functions_.push_back(function_at(memory, *module, record, {begin, end}, is_amd64));
  }
  if (elf::is_program(image)) entered_by_kernel_ = entered_from(memory, functions_, image.header().e_entry, is_amd64);
}

void GoFrames::add_ranges(std::vector<Range>& ranges) const {
  for (const Function& function : functions_) ranges.push_back({function.begin, function.end});
}

std::uint64_t GoFrames::boundary_after(std::uint64_t pc) const {
  const auto next = std::ranges::upper_bound(functions_, pc, {}, &Function::end);
  if (next == functions_.end()) return std::numeric_limits<std::uint64_t>::max();
  return next->begin > pc ? next->begin : next->end;
}

bool GoFrames::has_no_caller(const Function& function) const {
  return (function.flags & 1U) != 0 ||
         std::ranges::find(entered_by_kernel_, function.begin) != entered_by_kernel_.end();
}

std::optional<GoFrames::Answer> GoFrames::answer_at(std::uint64_t pc) const {
  const auto function = std::ranges::upper_bound(functions_, pc, {}, &Function::end);
  if (function == functions_.end() || function->begin > pc) return std::nullopt;
  Answer answer;
  answer.end = function->end;
  if (has_no_caller(*function)) {
    answer.caller.emplace();
    answer.caller->exists = false;
    answer.caller->text = "RA undefined";
    return answer;
  }
  constexpr std::array<std::string_view, 5> called_by_handler{
      "runtime.sigpanic", "runtime.sigpanic0", "runtime.asyncPreempt", "runtime.debugCallV1", "runtime.debugCallV2"};
  answer.is_called_by_handler = std::ranges::find(called_by_handler, function->name) != called_by_handler.end();
  if ((function->flags & 2U) != 0) {
    answer.why_none = "the function goes on on another stack";
  } else if (function->frames.empty()) {
    answer.why_none = "the record of the function's frames is damaged";
  } else if (!function->keeps_return_address) {
    answer.why_none = "a frame begins without the return address";
  } else if (function->saves == Function::Saves::Sometimes) {
    answer.why_none = "only some of the function's frames begin with the frame pointer";
  }
  if (!answer.why_none.empty()) return answer;
  const auto frame = std::ranges::upper_bound(function->frames, pc, {}, &Frame::end);
  answer.end = pc < frame->saved_from ? std::min(frame->end, frame->saved_from) : frame->end;
  answer.caller = caller_of(*function, *frame, pc);
  return answer;
}

Caller GoFrames::caller_of(const Function& function, const Frame& frame, std::uint64_t pc) const {
  const SyntheticContext context(pc, abi_);
  const bool is_amd64 = abi_.fixed_ra_offset != 0;
  const bool saved = function.saves == Function::Saves::Always && frame.size != 0 && pc >= frame.saved_from;
  const std::uint64_t stack_pointer = context.register_value(abi_.stack_pointer), top = stack_pointer + frame.size;
  Caller caller;
  caller.stack_pointer = is_amd64 ? top + 8 : top;
  if (is_amd64) {
    caller.return_address = context.read_memory(top);
  } else {
    caller.return_address =
        frame.size == 0 ? context.register_value(abi_.return_address) : context.read_memory(stack_pointer);
  }
  const std::uint64_t place = is_amd64 ? top - 8 : stack_pointer - 8;
  caller.frame_pointer = saved ? context.read_memory(place) : context.register_value(abi_.frame_pointer);
  caller.text = "frame of " + hex(frame.size) + " bytes, frame pointer " + (saved ? "saved" : "unchanged");
  return caller;
}

}  // namespace sframe_gen::verify
