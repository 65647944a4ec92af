#include "rows/go/effect.hpp"
#include "support/endian.hpp"

/// Arm Architecture Reference Manual for A-profile, chapter C4: the encodings of A64. An instruction whose lowest field
/// names a register may write it, unless it is known not to.
namespace sframe_gen::rows::go {

namespace {

constexpr std::uint32_t frame_pointer = 29, link = 30, stack_pointer = 31;

std::int64_t sign_extended(std::uint32_t value, unsigned bits) {
  const unsigned unused = 64 - bits;
  return static_cast<std::int64_t>(std::uint64_t{value} << unused) >> unused;
}

class Word {
 public:
  explicit Word(std::uint32_t bits) : bits_(bits) {
    effect_.size = 4;
    effect_.is_padding = bits == 0xd503201f;
  }

  Effect run() {
    if ((bits_ >> 26U & 7U) == 5) {
      read_branch();
    } else if ((bits_ >> 25U & 5U) == 4) {
      read_memory();
    } else if ((bits_ >> 23U & 0x3fU) == 0x22) {
      read_add_immediate();
    } else {
      write(field(0));
      // SP may be the destination of logical immediates, and of additions of an extended register.
      const bool logical = (bits_ >> 23U & 0x3fU) == 0x24 && (bits_ >> 29U & 3U) != 3;
      const bool extended = (bits_ >> 21U & 0xffU) == 0x59 && (bits_ >> 29U & 1U) == 0;
      if (field(0) == stack_pointer && (logical || extended)) effect_.moves_stack = true;
    }
    return effect_;
  }

 private:
  std::uint32_t field(unsigned shift) const { return bits_ >> shift & 31U; }

  void write(std::uint32_t number) {
    if (number == frame_pointer) effect_.frame_pointer = Change::Other;
    if (number == link) effect_.link = Change::Other;
  }

  void read_branch() {
    if ((bits_ >> 26U & 31U) == 5) {  // b, bl
      effect_.is_call = bits_ >> 31U != 0;
      effect_.goes_on = effect_.is_call;
      if (effect_.is_call) {
        effect_.link = Change::Other;
      } else {
        effect_.jump = sign_extended(bits_ & 0x3ffffffU, 26) * 4;
      }
    } else if ((bits_ >> 25U) == 0x6b) {  // br, blr, ret
      effect_.is_call = (bits_ >> 21U & 3U) == 1;
      effect_.goes_on = effect_.is_call;
      effect_.is_return = (bits_ >> 21U & 15U) == 2;
      if (effect_.is_call) effect_.link = Change::Other;
    } else if ((bits_ >> 25U & 0x3fU) == 0x1a || (bits_ >> 25U & 0x7fU) == 0x2a) {  // cbz, b.cond
      effect_.jump = sign_extended(bits_ >> 5U & 0x7ffffU, 19) * 4;
    } else if ((bits_ >> 25U & 0x3fU) == 0x1b) {  // tbz
      effect_.jump = sign_extended(bits_ >> 5U & 0x3fffU, 14) * 4;
    } else if ((bits_ >> 24U) == 0xd4) {  // svc, brk
      effect_.goes_on = (bits_ & 0x1fU) == 1;
    } else if ((bits_ >> 21U) == 0x6a9) {  // mrs
      write(field(0));
    }
  }

  void read_add_immediate() {
    const bool flags = (bits_ >> 29U & 1U) != 0, subtract = (bits_ >> 30U & 1U) != 0, wide = bits_ >> 31U != 0;
    const std::int64_t value = std::int64_t{bits_ >> 10U & 0xfffU} << ((bits_ >> 22U & 1U) != 0 ? 12U : 0U);
    if (flags || field(0) != stack_pointer) return write(field(0));
    if (wide && field(5) == stack_pointer) {
      effect_.stack_rise = subtract ? -value : value;
    } else {
      effect_.moves_stack = true;
    }
  }

  void read_memory() {
    const bool vector = (bits_ >> 26U & 1U) != 0;
    const std::uint32_t kind = bits_ >> 27U & 7U;  // 101: pairs; 111: one register
    if (kind == 5) return read_pair(vector);
    if (kind == 7) return read_single(vector);
    // Exclusive ones, literals and structures of vectors.
    write(field(0));
    write(field(10));
    write(field(16));
    if (vector && (bits_ >> 23U & 1U) != 0) write_base();
  }

  void read_pair(bool vector) {
    const std::uint32_t mode = bits_ >> 23U & 3U;  // 0: non-temporal, 1: post-index, 2: offset, 3: pre-index
    const bool loads = (bits_ >> 22U & 1U) != 0, wide = bits_ >> 30U == 2 && mode != 0;
    const std::int64_t offset = sign_extended(bits_ >> 15U & 0x7fU, 7) * 8;
    if ((mode & 1U) != 0) index(offset, !vector && wide);
    if (vector) return;
    const std::int64_t place = (mode & 1U) != 0 ? place_when_indexed(loads, mode == 3, offset) : offset;
    transfer(field(0), loads, wide, place);
    transfer(field(10), loads, wide, place + 8);
  }

  void read_single(bool vector) {
    const std::uint32_t size = bits_ >> 30U, operation = bits_ >> 22U & 3U;
    const bool unsigned_offset = (bits_ >> 24U & 1U) != 0, wide = size == 3 && operation < 2;
    const bool atomic_or_register = !unsigned_offset && (bits_ >> 21U & 1U) != 0;
    const std::uint32_t mode = bits_ >> 10U & 3U;  // 0: offset, 1: post-index, 2: unprivileged, 3: pre-index
    const std::int64_t near = sign_extended(bits_ >> 12U & 0x1ffU, 9);
    const bool indexes = !unsigned_offset && !atomic_or_register && (mode & 1U) != 0;
    if (indexes) index(near, true);
    if (vector) return;
    if (atomic_or_register && mode != 2) return write(field(0));
    const bool exact = wide && !atomic_or_register && (unsigned_offset || mode != 2);
    const std::int64_t place = unsigned_offset ? std::int64_t{bits_ >> 10U & 0xfffU} * 8
                               : indexes       ? place_when_indexed(operation != 0, mode == 3, near)
                                               : near;
    transfer(field(0), operation != 0, exact, place);
  }

  /// A base register that is written as well.
  void index(std::int64_t rise, bool known) {
    if (field(5) != stack_pointer) return write(field(5));
    effect_.stack_rise = rise;
    effect_.moves_stack = !known;
  }
  /// Bytes from SP, as it is after a store or before a load, whose instruction raises SP before or after the access.
  static std::int64_t place_when_indexed(bool loads, bool before, std::int64_t rise) {
    if (loads) return before ? rise : 0;
    return before ? 0 : -rise;
  }
  void write_base() {
    if (field(5) == stack_pointer) effect_.moves_stack = true;
    write(field(5));
  }

  void transfer(std::uint32_t number, bool loads, bool wide, std::int64_t place) {
    if (number != frame_pointer && number != link) return;
    const bool at_stack = wide && field(5) == stack_pointer;
    if (!loads && !at_stack) return;
    const Change change = !at_stack ? Change::Other : loads ? Change::Restored : Change::Saved;
    if (number == frame_pointer) {
      effect_.frame_pointer = change;
      effect_.place = place;
    } else {
      effect_.link = change;
      effect_.link_place = place;
    }
  }

  std::uint32_t bits_;
  Effect effect_;
};

}  // namespace

std::optional<Effect> effect_aarch64(std::span<const std::byte> code) {
  if (code.size() < 4) return std::nullopt;
  return Word(load<std::uint32_t>(code, Endian::Little)).run();
}

}  // namespace sframe_gen::rows::go
