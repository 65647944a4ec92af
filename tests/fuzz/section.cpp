// Any bytes as a section: decoded, dumped, looked up, surveyed as --check does, and written again.

#include <algorithm>
#include <optional>
#include <sstream>

#include "emit/encoded_rules.hpp"
#include "emit/encoder.hpp"
#include "readers/survey.hpp"
#include "sframe/dump.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/find_rows.hpp"
#include "sframe_gen/view.hpp"
#include "target.hpp"

namespace sframe_gen::fuzz {

namespace {

/// What both readers say of the function's PCs.
void look_up(const sframe::Section& section, const sframe::SectionView& view, const sframe::Fde& fde) {
  for (const std::uint64_t offset : {0U, 1U, fde.size / 2, fde.size - 1}) {
    if (fde.size == 0 || fde.start + offset < fde.start) continue;
    require(sframe::find_fde(section, fde.start + offset) == &fde, "a PC leads to its function");
    const sframe::Lookup found = view.lookup(fde.start + offset);
    const sframe::Fre* const fre = sframe::find_fre(fde, offset);
    const bool is_row = fre != nullptr && fre->recovery.has_value();
    require((found.kind == sframe::Lookup::Kind::Row) == is_row, "decoder and view find a row at the same PCs");
    require(found.kind != sframe::Lookup::Kind::Damaged, "what was checked is not damaged");
  }
}

/// Only what the encoder takes: each function with its rows inside.
void write_again(const sframe::Section& section) {
  OutputFormat format;
  format.version = section.version;
  std::vector<sframe::Fde> fdes = section.fdes;
  std::ranges::stable_sort(fdes, {}, &sframe::Fde::start);
  for (const sframe::Fde& fde : fdes)
    if (fde.fres.empty() || fde.fres.front().pc_offset != 0 || fde.fres.back().pc_offset >= fde.size) return;
  emit::Dialect dialect = emit::make_dialect(format, section.abi, "fuzz");
  emit::EncodedRules encoded_rules(dialect);
  emit::SectionEncoder encoder(dialect);
  for (const sframe::Fde& fde : fdes) encoder.add(emit::with_encoded_rules(fde, encoded_rules), encoded_rules);
  const auto family = section.version == sframe::Version::CtfFrame ? sframe::Family::CtfFrame : sframe::Family::SFrame;
  const auto bytes = encoder.encode(section.address);
  require(sframe::decode(bytes, section.address, {"fuzz", "again"}, {}, family).fdes == fdes,
          "what is written is read");
}

}  // namespace

void section(Bytes input) {
  Choices choices(input);
  const auto family = choices.byte() % 4 == 0 ? sframe::Family::CtfFrame : sframe::Family::SFrame;
  const std::uint64_t address = std::uint64_t{choices.byte()} << 12U;
  const Bytes bytes = choices.rest();
  for (const bool is_object : {false, true}) {
    readers::Findings findings;
    readers::survey_section(bytes, address, sframe::amd64_traits, is_object, findings);
  }
  sframe::SectionView view;
  const bool is_open = !view.open(bytes, address, family);
  std::optional<sframe::Section> decoded;
  if (!succeeds([&] { decoded = sframe::decode(bytes, address, {"fuzz", ".sframe"}, {}, family); })) return;
  require(is_open, "a view takes what decode() takes");
  std::ostringstream text;
  sframe::dump(*decoded, ".sframe", text);
  for (const sframe::Fde& fde : decoded->fdes) look_up(*decoded, view, fde);
  succeeds([&] {
    try {
      write_again(*decoded);
    } catch (const std::range_error&) {  // too far for starts of 32 bits
    }
  });
}

}  // namespace sframe_gen::fuzz
