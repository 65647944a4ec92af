#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sframe_gen/view.hpp"
#include "sframe_gen/visibility.h"

SFRAME_GEN_BEGIN_CXX

/// From a frame to its caller by sections alone: registers in, registers out. Of this process or another one, a core
/// file or a recorded stack, of any machine on any host. Nothing here allocates, throws or locks.
namespace sframe_gen::unwind {

/// Registers by DWARF number: x86-64's 16, aarch64's x0 to x30 and sp, s390x's general and floating-point registers.
struct Registers {
  static constexpr std::uint32_t count = 32;

  std::uint64_t pc = 0;
  std::uint64_t values[count] = {};
  std::uint32_t known = 0;  ///< bit n: values[n] is known. Of a caller only SP and FP are.
  /// The PC is that of an instruction that was interrupted. Else it is a return address, which may follow the last
  /// instruction of its function; the call itself does not.
  std::uint32_t pc_is_exact = 1;

  void set(std::uint32_t number, std::uint64_t value) noexcept {
    values[number] = value;
    known |= 1U << number;
  }
  bool knows(std::uint32_t number) const noexcept { return number < count && (known >> number & 1U) != 0; }
};

/// Why a walk ends.
enum class Stop : std::uint8_t {
  Stepped = 0,  ///< it does not
  Outermost,    ///< there is no caller: a row says so, or the return address is 0
  NoModule,     ///< the PC is in no module
  NoSection,    ///< the PC's module has no section
  NoRow,        ///< no row covers the PC
  UnreadableMemory,
  UnknownRegister,  ///< a rule is based on a register that is not known
  NoProgress,       ///< the stack pointer would not grow
  BadSection,       ///< the section is damaged, or for another machine than the first module's
};
/// Returns a few words for a message: "the outermost frame".
const char* text_of(Stop stop) noexcept;

/// Copies the 8 bytes at `address` of the walked program to `bytes`, in their order. Returns false if it cannot.
using ReadMemory = bool (*)(void* context, std::uint64_t address, void* bytes);

/// Finds the caller of a frame whose PC has no row, as by frame pointers or a table of the caller's own. `why` is
/// NoModule, NoSection, NoRow or BadSection. Returns Stepped with the caller's registers in `registers`; Outermost; or
/// `why`, and leaves `registers` alone. It must not throw.
using Fallback = Stop (*)(void* context, Registers& registers, Stop why);

/// A file in memory.
struct Module {
  std::uint64_t begin = 0, end = 0;           ///< of its code in the walked program: [begin, end)
  std::uint64_t bias = 0;                     ///< such an address minus the one that the view was opened for
  const sframe::SectionView* view = nullptr;  ///< null: it has no section
  /// Is asked where `view` has no row, with the same bias; null: no other view is.
  const sframe::SectionView* second_view = nullptr;
};

/// One remembered row. Zeros are an empty slot.
struct RowSlot {
  std::uint64_t words[4];
};

/// What all steps of a walk have in common.
struct Walked {
  std::span<const Module> modules;  ///< no two overlap. Ascending ones are searched faster.
  ReadMemory read = nullptr;
  void* context = nullptr;  ///< for `read` and `fallback`
  /// aarch64: the bits of a signed return address that are not the address's own. 0 where nothing is signed.
  std::uint64_t signature_mask = 0;
  /// Room for rows by PC, a power of two of slots; empty: none is remembered. Threads, and a signal handler with the
  /// code that it has interrupted, may share it, and so may walks of several programs.
  std::span<RowSlot> rows;
  Fallback fallback = nullptr;  ///< null: a walk ends where there is no row
  /// Tells these modules from others that `rows` were found in, as ModuleMap::generation() does. Rows of another number
  /// are not used. Only the low 32 bits are compared. Before they come again, clear the slots.
  std::uint64_t generation = 0;
};

class Unwinder {
 public:
  /// `walked` refers to memory of the caller's, which must outlive the unwinder.
  explicit Unwinder(const Walked& walked) noexcept;

  /// Replaces the registers of a frame by those of its caller. They stay as they are unless it returns Stepped.
  Stop step(Registers& registers) const noexcept;

  /// Puts the PC of each frame into `pcs`, from the one in `registers` outwards, and returns how many. `stop`:
  /// Stepped if `pcs` is full. `registers` become those of the last frame.
  std::size_t walk(Registers& registers, std::span<std::uint64_t> pcs, Stop& stop) const noexcept;

 private:
  Walked walked_;
  sframe::Abi abi_ = sframe::Abi::Amd64;
  bool has_section_ = false;  ///< whether any module has one, of `abi_`
};

}  // namespace sframe_gen::unwind

SFRAME_GEN_END_CXX
