#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "emit/dialect.hpp"
#include "emit/spelled_encoder.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/section.hpp"

namespace sframe_gen::unwind::test {

/// Sound sections that no program has: any rule a dialect can say, any widths, gaps, functions without bytes.
class RandomSections {
 public:
  RandomSections(const emit::Dialect& dialect, unsigned seed) : dialect_(dialect), random_(seed) {}

  std::vector<std::byte> section(std::uint64_t address, std::uint64_t first_start) {
    sframe_gen::test::SpelledEncoder encoder(dialect_);
    std::uint64_t start = first_start;
    const unsigned count = 1 + below(12);
    for (unsigned i = 0; i < count; ++i) {
      const sframe::Fde function = random_function(start);
      encoder.add(function);
      start += function.size + (below(2) == 0 ? 0 : below(40));
    }
    return encoder.encode(address);
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(random_() % limit); }

  std::int32_t offset() {
    constexpr std::int32_t ranges[]{0x10, 0x70, 0x7000, 0x7000000};
    const std::int32_t range = ranges[below(4)];
    return static_cast<std::int32_t>(below(2 * static_cast<std::uint32_t>(range))) - range;
  }

  sframe::Rule rule(bool flexible, bool saved) {
    sframe::Rule made;
    made.offset = offset();
    made.dereferenced = saved;
    if (!flexible) return made;
    const std::uint32_t registers[]{dialect_.abi->stack_pointer, dialect_.abi->frame_pointer, 10, 31};
    if (below(3) != 0) made.base_register = registers[below(4)];
    made.dereferenced = below(2) == 0 || !made.base_register;
    return made;
  }

  sframe::Rule cfa_rule(bool flexible) {
    const sframe::AbiTraits& abi = *dialect_.abi;
    sframe::Rule made{below(2) == 0 ? abi.stack_pointer : abi.frame_pointer, 0, false};
    if (flexible && below(2) == 0) made = {below(32), 0, below(2) == 0};
    made.offset = static_cast<std::int32_t>(below(2) == 0 ? below(100) : below(1U << 20U)) * abi.cfa_offset_unit +
                  abi.cfa_offset_bias;
    return made;
  }

  std::optional<sframe::RecoveryRules> recovery(bool flexible) {
    for (;;) {
      if (dialect_.undefined_ra_rows && dialect_.version->has_repeat_size && below(8) == 0) return std::nullopt;
      sframe::RecoveryRules made;
      made.cfa = cfa_rule(flexible);
      if (below(2) == 0) made.return_address = rule(flexible, true);
      if (below(2) == 0) made.frame_pointer = rule(flexible, true);
      made.mangled_ra = dialect_.version->has_mangled_ra && dialect_.abi->signs_return_address && below(4) == 0;
      // Where only a default row can be had, it must be one.
      if (flexible || !emit::why_not_default(made, dialect_)) return made;
    }
  }

  sframe::Fde random_function(std::uint64_t start) {
    constexpr std::uint32_t sizes[]{0x30, 0xff, 0x100, 0xffff, 0x10000, 0x20000};
    sframe::Fde function;
    function.start = start;
    function.size = sizes[below(3 + below(4))] - below(0x20);
    if (below(10) == 0) function.size = 1;
    function.type =
        dialect_.version->has_flexible_fdes && below(3) == 0 ? sframe::FdeType::Flexible : sframe::FdeType::Default;
    function.signal_frame = dialect_.version->marks_signal_frames && below(4) == 0;
    function.b_key = dialect_.version->has_mangled_ra && dialect_.abi->signs_return_address && below(4) == 0;
    std::uint32_t limit = function.size;
    if (below(4) == 0) {
      function.pc_type = sframe::PcType::Mask;
      if (dialect_.version->has_repeat_size) {
        function.repeat_size = static_cast<std::uint8_t>(1 + below(40));
        limit = std::min<std::uint32_t>(limit, function.repeat_size);
      }
    }
    std::set<std::uint32_t> starts{below(8) == 0 ? below(limit) : 0};
    for (unsigned i = below(9); i > 0; --i) starts.insert(below(below(2) == 0 ? std::min(limit, 20U) : limit));
    const bool flexible = function.type == sframe::FdeType::Flexible;
    for (const std::uint32_t row_start : starts) function.fres.push_back({row_start, recovery(flexible)});
    return function;
  }

  const emit::Dialect& dialect_;
  std::mt19937 random_;
};

}  // namespace sframe_gen::unwind::test
