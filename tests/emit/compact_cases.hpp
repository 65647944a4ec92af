#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "emit/compact/compacted.hpp"
#include "emit/dialects.hpp"
#include "emit/spelled_encoder.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/section.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

/// Compact sections that a person can read: functions as words go in, descriptors as words come out.
namespace sframe_gen::test {

/// Between the functions of a test: padding, but for the place named.
struct TestGaps {
  std::uint64_t code_at = 0;

  SpelledStream stream(emit::EncodedRules& rules) const {
    return SpelledStream(rules, [code = code_at](std::uint64_t begin, std::uint64_t) { return begin != code; });
  }
};

/// One row: `fp` 0 is an unchanged frame pointer.
struct TestRow {
  std::uint32_t at = 0;
  std::int32_t sp = 0;
  std::int32_t fp = 0;
};

inline sframe::Fde function(std::uint64_t start, std::uint32_t size, std::initializer_list<TestRow> rows) {
  sframe::Fde fde;
  fde.start = start;
  fde.size = size;
  for (const TestRow& row : rows) {
    sframe::RecoveryRules rules{{7, row.sp, false}, {}, {}, false};
    if (row.fp != 0) rules.frame_pointer = sframe::Rule::at_cfa(row.fp);
    fde.fres.push_back({row.at, rules});
  }
  return fde;
}

inline emit::Dialect compact(std::uint32_t most_rows = 32, OutputFormat format = {}) {
  format.compact_rows = most_rows;
  return dialect_of(sframe::Abi::Amd64, format);
}

struct CompactSection {
  std::vector<std::byte> bytes;
  sframe::Section section;
  Compaction saved;
};

inline CompactSection compact_section(const std::vector<sframe::Fde>& fdes, const emit::Dialect& dialect,
                                      const TestGaps& gaps) {
  emit::EncodedRules rules(dialect);
  SpelledStream stream = gaps.stream(rules);
  for (const sframe::Fde& fde : fdes) stream.add(fde);
  const emit::compact::Compacted made = emit::compact::encode(stream, dialect);
  CompactSection result{made.encoder.encode(0x100000), {}, made.saved};
  const auto family = dialect.version->version == Version::CtfFrame ? sframe::Family::CtfFrame : sframe::Family::SFrame;
  result.section = sframe::decode(result.bytes, 0x100000, {"test", ".sframe"}, {}, family);
  return result;
}

/// The offset of a descriptor's rows, as its bytes have it.
inline std::uint32_t rows_at(const CompactSection& compact, std::size_t fde) {
  const sframe::VersionTraits& version = sframe::traits_of(compact.section.version);
  const std::size_t field = version.header_size() + fde * version.descriptor_size + version.start_size + 4;
  return load<std::uint32_t>(std::span(compact.bytes).subspan(field), Endian::Little);
}

/// "0x1000+0x20 rows at 0: 0 sp+8, 1 sp+16 c-16", a line for each descriptor.
inline std::string text_of(const CompactSection& compact) {
  std::string text;
  for (std::size_t i = 0; i < compact.section.fdes.size(); ++i) {
    const sframe::Fde& fde = compact.section.fdes[i];
    text += hex(fde.start) + '+' + hex(fde.size) + (fde.signal_frame ? " signal" : "") +
            (fde.type == sframe::FdeType::Flexible ? " flexible" : "") + " rows at " +
            std::to_string(rows_at(compact, i)) + ':';
    for (const sframe::Fre& fre : fde.fres) {
      text += (&fre == &fde.fres.front() ? " " : ", ") + std::to_string(fre.pc_offset);
      if (!fre.recovery) {
        text += " outermost";
        continue;
      }
      text += (fre.recovery->cfa.base_register == 7U ? " sp+"
                                                     : " r" + std::to_string(*fre.recovery->cfa.base_register) + '+') +
              std::to_string(fre.recovery->cfa.offset);
      if (fre.recovery->frame_pointer) text += " c" + std::to_string(fre.recovery->frame_pointer->offset);
    }
    text += '\n';
  }
  return text;
}

}  // namespace sframe_gen::test
