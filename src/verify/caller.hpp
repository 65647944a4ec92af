#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sframe/abi.hpp"
#include "sframe_gen/section.hpp"
#include "verify/dwarf_session.hpp"
#include "verify/stack_pointer_proof.hpp"
#include "verify/synthetic_context.hpp"

namespace sframe_gen::verify {

/// The caller's registers, as numbers in the made-up context, and how they came about in words.
struct Caller {
  bool exists = true;  ///< false: RA undefined, the rest means nothing
  std::optional<std::uint64_t> stack_pointer;
  std::optional<std::uint64_t> frame_pointer;
  std::optional<std::uint64_t> return_address;
  enum class Signing : std::uint8_t { None, KeyA, KeyB, Unknown } signing = Signing::None;  ///< of the return address
  bool depends_on_pc = false;  ///< a rule reads the PC: at the next one the caller may be another, in the same row
  std::string cfa_text;        ///< "rsp+8", "*(rbp-8)", "expression"
  std::string text;            ///< all of it: "CFA rsp+16, RA *(CFA-8), FP *(CFA-16)"
};

/// Whether somebody reads the texts: they cost more than the numbers, and only differences are shown.
enum class Wording : std::uint8_t { Numbers, Texts };

/// Whether both give the same caller. A value one side does not know makes them differ.
bool same_caller(const Caller& a, const Caller& b);

/// " (signed with key A)", or nothing.
std::string text_of(Caller::Signing signing);

/// What libdwarf's evaluation of FDE `fde_index` says at `pc`.
Caller dwarf_caller(const verify::DwarfSession& session, std::size_t fde_index, std::uint64_t pc,
                    const sframe::AbiTraits& abi, StackPointerProofs& proofs, Wording wording = Wording::Texts);

/// What a row of `fde` in `section` says at `pc`.
Caller sframe_caller(const std::optional<sframe::RecoveryRules>& recovery, const sframe::Fde& fde,
                     const sframe::Section& section, std::uint64_t pc, Wording wording = Wording::Texts);

}  // namespace sframe_gen::verify
