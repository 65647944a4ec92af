#include "encode/from_section.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "emit/dialect.hpp"
#include "sframe/format.hpp"
#include "sframe/pc_rows.hpp"
#include "sframe_gen/encode.hpp"
#include "sframe_gen/find_rows.hpp"

namespace sframe_gen::encode {
namespace {

/// Why no descriptor can hold the row, whatever its type. Sections of files have no such rows; those of callers may.
std::optional<Unrepresentable> why_not_any(const sframe::RecoveryRules& recovery, const emit::Dialect& dialect) {
  const sframe::AbiTraits& abi = *dialect.abi;
  const auto has_register = [&](const sframe::Rule& rule) {
    return !rule.base_register || sframe::is_machine_register(abi, *rule.base_register);
  };
  if (!recovery.cfa.base_register || !has_register(recovery.cfa)) return Unrepresentable::CfaBaseIsNoRegister;
  if (!sframe::word_of_cfa_offset(recovery.cfa.offset, abi)) return Unrepresentable::OffsetUnaligned;
  const std::int64_t counted = std::int64_t{recovery.cfa.offset} - abi.cfa_offset_bias;
  if (counted != static_cast<std::int32_t>(counted)) return Unrepresentable::OffsetTooLarge;
  for (const auto& rule : {recovery.return_address, recovery.frame_pointer}) {
    if (!rule) continue;
    if (!has_register(*rule)) return Unrepresentable::RuleBaseIsNoRegister;
    // Its control word would be 0, which is padding.
    if (!rule->base_register && !rule->dereferenced) return Unrepresentable::ValueIsCfaPlusOffset;
  }
  if (recovery.mangled_ra && !abi.signs_return_address) return Unrepresentable::SignedReturnAddress;
  return std::nullopt;
}

/// Rows of a section become descriptors of another version, one after the other.
class Translation {
 public:
  Translation(const std::string& file, const emit::Dialect& dialect) : file_(file), dialect_(dialect) {}

  std::vector<sframe::Fde> translate(const sframe::Section& section) {
    for (const sframe::Fde& fde : section.fdes) {
      if (can_repeat(fde)) {
        take(fde);
      } else {
        write_out(fde, section.version);
      }
    }
    std::ranges::sort(fdes_, {}, &sframe::Fde::start);
    return std::move(fdes_);
  }

 private:
  bool can_repeat(const sframe::Fde& fde) const {
    return fde.pc_type == sframe::PcType::Mask && fde.repeat_size != 0 && dialect_.version->has_repeat_size &&
           !fde.fres.empty() && fde.fres.front().pc_offset == 0;
  }

  [[noreturn]] void refuse(std::uint64_t pc, Unrepresentable reason) const {
    throw CannotRepresent(file_, pc, reason, dialect_.version->version);
  }

  void check(std::uint64_t pc, const sframe::Fde& fde, const std::optional<sframe::RecoveryRules>& recovery) const {
    if (fde.signal_frame && !dialect_.version->marks_signal_frames) refuse(pc, Unrepresentable::SignalFrame);
    if (!recovery) {
      if (!dialect_.undefined_ra_rows) refuse(pc, Unrepresentable::ReturnAddressUndefined);
      return;
    }
    if (recovery->mangled_ra && !dialect_.version->has_mangled_ra) refuse(pc, Unrepresentable::SignedReturnAddress);
    if (const auto reason = why_not_any(*recovery, dialect_)) refuse(pc, *reason);
    const auto reason = why_not_default(*recovery, dialect_);
    if (reason && !dialect_.flexible_descriptors) refuse(pc, *reason);
  }

  void take(const sframe::Fde& fde) {
    for (const sframe::Fre& fre : fde.fres) check(fde.start + fre.pc_offset, fde, fre.recovery);
    fdes_.push_back(fde);
    set_type(fdes_.back());
  }

  /// Each stretch by itself: rows of version 1 may be bit masks, and blocks that repeat have no word there.
  void write_out(const sframe::Fde& fde, sframe::Version version) {
    open_ = false;
    const auto add = [&](std::uint64_t begin, std::uint64_t end, const sframe::Fre& fre) {
      add_row(fde, fde.start + begin, fde.start + end, fre.recovery);
    };
    if (sframe::is_outermost_throughout(fde, version)) {
      if (fde.size != 0) add(0, fde.size, {});
    } else {
      sframe::for_each_interval(fde, add);
    }
    if (open_) set_type(fdes_.back());
  }

  void add_row(const sframe::Fde& fde, std::uint64_t begin, std::uint64_t end,
               const std::optional<sframe::RecoveryRules>& recovery) {
    check(begin, fde, recovery);
    const bool goes_on =
        open_ && fdes_.back().start + fdes_.back().size == begin && fdes_.back().fres.size() < dialect_.most_rows;
    if (!goes_on) {
      if (open_) set_type(fdes_.back());
      const bool keyed = fde.b_key && dialect_.version->has_mangled_ra;
      fdes_.push_back({begin, 0, fde.signal_frame, keyed, sframe::PcType::Increment, 0, sframe::FdeType::Default, {}});
      open_ = true;
    }
    sframe::Fde& made = fdes_.back();
    if (made.fres.empty() || made.fres.back().recovery != recovery)
      made.fres.push_back({static_cast<std::uint32_t>(begin - made.start), recovery});
    made.size = static_cast<std::uint32_t>(end - made.start);
  }

  void set_type(sframe::Fde& fde) const {
    const bool plain = std::ranges::all_of(
        fde.fres, [&](const sframe::Fre& fre) { return !fre.recovery || !why_not_default(*fre.recovery, dialect_); });
    fde.type = plain ? sframe::FdeType::Default : sframe::FdeType::Flexible;
  }

  const std::string& file_;
  const emit::Dialect& dialect_;
  std::vector<sframe::Fde> fdes_;
  bool open_ = false;  ///< whether the last one is of the descriptor that is being written out
};

}  // namespace

std::vector<sframe::Fde> fdes_of(const sframe::Section& section, const emit::Dialect& dialect,
                                 const std::string& file) {
  sframe::check_repeats(section, file);
  return Translation(file, dialect).translate(section);
}

}  // namespace sframe_gen::encode
