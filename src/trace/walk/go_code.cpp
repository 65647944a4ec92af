#include "trace/walk/go_code.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "elf/machine.hpp"
#include "support/endian.hpp"

namespace sframe_gen::trace::walk {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t call_size = 5;  ///< call rel32: e8, the distance

unsigned byte_at(Bytes code, std::size_t place) {
  return std::to_integer<unsigned>(code[place]);
}

std::uint64_t moved(std::uint64_t address, Bytes distance) {
  const auto signed_distance = static_cast<std::int32_t>(load<std::uint32_t>(distance, Endian::Little));
  return address + static_cast<std::uint64_t>(std::int64_t{signed_distance});
}

/// push %rbp; mov %rsp,%rbp of Go 1.21 and later. Before: mov %rbp,distance(%rsp); lea distance(%rsp),%rbp.
bool sets_frame_pointer(Bytes code) {
  constexpr std::array push{0x55U, 0x48U, 0x89U, 0xe5U};
  constexpr std::array move{0x48U, 0x89U};
  constexpr std::array lea{0x48U, 0x8dU};
  const auto has = [&](std::size_t place, std::span<const unsigned> expected) {
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (byte_at(code, place + i) != expected[i]) return false;
    return true;
  };
  if (code.size() >= push.size() && has(0, push)) return true;
  for (const auto& [mode, distance] :
       {std::pair(0x2cU, std::size_t{0}), std::pair(0x6cU, std::size_t{1}), std::pair(0xacU, std::size_t{4})}) {
    constexpr unsigned of_rsp = 0x24;
    const std::size_t size = 4 + distance;
    const std::array address{mode, of_rsp};
    if (code.size() < 2 * size || !has(0, move) || !has(2, address) || !has(size, lea) || !has(size + 2, address))
      continue;
    if (std::ranges::equal(code.subspan(4, distance), code.subspan(size + 4, distance))) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<GoCode> GoCode::of(const elf::Image& image) {
  const elf::Machine* const machine = elf::find_machine(image);
  if (machine == nullptr || machine->abi != sframe::Abi::Amd64 || !elf::has_sections_of_go(image)) return nullptr;
  auto table = elf::GoTable::find(image);
  return table ? std::unique_ptr<GoCode>(new GoCode(image, std::move(*table))) : nullptr;
}

bool GoCode::has_set_frame_pointer(std::uint64_t pc) const {
  // A look at the end of the stack and room for locals come before.
  constexpr std::uint64_t longest = 64;
  const elf::GoTable::Entry* const entry = table_.entry_around(pc);
  if (entry == nullptr) return false;
  const Bytes code = elf::loaded_bytes(image_, entry->start, std::min(pc - entry->start, longest));
  for (std::size_t at = 0; at < code.size(); ++at)
    if (sets_frame_pointer(code.subspan(at))) return true;
  return false;
}

/// Bytes that look like a call of a function's start.
std::vector<GoCode::Call> GoCode::calls_in(const elf::GoTable::Entry& entry) const {
  constexpr int call = 0xe8;
  std::vector<Call> calls;
  const Bytes code = elf::loaded_bytes(image_, entry.start, entry.end - entry.start);
  std::size_t at = 0;
  while (at + call_size <= code.size()) {
    const void* const found = std::memchr(code.data() + at, call, code.size() - call_size + 1 - at);
    if (found == nullptr) break;
    at = static_cast<std::size_t>(static_cast<const std::byte*>(found) - code.data());
    const std::uint64_t return_address = entry.start + at + call_size;
    calls.push_back({moved(return_address, code.subspan(at + 1, call_size - 1)), return_address});
    ++at;
  }
  return calls;
}

/// In the code of all functions.
void GoCode::find_calls() {
  if (std::exchange(calls_are_known_, true)) return;
  std::vector<std::uint64_t> targets;
  for (const elf::GoTable::Entry& entry : table_.entries())
    if (entry.switches_stacks() && table_.name_of(entry) == "runtime.systemstack") targets.push_back(entry.start);
  if (targets.empty()) return;
  for (const elf::GoTable::Entry& entry : table_.entries())
    for (const Call& call : calls_in(entry))
      if (std::ranges::find(targets, call.target) != targets.end()) calls_.push_back(call);
  // Go's runtime has some 400.
  constexpr std::size_t most = 4096;
  if (calls_.size() > most) calls_.clear();
  std::ranges::sort(calls_, {}, &Call::return_address);
}

/// Whether code takes the address of a function, or of a word that has its address: a function that captures nothing is
/// such a word.
bool GoCode::gives(std::uint64_t begin, std::uint64_t end, std::uint64_t function) const {
  constexpr std::size_t size = 7, word = 8;  // lea distance(%rip), register
  const Bytes code = elf::loaded_bytes(image_, begin, end - begin);
  for (std::size_t at = 0; at + size <= code.size(); ++at) {
    constexpr unsigned rex = 0x48, rex_and_register = 0x4c, lea = 0x8d, fixed_bits = 0xc7, of_pc = 0x05;
    const unsigned prefix = byte_at(code, at);
    if ((prefix != rex && prefix != rex_and_register) || byte_at(code, at + 1) != lea ||
        (byte_at(code, at + 2) & fixed_bits) != of_pc)
      continue;
    const std::uint64_t target = moved(begin + at + size, code.subspan(at + 3, 4));
    const Bytes stored = elf::loaded_bytes(image_, target, word);
    if (target == function || (!stored.empty() && load<std::uint64_t>(stored, Endian::Little) == function)) return true;
  }
  return false;
}

std::optional<std::uint64_t> GoCode::return_to_other_stack(std::uint64_t pc, std::uint64_t called, std::uint64_t next) {
  constexpr std::uint64_t longest = 256;  // of the instructions that make what is given
  const elf::GoTable::Entry* const switching = table_.entry_around(pc);
  const elf::GoTable::Entry* const given = table_.entry_around(called);
  if (switching == nullptr || given == nullptr || !switching->switches_stacks()) return std::nullopt;
  find_calls();
  std::optional<std::uint64_t> found;
  std::uint64_t last = 0;
  for (const Call& call : calls_) {
    if (call.target != switching->start) continue;
    const std::uint64_t end = call.return_address - call_size;
    const elf::GoTable::Entry* const caller = table_.entry_around(end);
    if (caller == nullptr) continue;
    const std::uint64_t begin = std::max({caller->start, end - std::min(end, longest), last});
    last = call.return_address;
    if (!gives(begin, end, given->start) || !may_return_from(end, next)) continue;
    if (found) return std::nullopt;
    found = call.return_address;
  }
  return found;
}

std::optional<std::uint64_t> GoCode::return_to_caller_of(std::uint64_t pc, std::uint64_t next) const {
  const elf::GoTable::Entry* const callee = table_.entry_around(pc);
  const Bytes before = elf::loaded_bytes(image_, next - call_size, call_size);
  constexpr unsigned call = 0xe8;
  if (callee == nullptr || before.empty() || byte_at(before, 0) != call) return std::nullopt;
  const std::uint64_t start = moved(next, before.subspan(1));
  const elf::GoTable::Entry* const caller = table_.entry_around(start);
  if (caller == nullptr || caller->start != start) return std::nullopt;
  // Of code to look at, in bytes: files may be made to take time.
  std::uint64_t left = std::uint64_t{1} << 18U;
  const auto may_look_at = [&left](const elf::GoTable::Entry& entry) {
    const std::uint64_t size = std::min(entry.end - entry.start, left);
    left -= size;
    return left != 0;
  };
  if (!may_look_at(*caller)) return std::nullopt;
  std::optional<std::uint64_t> found;
  for (const Call& of_caller : calls_in(*caller)) {
    if (of_caller.target == callee->start) {
      if (found) return std::nullopt;
      found = of_caller.return_address;
      continue;
    }
    const elf::GoTable::Entry* const other = table_.entry_around(of_caller.target);
    if (other == nullptr || other->start != of_caller.target || has_set_frame_pointer(other->end - 1)) continue;
    if (!may_look_at(*other)) return std::nullopt;
    const std::vector<Call> of_other = calls_in(*other);
    if (std::ranges::find(of_other, callee->start, &Call::target) != of_other.end()) return std::nullopt;
  }
  return found;
}

bool GoCode::never_returns_to(std::uint64_t pc) const {
  const elf::GoTable::Entry* const entry = table_.entry_around(pc);
  return entry != nullptr && table_.name_of(*entry) == "runtime.mcall";
}

/// Whether a call of `target` may run the function at `start`: by a jump from the few instructions that adapt one way
/// of passing arguments to another.
bool GoCode::leads_to(std::uint64_t target, std::uint64_t start) const {
  constexpr std::uint64_t longest = 64;
  constexpr unsigned jump = 0xe9;
  if (target == start) return true;
  const elf::GoTable::Entry* const entry = table_.entry_around(target);
  if (entry == nullptr || entry->start != target || entry->end - entry->start > longest) return false;
  const Bytes code = elf::loaded_bytes(image_, entry->start, entry->end - entry->start);
  for (std::size_t at = 0; at + call_size <= code.size(); ++at) {
    const std::uint64_t next = entry->start + at + call_size;
    if (byte_at(code, at) == jump && moved(next, code.subspan(at + 1, call_size - 1)) == start) return true;
  }
  return false;
}

bool GoCode::may_return_from(std::uint64_t callee, std::uint64_t pc) const {
  const elf::GoTable::Entry* const entry = table_.entry_around(callee);
  const Bytes before = elf::loaded_bytes(image_, pc - call_size, call_size);
  constexpr unsigned call = 0xe8;
  if (entry == nullptr) return false;
  return before.empty() || byte_at(before, 0) != call || leads_to(moved(pc, before.subspan(1)), entry->start);
}

}  // namespace sframe_gen::trace::walk
