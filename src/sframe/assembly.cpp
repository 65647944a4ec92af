#include "sframe/assembly.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string_view>

#include "sframe/dump.hpp"
#include "sframe/format.hpp"
#include "sframe/parser.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::sframe {
namespace {

/// Columns of a value that a comment follows.
constexpr std::size_t value_width = 20;

/// Bytes of a name that would end the comment, or the line, become something harmless.
std::string comment(std::string_view text) {
  std::string inner = printable(text);
  for (auto end = inner.find("*/"); end != std::string::npos; end = inner.find("*/", end + 1))
    inner.insert(end + 1, " ");
  return "/* " + inner + " */";
}

const char* directive(unsigned size) {
  switch (size) {
    case 1:
      return ".byte";
    case 2:
      return ".2byte";
    case 4:
      return ".4byte";
    default:
      return ".8byte";
  }
}

/// Goes through the section's bytes front to back and writes a line for each field.
class Assembler {
 public:
  Assembler(std::span<const std::byte> bytes, const Section& section, std::span<const AssemblyFunction> fdes)
      : section_(section),
        version_(traits_of(section.version)),
        rules_(section),
        fdes_(fdes),
        origin_{{}, std::string(version_.section_name)},
        bytes_(bytes, section.endian, origin_) {
    const Family family = section.version == Version::CtfFrame ? Family::CtfFrame : Family::SFrame;
    Header header;
    read_header(
        bytes, section.address, family, [](const Fault&) { return true; }, header);
    const SectionReader reader(header.fields);
    for (std::uint32_t i = 0; i < header.fields.count; ++i) fields_.push_back(reader.fde_at(i));
  }

  std::string run(const AssemblyFrame& frame) {
    for (const std::string& line : frame.comments) text_.append(comment(line)).append("\n");
    for (const std::string& line : frame.prologue) text_.append("\t").append(line).append("\n");
    text_.append("\t.pushsection ").append(version_.section_name).append(",\"a\",%").append(frame.section_type);
    text_.append("\n\t.balign 8\n");
    header();
    for (std::size_t i = 0; i < section_.fdes.size(); ++i) index_entry(i);
    for (const std::size_t i : by_rows()) fres_of(i);
    if (!bytes_.at_end()) line(".zero", std::to_string(bytes_.left()), "padding");
    text_.append("\t.popsection\n");
    return std::move(text_);
  }

 private:
  void line(const char* name, const std::string& value, const char* meaning) {
    text_.append("\t").append(name).append("\t").append(value);
    if (*meaning != '\0') {
      text_.append(std::max(value_width, value.size() + 1) - value.size(), ' ');
      text_.append("/* ").append(meaning).append(" */");
    }
    text_ += '\n';
  }

  std::uint64_t take(unsigned size, const char* what) {
    switch (size) {
      case 1:
        return bytes_.u8(what);
      case 2:
        return bytes_.u16(what);
      case 4:
        return bytes_.u32(what);
      default:
        return bytes_.u64(what);
    }
  }

  void field(unsigned size, const char* meaning) { line(directive(size), hex(take(size, meaning)), meaning); }
  void count(unsigned size, const char* meaning) {
    line(directive(size), std::to_string(take(size, meaning)), meaning);
  }
  void signed_field(unsigned size, const char* meaning) {
    const std::int64_t value = size == 1 ? bytes_.i8(meaning) : size == 2 ? bytes_.i16(meaning) : bytes_.i32(meaning);
    line(directive(size), std::to_string(value), meaning);
  }

  void header() {
    field(2, "magic");
    field(1, "version");
    field(1, "flags");
    field(1, "ABI");
    signed_field(1, "fixed offset of FP");
    signed_field(1, "fixed offset of RA");
    if (version_.has_auxiliary_header) count(1, "length of the auxiliary header");
    count(4, "number of functions");
    count(4, "number of rows");
    count(4, "bytes of rows");
    field(4, "functions at");
    field(4, "rows at");
  }

  std::string title(std::size_t index) const {
    const Fde& fde = section_.fdes[index];
    std::string text = "func idx [" + std::to_string(index) + "]: ";
    text.append(fdes_[index].name.empty() ? "(no symbol)" : fdes_[index].name);
    text.append(", size = ").append(std::to_string(fde.size)).append(" bytes");
    const bool flexible = fde.type == FdeType::Flexible;
    if (fde.signal_frame || flexible)
      text.append(", attr = \"").append(fde.signal_frame ? "S" : "").append(flexible ? "F\"" : "\"");
    if (fde.b_key) text.append(", pauth = B key");
    if (fde.pc_type == PcType::Mask) text.append(", repeating");
    return text;
  }

  void index_entry(std::size_t index) {
    text_.append(comment(title(index))).append("\n");
    const unsigned size = version_.start_size;
    take(size, "start");
    line(directive(size), fdes_[index].start, "start");
    field(4, "size");
    field(4, "rows at");
    if (version_.splits_descriptor) return;
    count(4, "number of rows");
    field(1, "info");
    if (!version_.has_repeat_size) return;
    count(1, "size of the block that repeats");
    count(2, "padding");
  }

  /// Functions in the order of their rows; of those that have them in one place, the one that has the most.
  std::vector<std::size_t> by_rows() const {
    std::vector<std::size_t> order(section_.fdes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      if (fields_[a].rows_at != fields_[b].rows_at) return fields_[a].rows_at < fields_[b].rows_at;
      return section_.fdes[a].fres.size() > section_.fdes[b].fres.size();
    });
    const auto same_place = [&](std::size_t a, std::size_t b) { return fields_[a].rows_at == fields_[b].rows_at; };
    order.erase(std::unique(order.begin(), order.end(), same_place), order.end());
    return order;
  }

  void fres_of(std::size_t index) {
    text_.append(comment("rows of " + title(index))).append("\n");
    const Fde& fde = section_.fdes[index];
    if (version_.splits_descriptor) {
      count(2, "number of rows");
      field(1, "info");
      field(1, "info 2");
      count(1, "size of the block that repeats");
    }
    for (const Fre& fre : fde.fres) {
      text_.append("/* ").append(fre_text(fde, fre)).append(" */\n");
      field(fields_[index].start_width, "");
      const FreInfo info(static_cast<std::uint8_t>(take(1, "info")));
      line(directive(1), hex(info.byte()), "");
      const unsigned word = 1U << info.word_width();
      for (unsigned i = 0; i < info.word_count(); ++i) signed_field(word, "");
    }
  }

  /// "+0x4: sp+16 c-16 f": CFA, FP, RA.
  std::string fre_text(const Fde& fde, const Fre& fre) const {
    std::string text = "+" + hex(fre.pc_offset) + ": ";
    if (!fre.recovery) return text + "RA undefined";
    rules_.append_cfa(text, fre.recovery->cfa, fde.type);
    text += ' ';
    rules_.append_frame_pointer(text, *fre.recovery);
    text += ' ';
    rules_.append_return_address(text, *fre.recovery, fde.type);
    if (fre.recovery->mangled_ra) text.append("[s]");
    return text;
  }

  const Section& section_;
  const VersionTraits& version_;
  RuleText rules_;
  std::span<const AssemblyFunction> fdes_;
  InputOrigin origin_;
  ByteReader bytes_;               ///< from the next field on
  std::vector<FdeFields> fields_;  ///< by function
  std::string text_;
};

}  // namespace

std::string assembly_text(std::span<const std::byte> bytes, const Section& section,
                          std::span<const AssemblyFunction> fdes, const AssemblyFrame& frame) {
  assert(fdes.size() == section.fdes.size());
  return Assembler(bytes, section, fdes).run(frame);
}

std::string assembly_name(const std::string& name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  const bool starts_plain = !name.empty() && !(name.front() >= '0' && name.front() <= '9');
  if (starts_plain && std::ranges::all_of(name, is_plain)) return name;
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace sframe_gen::sframe
