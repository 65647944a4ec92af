#include "cli/report/text.hpp"

#include <ostream>

#include "cli/report/archive.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

void write_coverage(const std::string& title, const Coverage& coverage, std::ostream& out) {
  out << printable(title) << ": " << count_of(coverage.functions, "function") << ": " << coverage.whole << " whole, "
      << coverage.in_part << " in part, " << coverage.left_out << " left out" << in_parentheses(reasons_of(coverage))
      << '\n';
}

void write_left_out(const Coverage& coverage, std::ostream& out) {
  for (const NamedHole& named : coverage.holes) {
    out << "  " << printable(named.section) << (named.section.empty() ? "" : "+") << hex(named.hole.begin) << ".."
        << hex(named.hole.end) << ' ' << (named.function.empty() ? "(no symbol)" : printable(named.function)) << ": "
        << sentence_of(named.hole.reason) << '\n';
  }
  for (const std::string& sentence : sentences_of(coverage.dropped)) out << "  dropped: " << sentence << '\n';
  for (const UnreadableFde& fde : coverage.dropped.named_unreadable)
    out << "    " << printable(fde.section) << '+' << hex(fde.offset) << ": " << printable(fde.why) << '\n';
}

void write_stubs(const Coverage& coverage, std::ostream& out) {
  const StubCoverage& stubs = coverage.stubs;
  if (stubs.entries == 0) return;
  out << "  by their instructions: " << count_of(stubs.entries, "stub") << ", " << count_of(stubs.bytes, "byte") << " ("
      << stubs.bytes_without_cfi << " without call frame information)\n";
  for (const Contradiction& wrong : coverage.contradictions) {
    out << "  " << hex(wrong.begin) << ".." << hex(wrong.end) << ' '
        << (wrong.function.empty() ? "(no symbol)" : printable(wrong.function))
        << ": call frame information is wrong: it says " << wrong.cfi << ", the instructions " << wrong.instructions
        << '\n';
  }
}

/// `place`: " at 0x1e67f0", or nothing.
void write_section(const Coverage& coverage, std::uint64_t size, const std::string& place, std::ostream& out) {
  write_left_out(coverage, out);
  write_stubs(coverage, out);
  if (coverage.code) write_code(*coverage.code, out);
  out << "  .sframe: " << hex(size) << " bytes" << place << ", " << count_of(coverage.rows, "row")
      << ", descriptors: " << coverage.default_descriptors << " default, " << coverage.flexible_descriptors
      << " flexible, " << coverage.mask_descriptors << " repeating\n";
}

std::string at(std::uint64_t address) {
  return " at " + hex(address);
}

std::string place_of(const Emitted& emitted) {
  switch (emitted.address_from) {
    case AddressOrigin::None:
      return {};
    case AddressOrigin::Given:
      return at(emitted.section_address) + " (as --section-address says)";
    case AddressOrigin::Section:
      return at(emitted.section_address) + " (where the file has one)";
    case AddressOrigin::Plan:
      return at(emitted.section_address) + " (where a conversion would put it)";
  }
  return {};
}

/// Each kind of outcome in its own words.
class Summary {
 public:
  Summary(const std::string& file, std::ostream& out) : file_(file), out_(out) {}
  void operator()(const Linked& linked) const { write_coverage(file_, linked.coverage, out_); }
  void operator()(const Object& object) const { write_coverage(file_, object.coverage, out_); }
  void operator()(const Filled& filled) const { write_coverage(file_, filled.coverage, out_); }
  void operator()(const Archive& archive) const {
    const std::string title = file_ + ": " + members_of(archive);
    if (const auto coverage = sum_of(archive)) return write_coverage(title, *coverage, out_);
    out_ << printable(title) << '\n';
  }

 private:
  const std::string& file_;
  std::ostream& out_;
};

class Details {
 public:
  Details(const std::string& file, std::ostream& out) : file_(file), out_(out) {}

  void operator()(const Linked& linked) const {
    write_section(linked.coverage, linked.section_size, at(linked.section_address), out_);
    out_ << "  plan " << linked.section_plan << '+' << linked.table_plan << ", file grows by " << linked.growth
         << " bytes";
    for (const std::string& name : linked.moved) out_ << ", " << printable(name) << " moved";
    if (linked.build_id_left_first_page)
      out_ << ", build-id left the first page (older kernels look for it only there)";
    out_ << '\n';
  }

  void operator()(const Object& object) const { write_section(object.coverage, object.section_size, {}, out_); }

  void operator()(const Filled& filled) const {
    write_section(filled.coverage, filled.section_size, at(filled.section_address), out_);
    out_ << "  fills " << hex(filled.reserved_size) << " bytes that were reserved; nothing else changes\n";
  }

  void operator()(const Archive& archive) const {
    for (const ArchiveMember& member : archive.members) {
      const std::string name = file_ + '(' + member.name + ')';
      if (const auto* const why_not = std::get_if<std::string>(&member.outcome)) {
        out_ << printable(name + ": left alone: " + *why_not) << '\n';
        continue;
      }
      const auto& object = std::get<Object>(member.outcome);
      write_coverage(name, object.coverage, out_);
      Details(name, out_)(object);
    }
  }

 private:
  const std::string& file_;
  std::ostream& out_;
};

}  // namespace

void write_summary(const std::string& file, const Outcome& outcome, std::ostream& out) {
  std::visit(Summary(file, out), outcome);
}

void write_summary(const std::string& file, const Emitted& emitted, std::ostream& out) {
  write_coverage(file, emitted.coverage, out);
}

void write_summary(const std::string& file, const Removed& removed, std::ostream& out) {
  out << printable(file) << ": " << removed.section << " removed, " << removed.original_size
      << " bytes as before, were " << removed.converted_size << '\n';
}

void write_details(const std::string& file, const Outcome& outcome, std::ostream& out) {
  std::visit(Details(file, out), outcome);
}

void write_details(const Emitted& emitted, std::ostream& out) {
  write_section(emitted.coverage, emitted.section_size, place_of(emitted), out);
}

void write_plans(const std::vector<TriedPlan>& plans, std::ostream& out) {
  for (const TriedPlan& plan : plans) {
    out << (plan.taken      ? "  taken: "
            : plan.possible ? "  would do: "
                            : "  impossible: ")
        << plan.plan << ": " << printable(plan.outcome) << '\n';
  }
}

}  // namespace sframe_gen::cli
