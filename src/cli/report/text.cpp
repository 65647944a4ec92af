#include "cli/report/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <new>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rewrite/plan/plan_texts.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

/// "0.605"
std::string share(std::uint64_t part, std::uint64_t whole) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", static_cast<double>(part) / static_cast<double>(whole));
  return text.data();
}

void write(const Coverage& coverage, std::ostream& out) {
  if (!coverage.compaction) return;
  const Compaction& saved = *coverage.compaction;
  const std::uint64_t descriptors =
      coverage.default_descriptors + coverage.flexible_descriptors + coverage.mask_descriptors;
  out << "  compact: " << saved.bytes << " bytes instead of " << saved.default_bytes << ", "
      << share(saved.bytes, saved.default_bytes) << '\n';
  out << "    " << saved.by_fewer_descriptors << " by " << count_of(descriptors, "FDE") << " instead of "
      << saved.default_descriptors << '\n';
  out << "    " << saved.by_fewer_rows << " by " << count_of(coverage.rows, "row") << " instead of "
      << saved.default_rows << '\n';
}

/// The coverage of what is no archive.
const Coverage& coverage_of(const ConvertOutcome& outcome) {
  if (const auto* const linked = std::get_if<LinkedOutcome>(&outcome)) return linked->coverage;
  if (const auto* const object = std::get_if<ObjectOutcome>(&outcome)) return object->coverage;
  return std::get<KernelOutcome>(outcome).coverage;
}

std::size_t checked_count(const std::vector<MemberVerification>& members) {
  return static_cast<std::size_t>(
      std::ranges::count_if(members, [](const MemberVerification& member) { return member.failure.empty(); }));
}

/// Without the advice that some reasons end in, after a semicolon or in parentheses: a line has room for few words of
/// each.
std::string without_advice(const std::string& reason) {
  const auto semicolon = reason.find("; "), parenthesis = reason.rfind(" (", semicolon);
  const bool is_inside = parenthesis != std::string::npos && reason.find(')', parenthesis) > semicolon;
  return reason.substr(0, is_inside ? parenthesis : semicolon);
}

ReasonCounts reasons_of(const ArchiveOutcome& archive) {
  ReasonCounts reasons;
  SeededMap<std::string, std::size_t> place_of;  // each member may have a reason of its own
  for (const MemberOutcome& member : archive.members) {
    const auto* const why_not = std::get_if<std::string>(&member.outcome);
    if (why_not == nullptr) continue;
    const auto [known, is_new] = place_of.try_emplace(without_advice(*why_not), reasons.size());
    if (is_new) reasons.emplace_back(known->first, 0);
    ++reasons[known->second].second;
  }
  return reasons;
}

using Place = CodeCoverage::Place;

std::string name_of(const Place& place) {
  return place.function.empty() ? printable(place.section) + " at " + hex(place.begin) : printable(place.function);
}

/// Returns the places with the most bytes without a row, at most three.
std::vector<const Place*> largest_of(const CodeCoverage& code) {
  std::vector<const Place*> places;
  for (const Place& place : code.places)
    if (place.without_row != 0) places.push_back(&place);
  const auto middle = places.begin() + std::min<std::ptrdiff_t>(3, std::ssize(places));
  std::ranges::partial_sort(places, middle, [](const Place* a, const Place* b) {
    return a->without_row != b->without_row ? a->without_row > b->without_row : a < b;
  });
  places.erase(middle, places.end());
  return places;
}

void write_counts(const CodeCount& count, std::ostream& out) {
  out << count_of(count.bytes, "byte") << ", " << count.padding << " of them padding; " << count.without_cfi
      << " without CFI, " << count.without_row << " without a row";
}

/// "3 FDEs, 120 bytes"
std::string text_of(RowSource source, const CodeCoverage::Described& described) {
  const bool is_cfi = source == RowSource::EhFrame || source == RowSource::DebugFrame;
  const char* const record = is_cfi ? "FDE" : source == RowSource::Instructions ? "stub" : "function";
  return count_of(described.records, record) + ", " + count_of(described.bytes, "byte");
}

void write_places(const Coverage& coverage, std::ostream& out) {
  if (!coverage.code) return;
  // They are in the order of the sections, of which several of an object may have one name.
  auto place = coverage.code->places.begin();
  for (const CodeCoverage::Section& section : coverage.code->sections) {
    out << "  code of " << printable(section.name) << ": ";
    write_counts(section.count, out);
    out << '\n';
    CodeCount left = section.count;
    for (; place != coverage.code->places.end() && (left.without_cfi | left.without_row) != 0; ++place) {
      left.without_cfi -= place->without_cfi;
      left.without_row -= place->without_row;
      out << "    " << hex(place->begin) << ".." << hex(place->end) << ' '
          << (place->function.empty() ? "(no symbol)" : printable(place->function)) << ": " << place->without_cfi
          << " without CFI, " << place->without_row << " without a row\n";
    }
  }
}

/// "5892 functions, all covered"
void write_coverage(const std::string& title, const Coverage& coverage, std::ostream& out) {
  out << printable(title) << ": " << count_of(coverage.functions, "function");
  if (coverage.whole == coverage.functions) {
    out << ", " << (coverage.functions == 1 ? "fully" : "all") << " covered\n";
    return;
  }
  out << ": " << coverage.whole << " fully covered, " << coverage.in_part << " partly, " << coverage.left_out << " not"
      << in_parentheses(reasons_of(coverage)) << '\n';
}

/// "381 KiB"
std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kibi = 1024, enough = 10;
  if (bytes < enough * kibi) return count_of(bytes, "byte");
  const bool large = bytes >= enough * kibi * kibi;
  const std::uint64_t unit = large ? kibi * kibi : kibi;
  return std::to_string((bytes + unit / 2) / unit) + (large ? " MiB" : " KiB");
}

/// "99.9 %", never more than it is.
std::string percent_text(std::uint64_t part, std::uint64_t whole) {
  constexpr double thousand = 1000;
  const auto tenths = static_cast<std::uint64_t>(thousand * static_cast<double>(part) / static_cast<double>(whole));
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " %";
}

/// "the file grew by 384 KiB"
std::string growth_text(std::int64_t growth, Done done) {
  const bool would = done == Done::Would;
  if (growth == 0) return "same file size";
  if (growth > 0)
    return std::string("the file ") + (would ? "would grow" : "grew") + " by " +
           size_text(static_cast<std::uint64_t>(growth));
  return std::string("the file ") + (would ? "would shrink" : "shrank") + " by " +
         size_text(static_cast<std::uint64_t>(-growth));
}

const char* section_name(const Coverage& coverage) {
  return coverage.version == sframe::Version::CtfFrame ? ".ctf_frame" : ".sframe";
}

std::string added_text(const Coverage& coverage, std::uint64_t size, std::int64_t growth, Done done) {
  return std::string(done == Done::Would ? "would add " : "added ") + section_name(coverage) + " (" + size_text(size) +
         ", " + growth_text(growth, done) + ')';
}

std::string members_of(const ArchiveOutcome& archive, Done done) {
  const std::size_t converted = converted_count(archive);
  std::string text = std::string(done == Done::Would ? "would add" : "added") + " .sframe to " +
                     std::to_string(converted) + " of " + count_of(archive.members.size(), "member");
  if (const auto reasons = reasons_of(archive); !reasons.empty()) {
    std::vector<std::string> counted;
    for (const auto& [reason, count] : reasons) counted.push_back(std::to_string(count) + ' ' + reason);
    text += ", not to " + std::to_string(archive.members.size() - converted) + in_parentheses(counted);
  }
  return converted == 0 ? text : text + ", " + growth_text(archive.growth, done);
}

void write_hole(const NamedCoverageHole& named, std::ostream& out) {
  out << "  " << printable(named.section) << (named.section.empty() ? "" : "+") << hex(named.hole.begin) << ".."
      << hex(named.hole.end) << ' ' << (named.function.empty() ? "(no symbol)" : printable(named.function)) << ": "
      << sentence_of(named.hole.reason) << '\n';
}

void write_left_out(const Coverage& coverage, std::ostream& out) {
  for (const NamedCoverageHole& named : coverage.holes) write_hole(named, out);
  for (const std::string& sentence : sentences_of(coverage.dropped)) out << "  dropped: " << sentence << '\n';
  for (const UnreadableFde& fde : coverage.dropped.named_unreadable)
    out << "    " << printable(fde.section) << '+' << hex(fde.offset) << ": " << printable(fde.why) << '\n';
}

void write_stubs(const Coverage& coverage, std::ostream& out) {
  const StubCoverage& stubs = coverage.stubs;
  if (stubs.entries == 0) return;
  out << "  PLT stubs: " << stubs.entries << " (" << count_of(stubs.bytes, "byte")
      << " decoded from instructions, of which " << stubs.bytes_without_cfi << " have no CFI)\n";
  for (const StubContradiction& wrong : coverage.contradictions) {
    out << "  " << hex(wrong.begin) << ".." << hex(wrong.end) << ' '
        << (wrong.function.empty() ? "(no symbol)" : printable(wrong.function)) << ": wrong CFI: " << wrong.cfi
        << ", but the instructions give " << wrong.instructions << '\n';
  }
}

void write_go(const GoCoverage& go, std::ostream& out) {
  if (go.functions == 0) return;
  out << "  by Go's function table: " << count_of(go.functions, "function") << ", " << count_of(go.bytes, "byte");
  if (go.replaced != 0) out << ", instead of " << count_of(go.replaced, "FDE");
  out << '\n';
}

void write_synthesized(const SynthesisCoverage& synthesized, std::ostream& out) {
  if (synthesized.functions == 0 && synthesized.refused.empty()) return;
  out << "  by a proof of their instructions: " << count_of(synthesized.functions, "function") << ", "
      << count_of(synthesized.bytes, "byte") << ", " << count_of(synthesized.rows, "row");
  if (synthesized.by_contents != 0) out << ", " << synthesized.by_contents << " with jump tables without a bound";
  std::vector<std::string> refused;
  std::uint64_t count = 0;
  for (const auto& [reason, functions] : synthesized.refused) {
    refused.push_back(std::to_string(functions) + ' ' + reason);
    count += functions;
  }
  if (count != 0) out << "; " << count << " refused" << in_parentheses(refused);
  out << '\n';
}

/// `place`: " at 0x1e67f0", or nothing.
void write_section(const Coverage& coverage, std::uint64_t size, const std::string& place, std::ostream& out) {
  write_left_out(coverage, out);
  write_go(coverage.go, out);
  write_stubs(coverage, out);
  write_synthesized(coverage.synthesized, out);
  if (coverage.code) write_code(*coverage.code, out);
  out << "  " << section_name(coverage) << ": " << count_of(size, "byte") << place << ", "
      << count_of(coverage.rows, "row") << ", FDEs: " << coverage.default_descriptors << " default, "
      << coverage.flexible_descriptors << " flexible, " << coverage.mask_descriptors << " repeating (PCMASK)\n";
}

std::string at(std::uint64_t address) {
  return " at " + hex(address);
}

std::string place_of(const EmitOutcome& emitted) {
  switch (emitted.address_from) {
    case AddressOrigin::None:
      return {};
    case AddressOrigin::Given:
      return at(emitted.section_address) + " (from --section-address)";
    case AddressOrigin::Section:
      return at(emitted.section_address) + " (where the file has one)";
    case AddressOrigin::Plan:
      return at(emitted.section_address) + " (where a conversion would put it)";
  }
  return {};
}

class Details {
 public:
  Details(const std::string& file, std::ostream& out) : file_(file), out_(out) {}

  void operator()(const LinkedOutcome& linked) const {
    write_section(linked.coverage, linked.section_size, at(linked.section_address), out_);
    out_ << "  layout: " << rewrite::text_of(linked.section_plan).result << ", "
         << rewrite::text_of(linked.table_plan).result << " (" << name_of(linked.section_plan) << '+'
         << name_of(linked.table_plan) << ')';
    for (const std::string& name : linked.moved) out_ << ", " << printable(name) << " moved";
    if (linked.build_id_left_first_page)
      out_ << ", build-id no longer on the first page (older kernels look only there)";
    out_ << '\n';
  }

  void operator()(const ObjectOutcome& object) const { write_section(object.coverage, object.section_size, {}, out_); }

  void operator()(const KernelOutcome& filled) const {
    write_section(filled.coverage, filled.section_size, at(filled.section_address), out_);
    out_ << "  fills " << filled.reserved_size << " reserved bytes; nothing else changes\n";
  }

  void operator()(const ArchiveOutcome& archive) const {
    for (const MemberOutcome& member : archive.members) {
      const std::string name = file_ + '(' + member.name + ')';
      if (const auto* const why_not = std::get_if<std::string>(&member.outcome)) {
        out_ << printable(name + ": not converted: " + *why_not) << '\n';
        continue;
      }
      const auto& object = std::get<ObjectOutcome>(member.outcome);
      write_coverage(name, object.coverage, out_);
      Details(name, out_)(object);
    }
  }

 private:
  const std::string& file_;
  std::ostream& out_;
};

std::string what_is_left(const RemoveOutcome& removed) {
  using enum RemoveOutcome::Left;
  switch (removed.left) {
    case Original:
      return "the original";
    case OriginalWithSection:
      return "the original, which has a " + removed.section + " of its own";
    case EarlierConversion:
      return "the file before its last conversion, which has the " + removed.section + " of an earlier one";
    case WithoutSection:
      break;
  }
  return {};
}

std::uint64_t without_padding(const CodeCount& code) {
  return code.bytes - code.padding;
}

/// Startup code and a few functions of assembly lack rows in every file.
bool lacks_much(const CodeCount& code) {
  constexpr std::uint64_t few_bytes = 4096, hundred = 100;
  return code.without_row >= few_bytes && code.without_row >= without_padding(code) / hundred;
}

}  // namespace

void write_savings(const ConvertOutcome& outcome, std::ostream& out) {
  const auto* const archive = std::get_if<ArchiveOutcome>(&outcome);
  if (archive == nullptr) return write(coverage_of(outcome), out);
  if (const auto coverage = sum_of(*archive)) write(*coverage, out);
}

namespace {

std::string text_of(const CodeCheck::Contradiction& found) {
  const std::string name = found.function.empty() ? "function at " + hex(found.start) : printable(found.function);
  return name + ": pc " + hex(found.begin) + " to " + hex(found.end) + ": CFI has " + found.cfi + ", but " +
         found.code + " (" + found.instruction + ")";
}

/// What contradictions of one cause have in common: what CFI is wrong about, and the kind of instruction that decides.
std::string cause_of(const CodeCheck::Contradiction& found) {
  const std::string column = found.cfi.substr(0, found.cfi.find(' '));
  const std::size_t name = found.instruction.find(": ");
  const std::string rest = name == std::string::npos ? found.instruction : found.instruction.substr(name + 2);
  return column + ' ' + rest.substr(0, rest.find(' '));
}

}  // namespace

std::vector<std::string> lines_of(const std::vector<CodeCheck::Contradiction>& found, bool lists_each) {
  struct Cause {
    const CodeCheck::Contradiction* first = nullptr;
    std::size_t others = 0;
  };
  std::vector<Cause> causes;
  std::map<std::string, std::size_t> numbers;
  for (const CodeCheck::Contradiction& one : found) {
    const auto [number, is_new] = numbers.try_emplace(cause_of(one), causes.size());
    if (is_new || lists_each) {
      causes.push_back({&one, 0});
    } else {
      ++causes[number->second].others;
    }
  }
  std::vector<std::string> lines;
  lines.reserve(causes.size());
  for (const Cause& cause : causes)
    lines.push_back(text_of(*cause.first) +
                    (cause.others == 0 ? "" : ", and " + std::to_string(cause.others) + " more of this kind"));
  return lines;
}

void write_summary(const std::string& file, const CodeCheck& result, bool with_details, std::ostream& out) {
  out << printable(file) << ": " << count_of(result.functions, "function") << ": " << result.proved << " proved, "
      << result.functions - result.proved << " refused; " << result.compared_bytes << " of " << result.described_bytes
      << " bytes compared, " << result.not_reached_bytes << " not reached: "
      << (result.contradicted_functions == 0 ? "no contradiction"
                                             : count_of(result.contradicted_functions, "function") + " contradicted");
  if (!result.doubted.empty()) out << ", " << result.doubted.size() + result.doubted_left_out << " in doubt";
  out << '\n';
  for (const auto& [reason, count] : result.refused_by_reason) out << "  " << reason << ": " << count << '\n';
  if (result.contradictions_left_out != 0)
    out << "  more contradictions, not listed: " << result.contradictions_left_out << '\n';
  if (!with_details) return;
  for (const CodeCheck::TableByContents& found : result.tables_by_contents)
    out << "  " << hex(found.start) << ": proved with the jump table at " << hex(found.table)
        << ", which has no bound and was read by its contents\n";
  for (const CodeCheck::Refused& refused : result.refused)
    out << "  " << hex(refused.start) << ": " << refused.reason << " at " << hex(refused.pc) << '\n';
}

void write_summary(const std::string& file, const Verification& result, std::ostream& out) {
  out << printable(file) << ": " << count_of(result.functions, "FDE") << ", " << count_of(result.rows, "row") << ", "
      << count_of(result.checked_pcs, "PC") << " checked: "
      << (result.difference_count == 0 ? "no difference" : count_of(result.difference_count, "difference")) << "; "
      << count_of(result.left_out_rows, "gap");
  if (result.unchecked_count != 0) out << ", " << count_of(result.unchecked_count, "row") << " unchecked";
  out << '\n';
}

void write_summary(const std::string& file, const std::vector<MemberVerification>& members, std::ostream& out) {
  write_summary(file + ": " + count_of(checked_count(members), "member"), sum_of(members), out);
}

std::string without_name(const std::string& file, std::string text) {
  if (text.starts_with(file + ": ")) text.erase(0, file.size() + 2);
  return text;
}

void add_reason(ReasonCounts& reasons, const std::string& reason) {
  const auto known = std::ranges::find(reasons, reason, &ReasonCounts::value_type::first);
  if (known == reasons.end()) {
    reasons.emplace_back(reason, 1);
  } else {
    ++known->second;
  }
}

std::size_t converted_count(const ArchiveOutcome& archive) {
  const auto is_converted = [](const MemberOutcome& m) { return std::holds_alternative<ObjectOutcome>(m.outcome); };
  return static_cast<std::size_t>(std::ranges::count_if(archive.members, is_converted));
}

std::optional<Coverage> sum_of(const ArchiveOutcome& archive) {
  std::optional<Coverage> sum;
  for (const MemberOutcome& member : archive.members) {
    const auto* const object = std::get_if<ObjectOutcome>(&member.outcome);
    if (object == nullptr) continue;
    if (!sum) sum.emplace();
    sum->append(object->coverage);
  }
  return sum;
}

/// Reasons with their bytes, those with the most first.
std::vector<std::pair<std::string, std::uint64_t>> by_number(
    const std::map<std::string, std::uint64_t, std::less<>>& reasons) {
  std::vector<std::pair<std::string, std::uint64_t>> sorted(reasons.begin(), reasons.end());
  std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::string, std::uint64_t>::second);
  return sorted;
}

void write_code(const CodeCoverage& code, std::ostream& out) {
  out << "  code: ";
  write_counts(code.all, out);
  std::vector<std::string> largest;
  for (const Place* const place : largest_of(code))
    largest.push_back((largest.empty() ? "largest gaps: " : "") + name_of(*place) + ' ' +
                      std::to_string(place->without_row));
  out << in_parentheses(largest) << '\n';
  std::vector<std::string> reasons;
  for (const auto& [reason, bytes] : by_number(code.reasons)) reasons.push_back(std::to_string(bytes) + ' ' + reason);
  if (!reasons.empty()) out << "  bytes without a row, by reason" << in_parentheses(reasons) << '\n';
  std::string sources;
  for (const auto& [source, described] : code.sources)
    sources += (sources.empty() ? "" : "; ") + std::string(name_of(source)) + " (" + text_of(source, described) + ')';
  if (!sources.empty()) out << "  rows from: " << sources << '\n';
}

void write_proof(const ConvertOutcome& outcome, std::ostream& out) {
  if (std::holds_alternative<ArchiveOutcome>(outcome)) return;
  const Coverage& coverage = coverage_of(outcome);
  for (const NamedCoverageHole& named : coverage.holes)
    if (named.hole.reason == Unrepresentable::ContradictedByCode) write_hole(named, out);
  for (const SynthesisCoverage::Function& function : coverage.synthesized.found) {
    out << "  " << hex(function.start) << " without CFI" << (function.evidence.empty() ? "" : ", " + function.evidence)
        << ": ";
    if (!function.refusal.empty()) {
      out << "no rows, " << function.refusal << " at " << hex(function.refused_at) << '\n';
      continue;
    }
    out << "proved" << (function.reads_by_contents ? ", with a jump table without a bound" : "") << '\n';
  }
}

void write_code_places(const ConvertOutcome& outcome, std::ostream& out) {
  const auto* const archive = std::get_if<ArchiveOutcome>(&outcome);
  if (archive == nullptr) return write_places(coverage_of(outcome), out);
  for (const MemberOutcome& member : archive->members) {
    const auto* const object = std::get_if<ObjectOutcome>(&member.outcome);
    if (object == nullptr || !object->coverage.code) continue;
    out << "  " << printable(member.name) << ":\n";
    write_places(object->coverage, out);
  }
}

const char* name_of(ReaderVerdict::Kind kind) {
  switch (kind) {
    case ReaderVerdict::Kind::Accepts:
      return "accepts";
    case ReaderVerdict::Kind::Refuses:
      return "refuses";
    case ReaderVerdict::Kind::Misreads:
      return "misreads";
  }
  return "";
}

std::string option_of(const ReaderVerdict& verdict) {
  return verdict.helped_by_target ? "--for=" + std::string(verdict.reader->name) : "";
}

void write_verdicts(const CheckedSection& checked, bool quiet, std::ostream& out) {
  for (const ReaderVerdict& verdict : checked.verdicts) {
    if (quiet && verdict.kind == ReaderVerdict::Kind::Accepts) continue;
    out << printable(checked.name) << ": " << verdict.reader->name << ' ' << name_of(verdict.kind) << " it";
    if (verdict.kind != ReaderVerdict::Kind::Accepts) out << ": " << printable(reason_of(verdict));
    if (verdict.helped_by_target) out << " (convert with " << option_of(verdict) << ')';
    if (!verdict.patches.empty()) out << " (by the " << verdict.patches << ')';
    out << '\n';
  }
}

void write_summary(const std::string& file, const ConvertOutcome& outcome, Done done, std::ostream& out) {
  if (const auto* const archive = std::get_if<ArchiveOutcome>(&outcome)) {
    const std::string title = file + ": " + members_of(*archive, done);
    if (const auto coverage = sum_of(*archive)) return write_coverage(title, *coverage, out);
    out << printable(title) << '\n';
    return;
  }
  const Coverage& coverage = coverage_of(outcome);
  std::string added;
  if (const auto* const linked = std::get_if<LinkedOutcome>(&outcome))
    added = added_text(coverage, linked->section_size, linked->growth, done);
  else if (const auto* const object = std::get_if<ObjectOutcome>(&outcome))
    added = added_text(coverage, object->section_size, object->growth, done);
  else
    added = added_text(coverage, std::get<KernelOutcome>(outcome).section_size, 0, done);
  write_coverage(file + ": " + added, coverage, out);
}

void write_summary(const std::string& file, const EmitOutcome& emitted, Done done, std::ostream& out) {
  const std::string wrote = done == Done::Would ? "would write " : "wrote ";
  write_coverage(file + ": " + wrote + size_text(emitted.contents.size()), emitted.coverage, out);
}

void write_summary(const std::string& file, const RemoveOutcome& removed, Done done, std::ostream& out) {
  const bool would = done == Done::Would;
  const bool is_restored = removed.left != RemoveOutcome::Left::WithoutSection;
  out << printable(file) << ": " << (would ? "would remove " : "removed ") << removed.section;
  if (is_restored) {
    out << (would ? " and restore " : ", restored ") << what_is_left(removed);
  } else {
    out << " alone";
  }
  out << " (" << count_of(removed.original_size, "byte") << (would ? ", now " : ", was ") << removed.converted_size
      << (removed.left == RemoveOutcome::Left::EarlierConversion ? "; --remove --section-only removes that too" : "")
      << ")\n";
}

void write_details(const std::string& file, const ConvertOutcome& outcome, std::ostream& out) {
  std::visit(Details(file, out), outcome);
}

void write_details(const EmitOutcome& emitted, std::ostream& out) {
  write_section(emitted.coverage, emitted.section_size, place_of(emitted), out);
}

void write_plans(const std::vector<TriedPlan>& plans, std::ostream& out) {
  for (const TriedPlan& plan : plans) {
    out << (plan.taken      ? "  taken: "
            : plan.possible ? "  would do: "
                            : "  impossible: ")
        << name_of(plan) << ": " << printable(outcome_of(plan)) << '\n';
  }
}

void CodeShares::add(const std::string& file, const CodeCount& code) {
  constexpr std::size_t most_named = 5;
  all_ += code;
  if (!lacks_much(code)) return;
  try {
    const auto place = std::ranges::upper_bound(most_, code.without_row, std::greater{},
                                                [](const Lacking& lacking) { return lacking.code.without_row; });
    most_.insert(place, {file, code});
    if (most_.size() > most_named) most_.pop_back();
  } catch (const std::bad_alloc&) {
    // The file is converted. A report that does not name it is no reason to fail.
  }
}

void CodeShares::write(std::ostream& out) const {
  const std::uint64_t bytes = without_padding(all_);
  if (bytes == 0) return;
  out << "  " << percent_text(bytes - all_.without_row, bytes) << " of " << size_text(bytes) << " of code has rows\n";
  if (most_.empty()) return;
  for (const Lacking& lacking : most_)
    out << "  without rows: " << size_text(lacking.code.without_row) << " of "
        << size_text(without_padding(lacking.code)) << " in " << printable(lacking.file) << '\n';
  out << "  to cover more, build with -fasynchronous-unwind-tables, or give debug files with --cfi-from\n";
}

}  // namespace sframe_gen::cli
