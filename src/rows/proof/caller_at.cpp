#include "rows/proof/caller_at.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

namespace sframe_gen::rows::proof {

namespace {

constexpr std::int64_t stack_word = 8;
constexpr unsigned register_bits = 64;

Instruction instruction_at(const elf::Image& image, const Decoder& decoder, std::uint64_t pc) {
  constexpr std::uint64_t longest = 15;
  if (!image.is_code(pc, 1)) return {};
  const auto bytes = elf::loaded_bytes_from(image, pc);
  return decoder.decode(bytes.first(std::min<std::size_t>(bytes.size(), longest)), pc);
}

bool writes(const Instruction& instruction, RegisterNumber reg) {
  return (instruction.written >> reg & 1U) != 0;
}

bool is_register(const Operand& operand, RegisterNumber reg) {
  return operand.kind == Operand::Kind::Register && operand.reg == reg && operand.bits == register_bits;
}

/// Bytes that an instruction adds to rsp without a look at anything else; none: it does something else.
std::optional<std::int64_t> moved_by(const Instruction& instruction) {
  const Operand& to = instruction.operands[0];
  const Operand& from = instruction.operands[1];
  switch (instruction.operation) {
    case Operation::Push:
    case Operation::PushFlags:
      return to.bits == register_bits || to.kind != Operand::Kind::Register ? std::optional(-stack_word) : std::nullopt;
    case Operation::Pop:
    case Operation::PopFlags:
      if (to.kind == Operand::Kind::Register && (to.reg == rsp || to.bits != register_bits)) return std::nullopt;
      return stack_word;
    case Operation::Add:
    case Operation::Subtract:
      if (!is_register(to, rsp) || from.kind != Operand::Kind::Immediate) return std::nullopt;
      return instruction.operation == Operation::Add ? from.number : -from.number;
    case Operation::LoadAddress:
      if (!is_register(to, rsp) || from.base != rsp || from.index != no_register) return std::nullopt;
      return from.number;
    default:
      return std::nullopt;
  }
}

/// Bytes from rbp to where an instruction sets rsp; none: it does something else. `leave` does so, and pops.
std::optional<std::int64_t> set_from_frame_pointer(const Instruction& instruction) {
  const Operand& to = instruction.operands[0];
  const Operand& from = instruction.operands[1];
  if (instruction.operation == Operation::Leave) return 0;
  if (!is_register(to, rsp)) return std::nullopt;
  if (instruction.operation == Operation::Move && is_register(from, rbp)) return 0;
  const bool is_sum = instruction.operation == Operation::LoadAddress && from.base == rbp && from.index == no_register;
  return is_sum ? std::optional(from.number) : std::nullopt;
}

bool pops_frame_pointer(const Instruction& instruction) {
  return instruction.operation == Operation::Leave ||
         (instruction.operation == Operation::Pop && is_register(instruction.operands[0], rbp));
}

/// Whether an instruction may store over the word `offset` bytes above rsp.
bool may_overwrite(const Instruction& instruction, std::int64_t offset) {
  const Operand& to = instruction.operands[0];
  if (!instruction.stores || to.kind != Operand::Kind::Memory || to.base != rsp || to.index != no_register)
    return false;
  return to.number < offset + stack_word && offset < to.number + std::max<std::int64_t>(to.bits / 8, 1);
}

/// What runs from a PC to a return.
class WayOut {
 public:
  /// False: it ends otherwise, or is not understood.
  bool pass(const Instruction& instruction) {
    if (instruction.stores) return false;  // it may be the return address
    if (const auto set = set_from_frame_pointer(instruction)) {
      if (fp_slot_) return false;  // it counts from a value that is loaded on the way
      place_.base = rbp;
      sp_ = *set;
    }
    if (pops_frame_pointer(instruction)) {
      fp_slot_ = sp_;
      sp_ += stack_word;
      return true;
    }
    if (set_from_frame_pointer(instruction)) return true;
    if (writes(instruction, rbp)) return false;
    if (!writes(instruction, rsp)) return true;
    const auto moved = moved_by(instruction);
    if (!moved || *moved < 0) return false;
    sp_ += *moved;
    return true;
  }

  CallerPlace end(const Instruction& at_return) {
    const Operand& arguments = at_return.operands[0];
    place_.return_address = sp_;
    place_.stack_pointer = sp_ + stack_word + (arguments.kind == Operand::Kind::Immediate ? arguments.number : 0);
    // Where the way counts from rbp only later, what was popped before counts from rsp.
    place_.frame_pointer = fp_slot_;
    return place_;
  }

 private:
  CallerPlace place_;
  std::int64_t sp_ = 0;  ///< from the base
  std::optional<std::int64_t> fp_slot_;
};

/// What holds before an instruction, in bytes below where rsp was at the entry.
struct Depths {
  std::optional<std::int64_t> sp = 0;
  std::optional<std::int64_t> fp;        ///< what rbp points to; none: it has the caller's value, or another one
  bool has_callers = true;               ///< rbp has the caller's value
  std::optional<std::int64_t> saved_at;  ///< where the caller's rbp was pushed

  friend bool operator==(const Depths&, const Depths&) = default;

  static Depths unknown() { return {std::nullopt, std::nullopt, false, std::nullopt}; }

  /// Keeps what another way has as well. False: that was all.
  bool join(const Depths& other) {
    const Depths before = *this;
    if (sp != other.sp) sp.reset();
    if (fp != other.fp) fp.reset();
    if (saved_at != other.saved_at) saved_at.reset();
    has_callers = has_callers && other.has_callers;
    return *this != before;
  }

  void call() { sp.reset(); }

  void pass(const Instruction& instruction) {
    if (sp && may_overwrite(instruction, *sp)) *this = unknown();
    const std::optional<std::int64_t> sp_before = sp;
    if (const auto set = set_from_frame_pointer(instruction)) {
      sp = fp ? std::optional(*fp - *set) : std::nullopt;
    } else if (writes(instruction, rsp)) {
      const auto moved = moved_by(instruction);
      sp = sp && moved ? std::optional(*sp - *moved) : std::nullopt;
    }
    pass_frame_pointer(instruction, sp_before);
    // What is at or above the return address is not this function's.
    if (sp && *sp < 0) sp.reset();
    if (!sp || !saved_at || *saved_at <= *sp) return;
    saved_at.reset();
  }

 private:
  void pass_frame_pointer(const Instruction& instruction, std::optional<std::int64_t> sp_before) {
    const bool pushes = instruction.operation == Operation::Push && is_register(instruction.operands[0], rbp);
    if (pushes && has_callers && sp) saved_at = *sp;
    if (!writes(instruction, rbp)) return;
    const bool sets = instruction.operation == Operation::Move && is_register(instruction.operands[1], rsp);
    if (pops_frame_pointer(instruction)) {
      const auto popped_at = instruction.operation == Operation::Leave ? sp : sp_before;
      has_callers = saved_at && popped_at == saved_at;
      fp.reset();
      if (instruction.operation == Operation::Leave && sp) *sp -= stack_word;
      return;
    }
    has_callers = false;
    fp = sets && is_register(instruction.operands[0], rbp) ? sp_before : std::nullopt;
  }
};

/// All ways through a function.
class Ways {
 public:
  Ways(const elf::Image& image, const Decoder& decoder, const Range& function)
      : image_(image), decoder_(decoder), function_(function) {}

  /// None: some of its code is not understood.
  std::optional<Depths> depths_at(std::uint64_t pc) {
    arrive(function_.begin, {});
    if (!walk() || !walk_the_rest() || (jumps_anywhere_ && takes_address_)) return std::nullopt;
    const auto found = before_.find(pc);
    return found == before_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  void arrive(std::uint64_t pc, const Depths& depths) {
    const auto [here, is_new] = before_.try_emplace(pc, depths);
    if (is_new || here->second.join(depths)) pending_.push_back(pc);
  }

  bool walk() {
    while (!pending_.empty()) {
      const std::uint64_t pc = pending_.back();
      pending_.pop_back();
      if (!step(pc)) return false;
    }
    return true;
  }

  /// What no way leads to may be the targets of a jump by a table, and jump back: with any depth. Where no table can be
  /// had, it is dead, as V8's code after calls that do not return, or goes on from exceptions with the depth that the
  /// compiler has there.
  bool walk_the_rest() {
    std::vector<std::uint64_t> rest;
    for (std::uint64_t pc = function_.begin; pc < function_.end;) {
      const Instruction instruction = instruction_at(image_, decoder_, pc);
      const std::uint64_t next = pc + instruction.size;
      if (instruction.size == 0 || next > function_.end) return false;
      const auto inside = before_.upper_bound(pc);
      if (inside != before_.end() && inside->first < next) return false;
      const bool is_padding = instruction.operation == Operation::Nothing || instruction.operation == Operation::Trap;
      if (!is_padding && !before_.contains(pc)) rest.push_back(pc);
      takes_address_ = takes_address_ || takes_address(instruction);
      pc = next;
    }
    if (!takes_address_) return true;
    for (const std::uint64_t pc : rest) {
      if (before_.contains(pc)) continue;
      arrive(pc, Depths::unknown());
      if (!walk()) return false;
    }
    return true;
  }

  bool step(std::uint64_t pc) {
    if (!function_.contains(pc)) return true;  // another function, whose frames are its own
    const Instruction instruction = instruction_at(image_, decoder_, pc);
    const std::uint64_t next = pc + instruction.size;
    if (instruction.size == 0) return false;
    Depths depths = before_.at(pc);
    switch (instruction.operation) {
      case Operation::OtherWorld:
        return false;
      case Operation::Return:
      case Operation::Trap:
        return true;
      case Operation::Jump:
        if (instruction.is_direct) arrive(instruction.target, depths);
        jumps_anywhere_ = jumps_anywhere_ || (!instruction.is_direct && depths.sp != 0);
        return true;
      case Operation::ConditionalJump:
        arrive(instruction.target, depths);
        break;
      case Operation::Call:
        depths.call();
        break;
      default:
        depths.pass(instruction);
    }
    arrive(next, depths);
    return true;
  }

  /// Whether an instruction has an address in the file, from which one of the function's own may be computed.
  bool takes_address(const Instruction& instruction) const {
    const auto is_here = [&](std::uint64_t address) { return !elf::loaded_bytes_from(image_, address).empty(); };
    if (const auto taken = taken_by(instruction)) return is_here(*taken);
    return std::ranges::any_of(instruction.operands, [&](const Operand& operand) {
      return operand.kind == Operand::Kind::Memory && operand.base == no_register && operand.index != no_register &&
             is_here(static_cast<std::uint64_t>(operand.number));
    });
  }

  const elf::Image& image_;
  const Decoder& decoder_;
  Range function_;
  bool jumps_anywhere_ = false;  ///< with a frame, to an address that is not known
  bool takes_address_ = false;
  std::map<std::uint64_t, Depths> before_;  ///< each instruction that a way leads to
  std::vector<std::uint64_t> pending_;
};

}  // namespace

std::optional<CallerPlace> caller_by_return(const elf::Image& image, const Decoder& decoder, std::uint64_t pc) {
  constexpr int most = 64;
  WayOut way;
  for (int i = 0; i < most; ++i) {
    const Instruction instruction = instruction_at(image, decoder, pc);
    pc += instruction.size;
    switch (instruction.size == 0 ? Operation::OtherWorld : instruction.operation) {
      case Operation::Return:
        return way.end(instruction);
      case Operation::Jump:
        if (!instruction.is_direct) return std::nullopt;
        pc = instruction.target;
        break;
      case Operation::OtherWorld:
      case Operation::ConditionalJump:
      case Operation::Call:
      case Operation::SystemCall:
      case Operation::Trap:
        return std::nullopt;
      default:
        if (!way.pass(instruction)) return std::nullopt;
    }
  }
  return std::nullopt;
}

WayIn way_in(const elf::Image& image, const Decoder& decoder, const Range& function, std::uint64_t pc) {
  constexpr std::uint64_t largest = std::uint64_t{16} << 10U;
  if (!function.contains(pc) || function.size() > largest) return {};
  const auto depths = Ways(image, decoder, function).depths_at(pc);
  if (!depths) return {};
  WayIn way{.caller = {}, .has_callers_frame_pointer = depths->has_callers};
  const auto depth = depths->sp ? depths->sp : depths->fp;
  if (!depth) return way;
  CallerPlace& place = way.caller.emplace();
  place.base = depths->sp ? rsp : rbp;
  place.return_address = *depth;
  place.stack_pointer = *depth + stack_word;
  place.frame_pointer_is_known = depths->has_callers || depths->saved_at;
  if (!depths->has_callers && depths->saved_at) place.frame_pointer = *depth - *depths->saved_at;
  return way;
}

bool is_before_first_call(const elf::Image& image, const Decoder& decoder, std::uint64_t pc) {
  constexpr std::uint64_t most = 64;
  std::uint64_t at = image.header().e_entry;
  if (at == 0 || pc - at >= most) return false;
  while (at < pc) {
    const Instruction instruction = instruction_at(image, decoder, at);
    switch (instruction.size == 0 ? Operation::OtherWorld : instruction.operation) {
      case Operation::OtherWorld:
      case Operation::Jump:
      case Operation::ConditionalJump:
      case Operation::Call:
      case Operation::Return:
      case Operation::Trap:
        // The byte before a return address is the last one of the call.
        return instruction.operation == Operation::Call && pc < at + instruction.size;
      default:
        at += instruction.size;
    }
  }
  return at == pc;
}

}  // namespace sframe_gen::rows::proof
