#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sframe_gen/format.hpp"
#include "sframe_gen/unwind.hpp"
#include "trace/walk/address_space.hpp"

/// Registers in the orders in which kernels hand them out.
namespace sframe_gen::trace::walk {

/// Linux gives programs 48 bits of address on aarch64; what a signature may take of the others, but for bit 55 and the
/// tag in the highest byte.
inline constexpr std::uint64_t signature_mask = 0x007f'0000'0000'0000;

/// The machine that this program was built for.
sframe::Abi host_abi();

/// Reads registers as ptrace and core files store them (NT_PRSTATUS: struct user_regs_struct of x86-64, user_pt_regs of
/// arm64, s390_regs of s390). Returns none if there are too few bytes.
std::optional<unwind::Registers> general_registers(sframe::Abi abi, std::span<const std::byte> bytes);

/// Adds those that code keeps others in: s390x's floating-point registers (NT_FPREGSET, s390_fp_regs). No other
/// machine's rows use any.
void add_floating_point_registers(sframe::Abi abi, std::span<const std::byte> bytes, unwind::Registers& registers);

/// As unwind::add_signal(), of NT_SIGINFO (siginfo_t).
void add_signal(sframe::Abi abi, std::span<const std::byte> bytes, unwind::Registers& registers);

/// The registers that a walk may need, as perf has them in a mask: by the numbers of asm/perf_regs.h.
std::uint64_t registers_to_record(sframe::Abi abi);

/// Returns the registers that perf recorded: `values` of those in `mask`, by the numbers of asm/perf_regs.h.
std::optional<unwind::Registers> recorded_registers(sframe::Abi abi, std::uint64_t mask,
                                                    std::span<const std::uint64_t> values);

/// If the instruction at the PC is the system call that a signal's handler returns to (unwind::find_signal_frame()),
/// puts the interrupted registers into `registers`, and leaves these as they are otherwise.
bool return_from_signal(AddressSpace& space, unwind::Registers& registers, unwind::ReadMemory read, void* context);

}  // namespace sframe_gen::trace::walk
