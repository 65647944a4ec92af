// The way of --synthesize and --omit-disproved, from instructions to rows. --verify --against=code comes from
// check_cfi, which is here as well, and goes the same way as far as prove_program.
//
//     prove_for_conversion    here
//       described_functions     here: what CFI says, function by function
//       Program                 rows/proof/program.hpp: where functions begin, and what one needs to know of another
//       prove_program           rows/proof/prove_program.hpp: all functions, in rounds: each proof may tell of others
//         prove_function          rows/proof/function.hpp: one function, on every path (rules: docs/against-code.md)
//           Listing                 rows/proof/listing.hpp: its instructions; rows/proof/decoder.hpp: by Zydis
//           Paths, State            rows/proof/paths.hpp, rows/proof/state.hpp: what holds where paths meet
//           Borders                 rows/proof/neighbors.hpp: where another function begins
//           TableReader             rows/proof/jump_table.hpp: where jumps by tables lead
//           Callees                 rows/proof/neighbors.hpp: what is known of the functions that it calls
//           apply                   rows/proof/effect.hpp: what an instruction does to the state
//           FunctionEnds            rows/proof/function_ends.hpp: how its paths end, and what callers see of it
//           conditions              rows/proof/conditions.hpp: what one place can answer of the rules
//           WaysOut                 rows/proof/paths.hpp: which code after calls is the function's
//           compare_with_cfi        rows/proof/findings.hpp: what CFI says wrongly; rows/proof/state_rules.hpp: a state
//         refuse_unproved_ends    rows/proof/function_ends.hpp: after all: whose ends show where the return address is
//       contradicted_pcs        here: PCs that --omit-disproved leaves out
//       synthesize              rows/proof/synthesis.hpp: the rows of functions without CFI
//         reach_of                rows/proof/function.hpp: where refused functions go, which may share code
//         visit_steps             rows/proof/function.hpp: each proved function again, with all its states
//         rules_of                rows/proof/state_rules.hpp: the row of a state
//
// with_proved_pieces (encode/row_sources.hpp) hands the rows to the encoder, as Go's functions come to it.

#include "rows/proof/file_proof.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>

#include "elf/machine.hpp"
#include "rows/proof/prove_program.hpp"
#include "support/text.hpp"

namespace sframe_gen::rows::proof {

namespace {

RangeSet contradicted_pcs(const Program& program, const RangeSet& others) {
  std::vector<Range> contradicted;
  for (const FunctionProof& proof : program.functions()) {
    const cfi::Function* const described = program.described(proof.start);
    if (described == nullptr || proof.disagreements.empty()) continue;
    // CFI that is wrong on the way in is no better where the proof does not come.
    const bool is_whole = proof.refusal != Refusal::None && described->start == proof.start;
    if (is_whole && !others.overlaps(proof.own)) contradicted.push_back(proof.own);
    for (const Disagreement& found : proof.disagreements)
      if (!is_whole && !others.overlaps(found.pcs)) contradicted.push_back(found.pcs);
  }
  return RangeSet(std::move(contradicted));
}

}  // namespace

ConversionProof prove_for_conversion(const elf::Image& image, const cfi::FrameSource& source,
                                     const ProofRequest& request) {
  check_supported(image, request.option);
  const Decoder decoder(image.name(), request.option);
  ConversionProof proof;
  proof.rules = std::make_unique<cfi::RuleTable>();
  const std::vector<cfi::Function> functions = described_functions(source, *proof.rules);
  Program program(image, decoder, functions, *proof.rules,
                  {.proves_undescribed = request.rows,
                   .bounded_tables_only = request.bounded_tables_only,
                   .tells_doubted_apart = request.contradictions});
  prove_program(program, {});
  const RangeSet others(source.others() == nullptr ? std::vector<Range>() : source.others()->ranges());
  if (request.contradictions) proof.contradicted = contradicted_pcs(program, others);
  if (!request.rows) return proof;
  std::vector<Range> kept_out = others.ranges();
  kept_out.insert(kept_out.end(), request.kept_out.begin(), request.kept_out.end());
  synthesize(program, RangeSet(std::move(kept_out)), *proof.rules, proof.pieces, proof.synthesized, proof.lacking);
  return proof;
}

void check_supported(const elf::Image& image, std::string_view option) {
  if (elf::machine_of(image).abi != sframe::Abi::Amd64)
    throw Refused(image.name(),
                  std::string(option) + " supports only x86-64, not " + elf::machine_name(image.header().e_machine));
  // Interrupts overwrite what is below the stack pointer there, and entries keep to no ABI.
  constexpr std::uint64_t upper_half = std::uint64_t{1} << 63U;
  const auto is_kernels = [](const Range& code) { return code.begin >= upper_half; };
  if (std::ranges::any_of(image.code(), is_kernels) || image.find_section(".modinfo") != nullptr)
    throw Refused(image.name(),
                  std::string(option) + " supports programs and libraries, not kernels and their modules");
  if (image.is_object()) throw Refused(image.name(), std::string(option) + " requires a linked file (link the object)");
}

std::vector<cfi::Function> described_functions(const cfi::FrameSource& source, cfi::RuleTable& rules) {
  std::vector<cfi::Function> functions;
  functions.reserve(source.size());
  cfi::FrameReader reader(source, rules);
  for (const auto& part : source.parts(1))
    reader.for_each_function(part, [&](const cfi::Function& function) { functions.push_back(function); });
  return functions;
}

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
