#include "trace/dwarf/source_places.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "elf/notes.hpp"
#include "trace/dwarf/calls.hpp"
#include "trace/dwarf/constants.hpp"
#include "trace/dwarf/debug_sections.hpp"
#include "trace/dwarf/entry.hpp"
#include "trace/dwarf/line_table.hpp"

namespace sframe_gen::trace::dwarf {

namespace {

/// What `read` returns; nothing if what it reads is damaged.
template <typename Read>
auto if_sound(Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Failure&) {
    return std::nullopt;
  }
}

const elf::Section* find_info(const elf::Image& file) {
  const elf::Section* const section = file.find_section(".debug_info");
  return section != nullptr ? section : file.find_section(".zdebug_info");
}

/// Whether it is no unit that others only refer to.
bool has_code(const Unit& unit) {
  return unit.tag == tag::compile_unit || unit.tag == tag::skeleton_unit;
}

/// A unit whose addresses were asked for.
struct ReadUnit {
  std::optional<Calls> calls;
  LineTable* lines = nullptr;
};

}  // namespace

struct SourcePlaces::State {
  State(const elf::Image& image, const elf::Image* alternate_image, OpenSplit open_split_units);

  const std::vector<SourceFrame>& at(std::uint64_t address);

  void read_first_entries();
  void find_rest();
  ReadUnit& read_unit(std::uint32_t number);
  void read_split(Unit& skeleton, ReadUnit& unit);
  LineTable* lines_of(const Unit& unit);
  void add_frames(ReadUnit& unit, Call* innermost, const LineTable::Row* row);

  DebugFile file;
  std::optional<DebugFile> alternate;
  OpenSplit open_split;
  FlatRanges units;                          ///< by the ranges that they have
  std::optional<FlatRanges> without_ranges;  ///< by those of their lines, which are read if they are needed
  std::vector<std::uint32_t> unranged;
  std::unordered_map<std::uint32_t, ReadUnit> read;
  std::unordered_map<std::uint64_t, std::optional<LineTable>> tables;  ///< by their offsets
  std::vector<SourceFrame> frames;                                     ///< of the last address
};

SourcePlaces::State::State(const elf::Image& image, const elf::Image* alternate_image, OpenSplit open_split_units)
    : file(image, false), open_split(std::move(open_split_units)) {
  if (alternate_image != nullptr) file.set_alternate(&alternate.emplace(*alternate_image, false));
  read_first_entries();
}

/// Where units share code, the first one has it: owners count down.
static std::uint32_t owner_of(std::size_t unit) {
  return FlatRanges::none - 1 - static_cast<std::uint32_t>(unit);
}

void SourcePlaces::State::read_first_entries() {
  std::vector<OwnedRange> owned;
  std::vector<Range> found;
  for (std::size_t i = 0; i < file.units().size(); ++i) {
    Unit& unit = file.units()[i];
    found.clear();
    if_sound([&] {
      read_first_entry(unit);
      if (has_code(unit)) file.add_ranges(unit, unit.low, unit.high, unit.ranges, found);
      return true;
    });
    for (const Range& range : found) owned.push_back({range.begin, range.end, owner_of(i)});
    const bool has_ranges = unit.ranges.is_present() || (unit.low.is_present() && unit.high.is_present());
    if (has_code(unit) && !has_ranges && unit.lines.is_present()) unranged.push_back(static_cast<std::uint32_t>(i));
  }
  units = FlatRanges(std::move(owned));
}

/// Units that have no ranges: most have no code, as those that LTO copies from.
void SourcePlaces::State::find_rest() {
  std::vector<OwnedRange> owned;
  for (const std::uint32_t number : unranged) {
    const LineTable* const lines = lines_of(file.units()[number]);
    if (lines == nullptr) continue;
    for (const Range& range : lines->ranges()) owned.push_back({range.begin, range.end, owner_of(number)});
  }
  without_ranges.emplace(std::move(owned));
}

LineTable* SourcePlaces::State::lines_of(const Unit& unit) {
  if (!unit.lines.is_present()) return nullptr;
  const auto [known, is_new] = tables.try_emplace(unit.lines.number);
  if (is_new) {
    try {
      known->second.emplace(unit);
    } catch (const MalformedInput&) {
      // The unit's addresses have no lines.
    }
  }
  return known->second ? &*known->second : nullptr;
}

void SourcePlaces::State::read_split(Unit& skeleton, ReadUnit& unit) {
  std::string path(file.text_of(skeleton, skeleton.split_name));
  const std::string directory(file.text_of(skeleton, skeleton.directory));
  if (!path.starts_with('/')) path.insert(0, directory + "/");
  // Elsewhere than there it would be another file each time.
  if (!path.starts_with('/')) return;
  const std::optional<elf::Image> image = open_split(path);
  if (!image) return;
  DebugFile split_file(*image, true);
  for (Unit& split : split_file.units()) {
    split.skeleton = &skeleton;
    if_sound([&] {
      read_first_entry(split);
      return true;
    });
    if (split.tag != tag::compile_unit || split.split_id != skeleton.split_id) continue;
    unit.calls.emplace(split);
    unit.calls->keep_names();
    return;
  }
}

ReadUnit& SourcePlaces::State::read_unit(std::uint32_t number) {
  const auto [known, is_new] = read.try_emplace(number);
  ReadUnit& unit = known->second;
  if (!is_new) return unit;
  Unit& header = file.units()[number];
  unit.lines = lines_of(header);
  if (open_split && header.split_name.is_present()) {
    try {
      read_split(header, unit);
    } catch (const Failure&) {
      // As if it was not there: some skeletons say what is inlined.
    }
  }
  if (unit.calls) return unit;
  try {
    unit.calls.emplace(header);
  } catch (const MalformedInput&) {
    unit.calls.reset();
  }
  return unit;
}

void SourcePlaces::State::add_frames(ReadUnit& unit, Call* innermost, const LineTable::Row* row) {
  SourceFrame place;
  if (row != nullptr && unit.lines->has_file(row->file)) {
    place.file = unit.lines->path_of(row->file);
    place.line = row->line;
  }
  if (innermost == nullptr && row != nullptr) frames.push_back(place);
  for (Call* call = innermost; call != nullptr; call = unit.calls->parent_of(*call)) {
    place.function = unit.calls->name_of(*call);
    place.around = unit.calls->around(*call);
    place.is_inlined = call->is_inlined;
    frames.push_back(place);
    place.file = unit.lines == nullptr ? std::string_view{} : unit.lines->path_of(call->call_file);
    place.line = call->call_line;
  }
}

const std::vector<SourceFrame>& SourcePlaces::State::at(std::uint64_t address) {
  frames.clear();
  std::uint32_t owner = units.owner_at(address);
  if (owner == FlatRanges::none) {
    if (!without_ranges) find_rest();
    owner = without_ranges->owner_at(address);
  }
  if (owner == FlatRanges::none) return frames;
  ReadUnit& unit = read_unit(owner_of(owner));
  Call* const innermost = unit.calls ? unit.calls->innermost_at(address) : nullptr;
  const LineTable::Row* const row = unit.lines == nullptr ? nullptr : unit.lines->row_at(address);
  add_frames(unit, innermost, row);
  return frames;
}

SourcePlaces::SourcePlaces(const elf::Image& file, const elf::Image* alternate, OpenSplit open_split)
    : state_(has_any(file) ? std::make_unique<State>(file, alternate, std::move(open_split)) : nullptr) {}

SourcePlaces::~SourcePlaces() = default;

bool SourcePlaces::has_any(const elf::Image& file) {
  const elf::Section* const info = find_info(file);
  // The addresses of an object's information are still to be relocated.
  if (info == nullptr || file.is_object()) return false;
  return if_sound([&] { return !file.bytes_of(*info).empty(); }).value_or(false);
}

SourcePlaces::Alternate SourcePlaces::alternate_of(const elf::Image& file) {
  const elf::Section* const link = file.find_section(".gnu_debugaltlink");
  if (link == nullptr) return {};
  const auto read = if_sound([&] {
    std::vector<std::byte> storage;
    const auto bytes = file.contents_of(*link, storage);
    const std::string_view path = text_before_zero(bytes);
    if (path.size() == bytes.size()) return Alternate{};
    return Alternate{std::string(path), elf::hex_digits(bytes.subspan(path.size() + 1))};
  });
  return read.value_or(Alternate{});
}

const std::vector<SourceFrame>& SourcePlaces::at(std::uint64_t address) {
  static const std::vector<SourceFrame> nothing;
  return state_ == nullptr ? nothing : state_->at(address);
}

}  // namespace sframe_gen::trace::dwarf
