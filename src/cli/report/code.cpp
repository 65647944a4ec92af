#include <algorithm>
#include <ostream>
#include <variant>
#include <vector>

#include "cli/report/text.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

using Place = CodeCoverage::Place;

std::string name_of(const Place& place) {
  return printable(place.function.empty() ? place.section : place.function);
}

/// Those with the most bytes, at most three.
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
      << " without call frame information, " << count.without_row << " without a row";
}

void write_places(const Coverage& coverage, std::ostream& out) {
  if (!coverage.code) return;
  for (const CodeCoverage::Section& section : coverage.code->sections) {
    out << "  code of " << printable(section.name) << ": ";
    write_counts(section.count, out);
    out << '\n';
    for (const Place& place : coverage.code->places) {
      if (place.section != section.name) continue;
      out << "    " << hex(place.begin) << ".." << hex(place.end) << ' '
          << (place.function.empty() ? "(no symbol)" : printable(place.function)) << ": " << place.without_cfi
          << " without call frame information, " << place.without_row << " without a row\n";
    }
  }
}

struct Places {
  std::ostream& out;
  void operator()(const Linked& linked) const { write_places(linked.coverage, out); }
  void operator()(const Object& object) const { write_places(object.coverage, out); }
  void operator()(const Filled& filled) const { write_places(filled.coverage, out); }
  void operator()(const Archive& archive) const {
    for (const ArchiveMember& member : archive.members) {
      const auto* const object = std::get_if<Object>(&member.outcome);
      if (object == nullptr || !object->coverage.code) continue;
      out << "  " << printable(member.name) << ":\n";
      write_places(object->coverage, out);
    }
  }
};

}  // namespace

void write_code(const CodeCoverage& code, std::ostream& out) {
  out << "  code: ";
  write_counts(code.all, out);
  const char* separator = " (most: ";
  const std::vector<const Place*> largest = largest_of(code);
  for (const Place* const place : largest) {
    out << separator << place->without_row << ' ' << name_of(*place);
    separator = ", ";
  }
  out << (largest.empty() ? "\n" : ")\n");
}

void write_code_places(const Outcome& outcome, std::ostream& out) {
  std::visit(Places{out}, outcome);
}

}  // namespace sframe_gen::cli
