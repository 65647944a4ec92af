#include "rows/proof/check_cfi.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>

#include "cfi/frame_source.hpp"
#include "rows/proof/conversion_proof.hpp"
#include "rows/proof/prove_program.hpp"
#include "support/text.hpp"

namespace sframe_gen::rows::proof {

namespace {

std::string register_name(RegisterNumber reg) {
  static constexpr const char* names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                          "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  return reg < std::size(names) ? names[reg] : "a register";
}

/// By DWARF's numbers.
std::string dwarf_name(cfi::DwarfRegister number) {
  static constexpr const char* names[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                          "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  const auto index = static_cast<std::uint32_t>(number);
  return index < std::size(names) ? names[index] : "r" + std::to_string(index);
}

std::string with_sign(std::int64_t number) {
  return number == 0 ? "" : (number > 0 ? "+" : "") + std::to_string(number);
}

std::string words_of(const cfi::Formula& formula) {
  const std::string place = (formula.base ? dwarf_name(*formula.base) : "CFA") + with_sign(formula.offset);
  return formula.dereferenced ? "*(" + place + ")" : place;
}

template <typename... Words>
std::string words_of(const std::variant<Words...>& rule) {
  const auto* const formula = std::get_if<cfi::Formula>(&rule);
  return formula == nullptr ? "unchanged" : words_of(*formula);
}

std::string words_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::Unknown:
    case Value::Kind::Probing:
      return "something else";
    case Value::Kind::Defined:
      return "what " + hex(static_cast<std::uint64_t>(value.number)) + " made";
    case Value::Kind::Entry:
      return "the caller's " + register_name(value.reg);
    case Value::Kind::ReturnAddress:
      return "the return address";
    case Value::Kind::Cfa:
      return "CFA" + with_sign(value.number);
    case Value::Kind::Aligned:
      return "an aligned address" + with_sign(value.number);
    case Value::Kind::Constant:
      return hex(static_cast<std::uint64_t>(value.number));
    case Value::Kind::ScaledIndex:
    case Value::Kind::TableWord:
    case Value::Kind::TableEntry:
    case Value::Kind::TableTarget:
    case Value::Kind::TableAddress:
      return "an entry of a jump table";
  }
  return "";
}

}  // namespace

std::string words_of(const cfi::Rules& rules, const Disagreement& found) {
  switch (found.column) {
    case Disagreement::Column::Cfa:
      return "CFA " + words_of(rules.cfa);
    case Disagreement::Column::ReturnAddress:
      return "RA " + words_of(rules.return_address);
    case Disagreement::Column::FramePointer:
      return "FP " + words_of(rules.frame_pointer);
  }
  return "";
}

std::string words_of(const Disagreement& found) {
  return (found.column == Disagreement::Column::Cfa ? "that is " : "there is ") + words_of(found.base);
}

namespace {

/// Files of compilers have fewer than 10,000.
constexpr std::size_t most_contradictions = 1U << 16U;

std::vector<cfi::Function> functions_of(const elf::Image& image, cfi::RuleTable& rules) {
  const cfi::FrameSource source(image, image);
  if (source.empty()) throw Refused(image.name(), "no call frame information to compare with the code");
  return described_functions(source, rules);
}

class Report {
 public:
  Report(Program& program, const elf::Image& image, const cfi::RuleTable& rules)
      : program_(program), marks_(program.marks()), image_(image), rules_(rules), names_(image) {}

  void add(const FunctionProof& proof) {
    if (program_.described(proof.start) == nullptr) return;
    ++check_.functions;
    if (proof.refusal != Refusal::None) {
      ++refused_[static_cast<std::size_t>(proof.refusal)];
      check_.refused.push_back({proof.start, proof.refused_at, name_of(proof.refusal)});
    } else {
      ++check_.proved;
      if (!proof.unbounded_tables.empty()) add_tables(proof);
      check_.compared_bytes += proof.compared_bytes;
    }
    if (!proof.disagreements.empty()) ++check_.contradicted_functions;
    for (const Disagreement& found : proof.disagreements)
      add(proof, found, check_.contradictions, check_.contradictions_left_out);
    for (const Disagreement& found : proof.doubted) add(proof, found, check_.doubted, check_.doubted_left_out);
  }

  CodeCheck finish(const RangeSet& described) {
    check_.described_bytes = described.size();
    check_.not_reached_bytes = described.size();
    for (const Range& range : described) check_.not_reached_bytes -= marks_.reached(range);
    for (std::size_t i = 0; i < refusal_count; ++i)
      if (refused_[i] != 0) check_.refused_by_reason.emplace_back(name_of(static_cast<Refusal>(i)), refused_[i]);
    std::ranges::stable_sort(check_.refused_by_reason, std::ranges::greater(),
                             &std::pair<std::string, std::uint64_t>::second);
    const auto place = [](const auto& item) { return item.start; };
    std::ranges::sort(check_.refused, {}, place);
    std::ranges::stable_sort(check_.tables_by_contents, {}, place);
    for (Contradictions* const found : {&check_.contradictions, &check_.doubted})
      std::ranges::sort(*found, {}, [](const CodeCheck::Contradiction& c) { return std::tuple(c.start, c.begin); });
    return std::move(check_);
  }

 private:
  using Contradictions = std::vector<CodeCheck::Contradiction>;

  void add_tables(const FunctionProof& proof) {
    ++check_.proved_by_contents;
    for (const std::uint64_t table : proof.unbounded_tables)
      check_.tables_by_contents.push_back({names_.name_at(proof.start), proof.start, table});
  }

  void add(const FunctionProof& proof, const Disagreement& found, Contradictions& list, std::uint64_t& left_out) {
    if (list.size() == most_contradictions) {
      ++left_out;
      return;
    }
    std::string cfi = words_of(rules_[found.rule], found), code = words_of(found);
    if (!list.empty() && goes_on(list.back(), proof.start, found.pcs, cfi, code)) {
      list.back().end = found.pcs.end;
      return;
    }
    const auto bytes = elf::loaded_bytes_from(image_, found.instruction);
    list.push_back({names_.name_at(proof.start), proof.start, found.pcs.begin, found.pcs.end, std::move(cfi),
                    std::move(code),
                    hex(found.instruction) + ": " + program_.decoder().text_of(bytes, found.instruction)});
  }

  /// Whether only code that is not reached, such as padding before a loop, is between equal contradictions.
  bool goes_on(const CodeCheck::Contradiction& last, std::uint64_t start, const Range& pcs, const std::string& cfi,
               const std::string& code) const {
    return last.start == start && last.end <= pcs.begin && last.cfi == cfi && last.code == code &&
           marks_.reached({last.end, pcs.begin}) == 0;
  }

  const Program& program_;
  const CodeMarks& marks_;
  const elf::Image& image_;
  const cfi::RuleTable& rules_;
  elf::SymbolNames names_;
  std::array<std::uint64_t, refusal_count> refused_{};
  CodeCheck check_;
};

}  // namespace

CodeCheck check_cfi(const elf::Image& image, const std::function<void(std::uint64_t, std::uint64_t)>& progress,
                    const ProofOptions& options) {
  constexpr const char* option = "--against=code";
  check_supported(image, option);
  const Decoder decoder(image.name(), option);
  cfi::RuleTable rules;
  const std::vector<cfi::Function> functions = functions_of(image, rules);
  Program program(image, decoder, functions, rules, options);
  prove_program(program, progress);
  Report report(program, image, rules);
  for (const FunctionProof& proof : program.functions()) report.add(proof);
  std::vector<Range> described;
  described.reserve(functions.size());
  for (const cfi::Function& function : functions) described.push_back({function.start, function.end()});
  return report.finish(RangeSet(std::move(described)));
}

}  // namespace sframe_gen::rows::proof
