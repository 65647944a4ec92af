#include <array>
#include <cstdio>
#include <ostream>
#include <variant>

#include "cli/report/archive.hpp"
#include "cli/report/text.hpp"
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
      << share(saved.bytes, saved.default_bytes) << "; with the same cuts none could be below " << saved.least_bytes
      << '\n';
  out << "    " << saved.by_fewer_descriptors << " by " << count_of(descriptors, "descriptor") << " instead of "
      << saved.default_descriptors << '\n';
  out << "    " << saved.by_fewer_rows << " by " << count_of(coverage.rows, "row") << " instead of "
      << saved.default_rows << '\n';
  out << "    " << saved.by_row_starts << " by narrower starts of rows, and none of those that are gone\n";
  out << "    " << saved.by_sharing << " by rows that several descriptors have in one place\n";
}

struct Savings {
  std::ostream& out;
  void operator()(const Linked& linked) const { write(linked.coverage, out); }
  void operator()(const Object& object) const { write(object.coverage, out); }
  void operator()(const Filled& filled) const { write(filled.coverage, out); }
  void operator()(const Archive& archive) const {
    if (const auto coverage = sum_of(archive)) write(*coverage, out);
  }
};

}  // namespace

void write_savings(const Outcome& outcome, std::ostream& out) {
  std::visit(Savings{out}, outcome);
}

}  // namespace sframe_gen::cli
