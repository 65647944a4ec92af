#include "sframe/dump.hpp"

#include <array>
#include <charconv>
#include <ostream>
#include <string>

#include "sframe/format.hpp"
#include "support/text.hpp"

namespace sframe_gen::sframe {
namespace {

void append_number(std::string& line, std::int64_t value) {
  std::array<char, 20> digits{};
  line.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void append_signed(std::string& line, std::int64_t value) {
  if (value >= 0) line += '+';
  append_number(line, value);
}

constexpr std::size_t cfa_width = 10, fp_width = 10, ra_width = 13;

void append_address(std::string& line, std::uint64_t address) {
  std::array<char, 16> digits{};
  const auto* end = std::to_chars(digits.data(), digits.data() + digits.size(), address, 16).ptr;
  const auto length = static_cast<std::size_t>(end - digits.data());
  line.append(digits.size() - length, '0').append(digits.data(), length);
}

/// Fills up to the column's width; a text that is wider pushes the next column on, with no space between.
void pad_column(std::string& line, std::size_t column_begin, std::size_t width) {
  const std::size_t written = line.size() - column_begin;
  if (written < width) line.append(width - written, ' ');
}

/// Builds one line after the other in one buffer.
class Dumper {
 public:
  Dumper(const Section& section, std::ostream& out) : section_(&section), text_(section), out_(&out) {}

  void header(std::string_view section_name) {
    std::size_t fre_count = 0;
    for (const Fde& fde : section_->fdes) fre_count += fde.fres.size();

    const VersionTraits& version = traits_of(section_->version);
    const bool ctf_frame = section_->version == Version::CtfFrame;
    line_ = ctf_frame ? "Contents of the CTF Frame section " : "Contents of the SFrame section ";
    line_.append(section_name).append(":\n  Header :\n\n    Version: ");
    line_.append(ctf_frame ? "CTF_FRAME_VERSION_" : "SFRAME_VERSION_");
    line_.append(std::to_string(version.number));
    line_.append("\n    Flags: ").append(flags()).append("\n");
    append_fixed_offset("FP", section_->fixed_fp_offset);
    append_fixed_offset("RA", section_->fixed_ra_offset);
    line_.append("    Num FDEs: ").append(std::to_string(section_->fdes.size()));
    line_.append("\n    Num FREs: ").append(std::to_string(fre_count));
    line_.append("\n\n  Function Index :\n");
    flush();
  }

  void fde(std::size_t index, const Fde& fde) {
    line_.append("\n    func idx [").append(std::to_string(index)).append("]: pc = ").append(hex(fde.start));
    line_.append(", size = ").append(std::to_string(fde.size)).append(" bytes");
    const bool flexible = fde.type == FdeType::Flexible;
    if (fde.signal_frame || flexible) {
      line_.append(", attr = \"").append(fde.signal_frame ? "S" : "").append(flexible ? "F\"" : "\"");
    }
    if (fde.b_key) line_.append(", pauth = B key");
    line_.append(fde.pc_type == PcType::Mask ? "\n    STARTPC[m]  " : "\n    STARTPC     ");
    line_.append("    CFA       FP        RA           \n");
    for (const Fre& fre : fde.fres) append_fre(fde, fre);
    flush();
  }

 private:
  std::string flags() const {
    const std::string prefix = section_->version == Version::CtfFrame ? "CTF_FRAME_F_" : "SFRAME_F_";
    std::string text;
    const auto add = [&](std::uint8_t flag, const char* name) {
      if ((section_->flags & flag) == 0) return;
      text.append(text.empty() ? "" : ",\n           ").append(prefix).append(name);
    };
    add(flag::sorted, "FDE_SORTED");
    add(flag::frame_pointer, "FRAME_POINTER");
    add(flag::function_start_pc_relative, "FDE_FUNC_START_PCREL");
    return text.empty() ? "NONE" : text;
  }

  void append_fixed_offset(std::string_view name, std::int8_t offset) {
    if (offset == 0) return;
    line_.append("    CFA fixed ").append(name).append(" offset: ");
    line_.append(std::to_string(offset));
    line_ += '\n';
  }

  void append_fre(const Fde& fde, const Fre& fre) {
    line_.append("    ");
    append_address(line_, fde.pc_type == PcType::Mask ? fre.pc_offset : fde.start + fre.pc_offset);
    line_.append("  ");
    if (!fre.recovery) {
      line_.append("RA undefined\n");
      return;
    }
    const RecoveryRules& recovery = *fre.recovery;
    std::size_t column = line_.size();
    text_.append_cfa(line_, recovery.cfa, fde.type);
    pad_column(line_, column, cfa_width);
    column = line_.size();
    text_.append_frame_pointer(line_, recovery);
    pad_column(line_, column, fp_width);
    column = line_.size();
    text_.append_return_address(line_, recovery, fde.type);
    line_.append(recovery.mangled_ra ? "[s]" : "   ");
    pad_column(line_, column, ra_width);
    line_ += '\n';
  }

  void flush() {
    out_->write(line_.data(), static_cast<std::streamsize>(line_.size()));
    line_.clear();
  }

  const Section* section_;
  RuleText text_;
  std::ostream* out_;
  std::string line_;
};

}  // namespace

void RuleText::append_cfa(std::string& line, const Rule& rule, FdeType type) const {
  if (type == FdeType::Flexible) {
    append_rule(line, rule);
    return;
  }
  append_base(line, rule);
  // readelf puts a plus sign before the offset of a default descriptor, negative or not: "sp+-8".
  line += '+';
  append_number(line, rule.offset);
}

void RuleText::append_frame_pointer(std::string& line, const RecoveryRules& recovery) const {
  if (recovery.frame_pointer) {
    append_rule(line, *recovery.frame_pointer);
  } else if (section_->fixed_fp_offset != 0) {
    append_rule(line, {.base_register = std::nullopt, .offset = section_->fixed_fp_offset, .dereferenced = true});
  } else {
    line += 'u';
  }
}

void RuleText::append_return_address(std::string& line, const RecoveryRules& recovery, FdeType type) const {
  if (recovery.return_address) {
    append_rule(line, *recovery.return_address);
  } else if ((type == FdeType::Flexible || traits_->pads_return_address) && recovery.frame_pointer) {
    line += 'U';
  } else {
    line += section_->fixed_ra_offset != 0 ? 'f' : 'u';
  }
}

void RuleText::append_rule(std::string& line, const Rule& rule) const {
  // What is saved on the stack relative to the CFA goes without parentheses, as it can be nothing else.
  const bool parentheses = rule.dereferenced && rule.base_register;
  if (parentheses) line += '(';
  append_base(line, rule);
  // Up to version 2 a value is in a register as it is, or nowhere near it.
  const bool bare = rule.base_register && !rule.dereferenced && traits_of(section_->version).dumps_bare_registers;
  if (!bare) append_signed(line, rule.offset);
  if (parentheses) line += ')';
}

void RuleText::append_base(std::string& line, const Rule& rule) const {
  if (!rule.base_register) {
    line += 'c';
  } else if (*rule.base_register == traits_->stack_pointer) {
    line.append("sp");
  } else if (*rule.base_register == traits_->frame_pointer) {
    line.append("fp");
  } else {
    line += 'r';
    append_number(line, *rule.base_register);
  }
}

void dump(const Section& section, std::string_view section_name, std::ostream& out,
          const std::function<bool(const Fde&)>& wanted) {
  Dumper dumper(section, out);
  dumper.header(section_name);
  for (std::size_t i = 0; i < section.fdes.size(); ++i) {
    if (!wanted || wanted(section.fdes[i])) dumper.fde(i, section.fdes[i]);
  }
}

}  // namespace sframe_gen::sframe
