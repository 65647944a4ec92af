#include "verify/emulation.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "elf/dynamic_table.hpp"
#include "elf/image.hpp"
#include "sframe/names.hpp"
#include "verify/caller.hpp"

namespace sframe_gen::verify {

namespace {

constexpr std::uint64_t most_bytes_to_follow = 1U << 20U;
constexpr std::uint64_t largest_small_function = 32;

/// Leaves out the program's entry: nothing calls it, so Emulation looks at it apart.
std::vector<Range> without_entry(const std::vector<Range>& ranges, std::uint64_t entry) {
  std::vector<Range> rest;
  for (const Range& range : ranges) {
    if (!range.contains(entry)) {
      rest.push_back(range);
      continue;
    }
    rest.push_back({range.begin, entry});
    if (range.end - entry > longest_start) rest.push_back({entry + longest_start, range.end});
  }
  return rest;
}

/// Checks whether all instructions of a range are known, and only jump to where a word of memory says, as stubs do.
/// Instructions of a small function need not be known. Code that a compiler has split off from a function has no
/// caller, and calls something itself or jumps back.
bool is_plain_stub(const elf::Image& image, const Range& range, sframe::Abi abi) {
  std::span<const std::byte> code = elf::loaded_bytes(image, range.begin, range.end - range.begin);
  while (!code.empty()) {
    const auto instruction = decode_instruction(code, range.end - code.size(), abi);
    if (!instruction) return false;
    const Flow flow = instruction->flow;
    if (flow == Flow::Call || flow == Flow::Jump || flow == Flow::Branch) return false;
    code = code.subspan(instruction->size);
  }
  return true;
}

/// Checks whether the code goes on from the last instruction of a range to what follows it.
bool runs_on(const elf::Image& image, const Range& range, sframe::Abi abi) {
  std::span<const std::byte> code = elf::loaded_bytes(image, range.begin, range.end - range.begin);
  bool runs_on = false;
  while (!code.empty()) {
    const auto instruction = decode_instruction(code, range.end - code.size(), abi);
    if (!instruction) return false;
    runs_on = instruction->flow == Flow::Next;
    code = code.subspan(instruction->size);
  }
  return runs_on;
}

/// Checks whether the code from `begin` on goes on into `range`, which is after it, one instruction after the other.
bool goes_into(const elf::Image& image, std::uint64_t begin, const Range& range, sframe::Abi abi) {
  if (!image.is_code(begin, range.end - begin)) return false;
  const std::span<const std::byte> code = elf::loaded_bytes(image, begin, range.end - begin);
  std::uint64_t at = begin;
  while (at < range.begin) {
    const auto instruction = decode_instruction(code.subspan(at - begin), at, abi);
    if (!instruction || instruction->flow != Flow::Next) return false;
    at += instruction->size;
  }
  return true;
}

/// Lets each of `ranges` begin with the small FDE that goes on into it: a damaged FDE may describe a part of a stub.
void begin_with_fdes(std::vector<Range>& ranges, const std::vector<Range>& fdes, const elf::Image& image,
                     sframe::Abi abi) {
  std::unordered_map<std::uint64_t, std::uint64_t> begin_of;  // by end
  for (const Range& fde : fdes)
    if (!fde.empty() && fde.size() <= largest_small_function) begin_of[fde.end] = fde.begin;
  for (Range& range : ranges) {
    const auto fde = begin_of.find(range.begin);
    if (fde != begin_of.end() && goes_into(image, fde->second, range, abi)) range.begin = fde->second;
  }
}

/// Joins the ranges, which ascend, of descriptors that a compact section has for parts of a function. Only the first is
/// called.
std::vector<Range> joined_parts(const std::vector<Range>& ranges, const elf::Image& image, sframe::Abi abi) {
  std::vector<Range> joined;
  Range before;
  for (const Range& range : ranges) {
    if (!joined.empty() && before.end == range.begin && runs_on(image, before, abi)) {
      joined.back().end = range.end;
    } else {
      joined.push_back(range);
    }
    before = range;
  }
  return joined;
}

/// Returns the stubs among `ranges` that are next to one of `stubs`.
std::vector<Range> neighbors(const std::vector<Range>& ranges, const std::vector<Range>& stubs, const elf::Image& image,
                             sframe::Abi abi) {
  std::unordered_set<std::uint64_t> borders;
  for (const Range& range : stubs) borders.insert({range.begin, range.end});
  std::vector<Range> beside;
  std::ranges::copy_if(ranges, std::back_inserter(beside), [&](const Range& range) {
    const bool is_beside = borders.contains(range.begin) || borders.contains(range.end);
    return is_beside && is_plain_stub(image, range, abi);
  });
  return beside;
}

bool is_plain_code(const elf::Section& section) {
  constexpr std::array names{".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt", ".init", ".fini"};
  return section.header.sh_type == SHT_PROGBITS && (section.header.sh_flags & SHF_EXECINSTR) != 0 &&
         std::ranges::find(names, section.name) != names.end();
}

/// Checks whether a table may begin with a header that entries jump to, as on machines whose calls push the return
/// address. On others, the header is reached as if called.
bool may_have_header(const elf::Section& section, const sframe::AbiTraits& abi) {
  return abi.fixed_ra_offset != 0 && (section.name == ".plt" || section.name == ".iplt");
}

Caller outermost() {
  Caller caller;
  caller.exists = false;
  caller.text = "RA undefined";
  return caller;
}

bool has_next(Flow flow) {
  return flow == Flow::Next || flow == Flow::Branch || flow == Flow::Call;
}

}  // namespace

std::vector<Range> code_to_follow(const sframe::Section& section, const elf::Image& image,
                                  const std::vector<Range>& fdes, const std::vector<Range>& tables) {
  if (image.has_section_headers()) return {};
  const RangeSet described(fdes);
  std::vector<Range> with_rows, repeated, few_bytes;
  for (const sframe::Fde& fde : section.fdes) {
    if (fde.size == 0 || !image.is_code(fde.start, fde.size)) continue;
    const Range range{fde.start, fde.start + fde.size};
    (fde.pc_type == sframe::PcType::Mask ? repeated : with_rows).push_back(range);
    if (fde.size <= largest_small_function) few_bytes.push_back(range);
  }
  const RangeSet covered(std::move(with_rows));
  std::vector<Range> stubs = covered.without(described).ranges();
  std::erase_if(stubs, [&](const Range& range) { return is_padding(image, section.abi, range.begin, range.end); });
  begin_with_fdes(stubs, fdes, image, section.abi);
  stubs.insert(stubs.end(), repeated.begin(), repeated.end());
  const std::vector<Range> rows_of_tables = covered.without(covered.without(RangeSet(tables))).ranges();
  stubs.insert(stubs.end(), rows_of_tables.begin(), rows_of_tables.end());
  stubs = RangeSet(without_entry(stubs, image.header().e_entry), largest_gap_in_stubs).ranges();
  few_bytes = joined_parts(few_bytes, image, section.abi);
  const std::vector<Range> beside = neighbors(few_bytes, stubs, image, section.abi);
  stubs.insert(stubs.end(), beside.begin(), beside.end());
  stubs = RangeSet(std::move(stubs), largest_gap_in_stubs).ranges();
  std::uint64_t bytes = 0;
  std::erase_if(stubs, [&](const Range& range) { return (bytes += range.size()) > most_bytes_to_follow; });
  return stubs;
}

Emulation::Emulation(const elf::Image& image, const sframe::AbiTraits& abi, std::span<const Range> more,
                     std::span<const std::uint64_t> starts)
    : abi_(abi), knows_sections_(image.has_section_headers()) {
  if (image.is_object()) return;
  for (const elf::Section& section : image.sections()) {
    if (!is_plain_code(section)) continue;
    // Loaded bytes are what runs; a damaged section header may name other bytes of the file.
    const std::uint64_t address = section.header.sh_addr;
    read_section(address, elf::loaded_bytes(image, address, section.header.sh_size), may_have_header(section, abi));
  }
  for (const Range& range : more) {
    const auto code = elf::loaded_bytes(image, range.begin, range.end - range.begin);
    read_section(range.begin, code, abi.fixed_ra_offset != 0, starts);
    forget_long_padding(range);
  }
  read_start(image);
  follow();
}

/// Reads the code that the kernel enters. Code that does not round the stack pointer down may as well be a function
/// that others call, such as the one that a library's header names. The entry code of glibc has call frame information.
void Emulation::read_start(const elf::Image& image) {
  if (!elf::is_program(image)) return;
  const std::uint64_t entry = image.header().e_entry;
  std::map<std::uint64_t, Place> places;
  bool aligned = false;
  for (std::uint64_t at = 0; at < longest_start;) {
    // An instruction has up to 15 bytes; the last ones of the code may have less after them.
    std::span<const std::byte> code;
    for (std::uint64_t size = 15; code.empty() && size != 0; --size)
      if (image.is_code(entry + at, size)) code = elf::loaded_bytes(image, entry + at, size);
    const auto instruction = decode_instruction(code, entry + at, abi_.abi);
    if (!instruction || (instruction->flow != Flow::Next && instruction->flow != Flow::Call)) return;
    Place& place = places[entry + at];
    place.instruction = *instruction;
    place.is_code = true;
    place.is_entry = place.is_start = at == 0;
    aligned = aligned || instruction->aligns_stack;
    at += instruction->size;
    if (instruction->flow != Flow::Call) continue;
    // The call does not come back, and does not call one of the stubs.
    place.instruction.flow = Flow::Leave;
    place.instruction.target = 0;
    if (!aligned) return;
    // The entry may be in a section that is followed anyway.
    places.merge(places_);
    places_ = std::move(places);
    return;
  }
}

void Emulation::read_section(std::uint64_t address, std::span<const std::byte> code, bool has_header,
                             std::span<const std::uint64_t> starts) {
  // Control falls neither into the section nor past an instruction that does not go on. Unknown code may go on.
  bool falls_in = false;
  bool after_unknown = false;
  bool in_header = false;
  for (std::uint64_t at = 0; at < code.size();) {
    const auto decoded = decode_instruction(code.subspan(at), address + at, abi_.abi);
    Place place;
    place.is_entry = !falls_in && !after_unknown;
    if (decoded) {
      place.instruction = *decoded;
      place.is_code = true;
      // Entries of undefined weak functions in static PIEs: GNU ld leaves the distance of the last jump, which is never
      // reached, at zero.
      if (decoded->flow == Flow::Jump && decoded->target == address + at + decoded->size) place.instruction.target = 0;
      // An entry jumps before it pushes. A library that calls nothing may have a header all the same.
      in_header = at == 0 ? has_header && decoded->begins_header : in_header && falls_in;
      place.is_header = in_header;
      // Targets in other sections are entered as anybody enters them; of linkers' jumps, only lld's lead
      // elsewhere, from .iplt to the header in .plt. Within one section, retpolines call to push an address.
      const bool is_elsewhere = decoded->target - address >= code.size();
      if (is_elsewhere && (decoded->flow == Flow::Call || knows_sections_)) place.instruction.target = 0;
      if (place.instruction.target != 0 && !after_unknown) targets_.insert(place.instruction.target);
      falls_in = has_next(decoded->flow) && !(place.is_entry && decoded->is_padding);
      after_unknown = after_unknown && falls_in;
    } else {
      const auto start = std::ranges::upper_bound(starts, address + at);
      const std::uint64_t end = start == starts.end() ? code.size() : std::min(code.size(), *start - address);
      place.instruction = bytes_between_instructions(code.first(end), at, place.is_entry, abi_.abi);
      falls_in = false;
      const bool at_start = start != starts.end() && at + place.instruction.size == end;
      after_unknown = !place.instruction.is_padding && !at_start;
    }
    const std::uint64_t size = place.instruction.size;
    place.is_last = size >= code.size() - at;
    places_.emplace(address + at, place);
    at += size;
  }
}

/// Forgets padding that is longer than any stub: rows over code that only looks like padding are not for the
/// instructions to judge.
void Emulation::forget_long_padding(const Range& range) {
  auto first = places_.lower_bound(range.begin);
  const auto end = places_.lower_bound(range.end);
  while (first != end) {
    auto last = first;
    while (last != end && last->second.instruction.is_padding) ++last;
    const std::uint64_t padding_end = last == end ? range.end : last->first;
    if (padding_end - first->first > largest_gap_in_stubs)
      first = places_.erase(first, last);
    else
      first = last;
    if (first != end && first == last) ++first;
  }
}

/// Runs the analysis to its fixed point: entries are what the worklist begins with.
void Emulation::follow() {
  for (const auto& [pc, place] : places_) {
    const bool is_called = place.is_entry && place.is_code && !place.is_header && !targets_.contains(pc);
    if (is_called && !place.instruction.is_padding) work_.push_back(pc);
  }
  for (const std::uint64_t entry : std::exchange(work_, {})) {
    State state;
    state.has_caller = !places_.at(entry).is_start;
    arrive(entry, state);
  }
  follow_arrivals();
  // An entry pushes a word and jumps to the header. So it would be if there were any.
  for (const auto& [pc, place] : places_) {
    State state;
    state.pushed = 8;
    if (place.is_header && place.is_entry && !place.state && !place.conflict) arrive(pc, state);
  }
  follow_arrivals();
}

void Emulation::follow_arrivals() {
  while (!work_.empty()) {
    const std::uint64_t pc = work_.back();
    work_.pop_back();
    const Place& place = places_.at(pc);
    if (place.state && !place.conflict) leave(pc, place);
  }
}

void Emulation::arrive(std::uint64_t pc, const State& state) {
  const auto reached = places_.find(pc);
  if (reached == places_.end()) return;
  Place& place = reached->second;
  if (place.state == state || place.conflict) return;
  if (!place.is_code) {
    // Nothing is known of what unknown code does, from its second byte on.
    place.conflict = true;
    return;
  }
  if (place.state) {
    // Whatever follows is as ambiguous.
    place.conflict = true;
    for (auto at = reached; at->second.is_code && goes_on(at->second);) {
      // Places after an ambiguous one have been marked with it.
      if (++at == places_.end() || std::exchange(at->second.conflict, true)) break;
    }
    return;
  }
  place.state = state;
  work_.push_back(pc);
}

void Emulation::leave(std::uint64_t pc, const Place& place) {
  const MachineInstruction& instruction = place.instruction;
  const auto after = state_after(instruction, *place.state);
  if (!after) return;
  if (instruction.target != 0) {
    State at_target = *after;
    const bool pushes_address = abi_.fixed_ra_offset != 0;
    const bool is_call = instruction.flow == Flow::Call;
    if (is_call && pushes_address) at_target.pushed += 8;
    if (!is_call || pushes_address) arrive(instruction.target, at_target);
  }
  if (goes_on(place)) arrive(pc + instruction.size, *after);
}

/// Checks whether control goes on to the next place. A section never goes on into the one next to it, as damaged ones
/// seem to: that one is entered as calls enter it.
bool Emulation::goes_on(const Place& place) {
  return has_next(place.instruction.flow) && !place.is_last;
}

/// Returns the state after an instruction. No value: the return address is not where anyone would look for it.
std::optional<Emulation::State> Emulation::state_after(const MachineInstruction& instruction, State state) {
  if (instruction.needs_no_caller && state.has_caller) return std::nullopt;
  if (instruction.overwrites_top && state.pushed == 0) return std::nullopt;
  if (instruction.saves_frame_record || instruction.saves_return_address) {
    if (state.pushed != 0) return std::nullopt;
    state.address_saved = true;
    state.record_saved = instruction.saves_frame_record;
  }
  if (instruction.saves_registers) {
    if (state.pushed != 0) return std::nullopt;
    state.address_saved = true;
  }
  if (instruction.restores_registers) {
    if (!state.address_saved || state.pushed != instruction.stack_change) return std::nullopt;
    state.address_saved = false;
  }
  if (instruction.needs_saved_address && !state.address_saved) return std::nullopt;
  if (instruction.moves_frame_pointer && !state.record_saved) return std::nullopt;
  if (instruction.restores_frame_record) {
    if (!state.record_saved || state.pushed != instruction.stack_change) return std::nullopt;
    state.address_saved = state.record_saved = false;
  }
  if (instruction.signs) {
    if (state.is_signed == *instruction.signs || state.pushed != 0) return std::nullopt;
    state.is_signed = *instruction.signs;
  }
  state.pushed -= instruction.stack_change;
  return state.pushed < 0 ? std::nullopt : std::optional(state);
}

/// Returns the place of the saved return address, from the CFA. On aarch64 it is in the upper of two words; s390x has
/// r14 at 112 of the 160 bytes that the caller has left.
std::int64_t Emulation::saved_address_offset() const {
  if (abi_.fixed_ra_offset != 0) return abi_.fixed_ra_offset;
  return abi_.stack_pointer_bias != 0 ? abi_.stack_pointer_bias + 112 : -8;
}

const Emulation::Place* Emulation::place_of(std::uint64_t pc) const {
  const auto after = places_.upper_bound(pc);
  if (after == places_.begin()) return nullptr;
  const auto& [start, place] = *std::prev(after);
  return pc - start < place.instruction.size ? &place : nullptr;
}

Emulation::Knowledge Emulation::knowledge_of(std::uint64_t pc) const {
  const Place* const place = place_of(pc);
  if (place == nullptr || place->conflict) return Knowledge::None;
  if (place->state) return Knowledge::State;
  if (place->is_header || (place->instruction.is_padding && !place->is_code)) return Knowledge::NeverEntered;
  return place->instruction.is_padding ? Knowledge::Unreachable : Knowledge::None;
}

std::uint64_t Emulation::boundary_after(std::uint64_t pc) const {
  const auto after = places_.upper_bound(pc);
  const std::uint64_t next = after == places_.end() ? std::numeric_limits<std::uint64_t>::max() : after->first;
  if (after == places_.begin()) return next;
  const auto& [start, place] = *std::prev(after);
  const std::uint64_t size = place.instruction.size;
  return pc - start < size ? std::min(next, start + size) : next;
}

Caller Emulation::caller_at(std::uint64_t pc) const {
  const State& state = place_of(pc)->state.value();
  if (!state.has_caller) return outermost();
  const SyntheticContext context(pc, abi_);
  // A function's entry: the CFA is the caller's stack pointer, which the call lowered by the return address, or that
  // plus what the ABI sets aside.
  const std::int64_t at_entry = abi_.fixed_ra_offset != 0 ? 8 : -std::int64_t{abi_.stack_pointer_bias};
  const std::int64_t cfa_offset = at_entry + state.pushed;
  const std::uint64_t cfa = context.register_value(abi_.stack_pointer) + static_cast<std::uint64_t>(cfa_offset);
  const std::int64_t address_offset = saved_address_offset();
  const bool address_in_memory = abi_.fixed_ra_offset != 0 || state.address_saved;
  Caller caller;
  caller.stack_pointer = cfa + static_cast<std::uint64_t>(std::int64_t{abi_.stack_pointer_bias});
  caller.return_address = address_in_memory ? context.read_memory(cfa + static_cast<std::uint64_t>(address_offset))
                                            : context.register_value(abi_.return_address);
  caller.frame_pointer =
      state.record_saved ? context.read_memory(cfa - 16) : context.register_value(abi_.frame_pointer);
  if (state.is_signed) caller.signing = Caller::Signing::KeyA;
  caller.cfa_text = sframe::place_text(sframe::register_name(abi_.abi, abi_.stack_pointer), cfa_offset, false);
  caller.text = "CFA " + caller.cfa_text + ", RA " +
                (address_in_memory ? sframe::place_text("CFA", address_offset, true)
                                   : sframe::register_name(abi_.abi, abi_.return_address)) +
                text_of(caller.signing) + ", FP " +
                (state.record_saved ? "*(CFA-16)" : sframe::register_name(abi_.abi, abi_.frame_pointer));
  return caller;
}

}  // namespace sframe_gen::verify
