#include "step_tally.hpp"

#include <cstdio>

#include "support/text.hpp"

namespace sframe_gen::unwind {

namespace {

/// Where a section leaves a PC out, or a caller's register would be needed.
bool says_nothing(const trace::walk::Stack& ours) {
  return ours.stop == Stop::NoSection || ours.stop == Stop::NoRow ||
         (ours.stop == Stop::UnknownRegister && ours.frames.size() > 1);
}

std::string place_of(trace::walk::AddressSpace& space, std::uint64_t pc) {
  const trace::walk::Location* const location = space.location_of(pc);
  if (location == nullptr) return "no file";
  std::string name(location->name().substr(location->name().rfind('/') + 1));
  if (location->file() == nullptr) return name;
  const trace::walk::FunctionPlace function = location->file()->function_at(pc - location->bias);
  return function.name.empty() ? name : name.append("'s ").append(function.name);
}

/// For a person who asks readelf.
std::string exact_place_of(trace::walk::AddressSpace& space, std::uint64_t pc) {
  const trace::walk::Location* const location = space.location_of(pc);
  if (location == nullptr || location->file() == nullptr) return place_of(space, pc);
  return place_of(space, pc) + " (" + hex(pc - location->bias) + ")";
}

std::uint64_t sum_of(const std::map<std::string, std::uint64_t>& reasons) {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : reasons) sum += count;
  return sum;
}

}  // namespace

void StepTally::compare(trace::walk::AddressSpace& space, const trace::walk::Stack& ours, const DwarfFrames& theirs) {
  ++stops_;
  const trace::walk::Location* const innermost = space.location_of(ours.frames.front().pc);
  const std::shared_ptr<const trace::walk::CodeFile> file = innermost != nullptr ? innermost->file() : nullptr;
  translated_ += file == nullptr || file->image().find_section(".sframe") == nullptr;

  const std::span<const std::uint64_t> pcs = theirs.pcs;
  std::size_t same = 0;
  while (same < ours.frames.size() && same < pcs.size() && ours.frames[same].pc == pcs[same]) ++same;
  frames_ += same;
  const bool ours_is_over = same == ours.frames.size();
  const bool theirs_is_over = same == pcs.size();
  const auto end = [&] { return text_of(ours.stop) + (" in " + place_of(space, ours.frames.back().instruction())); };
  if (ours_is_over && theirs_is_over) {
    ++same_;
    if (!ours.is_whole()) ++cut_[end()];
    return;
  }
  const std::string excuse = same != 0 ? theirs.excuse(same) : "";
  if (!excuse.empty()) {
    ++excused_[excuse + " in " + place_of(space, ours.frames[same - 1].pc)];
  } else if (ours_is_over && says_nothing(ours)) {
    ++shorter_[end()];
  } else {
    note({same, ours_is_over ? 0 : ours.frames[same].pc, theirs_is_over ? 0 : pcs[same], ours.stop,
          exact_place_of(space, ours.frames.front().pc), theirs.why});
  }
}

void StepTally::note(Difference difference) {
  ++differences_;
  if (noted_.size() < 10) noted_.push_back(std::move(difference));
}

void StepTally::print(const char* name) const {
  std::printf("| %s | %lu | %lu | %lu | %lu | %lu | %lu | %lu |\n", name, stops_, translated_, frames_, same_,
              sum_of(shorter_), sum_of(excused_), differences_);
  std::fflush(stdout);
  const auto explain = [name](const char* kind, const Reasons& reasons) {
    for (const auto& [reason, count] : reasons)
      std::fprintf(stderr, "%s: %s: %lu: %s\n", name, kind, count, reason.c_str());
  };
  explain("both end", cut_);
  explain("shorter", shorter_);
  explain("other", excused_);
  for (const Difference& difference : noted_)
    std::fprintf(stderr, "%s: DIFFERENCE at %s in frame %zu: %#lx (%s), libdwfl's %#lx (%s)\n", name,
                 difference.at.c_str(), difference.frame, difference.ours, text_of(difference.stop), difference.theirs,
                 difference.why.c_str());
}

}  // namespace sframe_gen::unwind
