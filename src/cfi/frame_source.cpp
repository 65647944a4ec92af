#include "cfi/frame_source.hpp"

#include <algorithm>
#include <cassert>
#include <compare>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "cfi/frame_index.hpp"
#include "elf/go_table.hpp"
#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/object/relocations.hpp"
#include "support/containers.hpp"

namespace sframe_gen::cfi {

namespace {

/// More FDEs than this that overlap, one the next, come from damage or malice; sorting them out costs the square.
constexpr std::size_t largest_overlap = 256;
/// So do as many rows of FDEs that overlap, which are all in memory at once.
constexpr std::size_t most_overlapping_rows = 200000;
/// An FDE of .debug_frame that .eh_frame cuts is worked out again for each part but one. Memory and instructions for
/// these parts, of all FDEs; to cut on would cost the square, and to cut some would let rows stand that others
/// contradict.
constexpr std::size_t most_bytes_of_parts = std::size_t{16} << 20U;
/// An FDE of more code counts in pieces of this size, the first at its start.
constexpr std::uint64_t largest_piece = UINT32_MAX;
/// Each piece takes a run over all of its FDE's instructions. Compilers write no function of 16 GiB, and damaged files
/// may claim any size: what an FDE says of code after so many pieces is left out.
constexpr std::uint64_t most_pieces = 4;

/// The expression over PLT entries looks at the low bits of the PC. In an object these are known only as far as the
/// section's alignment keeps them; elsewhere it is an expression like any other.
void forget_unaligned_stubs(const elf::SectionsByAddress& sections, Function& function, RuleTable& rules) {
  for (Row& row : function.rows) {
    const bool is_stub = std::holds_alternative<PltStub>(rules[row.rule].cfa);
    if (!is_stub) continue;
    const elf::Section* const section = sections.find(function.start);
    if (section != nullptr && section->header.sh_addralign >= plt_entry_size) continue;
    Rules other = rules[row.rule];
    other.cfa = OtherExpression{};
    row.rule = rules.intern(other);
  }
}

/// What one function says of a PC: rules in normal form, and the function's marks.
struct Claim {
  RuleId rule = 0;
  bool signal_frame = false, b_key = false;
  friend auto operator<=>(const Claim&, const Claim&) = default;  // NOLINT(modernize-use-nullptr)
};

/// From this PC on a function claims something else, or nothing.
struct Event {
  std::uint64_t pc;
  std::uint32_t function;
  std::optional<Claim> claim;
};

std::vector<Event> events_of(std::span<const Function> functions, RuleTable& rules) {
  std::vector<Event> events;
  for (std::uint32_t i = 0; i < functions.size(); ++i) {
    const Function& function = functions[i];
    for (const Row& row : function.rows) {
      const RuleId rule = rules.intern(normal_form(rules[row.rule]));
      events.push_back({function.start + row.pc_offset, i, Claim{rule, function.signal_frame, function.b_key}});
    }
    events.push_back({function.end(), i, std::nullopt});
  }
  std::ranges::sort(events, {}, &Event::pc);
  return events;
}

/// What the functions at the current PC claim, and how many of them each.
class Present {
 public:
  explicit Present(std::size_t functions) : of_function_(functions) {}

  void apply(const Event& event) {
    auto& place = of_function_[event.function];
    if (place && --counts_[*place] == 0) counts_.erase(*place);
    place = event.claim;
    if (place) ++counts_[*place];
  }

  bool none() const { return counts_.empty(); }
  std::optional<Claim> agreed() const {
    return counts_.size() == 1 ? std::optional(counts_.begin()->first) : std::nullopt;
  }

 private:
  std::vector<std::optional<Claim>> of_function_;
  std::map<Claim, std::uint32_t> counts_;
};

/// Collects what holds from each PC on.
class MergedFunctions {
 public:
  explicit MergedFunctions(RuleTable& rules) : conflict_(rules.intern(unknown_rules(UnknownReason::ConflictingFdes))) {}

  void add(std::uint64_t pc, const std::optional<Claim>& agreed) {
    const bool marks_change =
        !functions_.empty() && agreed && (agreed->signal_frame != last().signal_frame || agreed->b_key != last().b_key);
    if (functions_.empty() || marks_change) open(pc, agreed);
    const RuleId rule = agreed ? agreed->rule : conflict_;
    if (last().rows.empty() || last().rows.back().rule != rule)
      last().rows.push_back({static_cast<std::uint32_t>(pc - last().start), rule});
  }

  std::vector<Function> end(std::uint64_t pc) {
    last().size = pc - last().start;
    return std::move(functions_);
  }

 private:
  Function& last() { return functions_.back(); }

  void open(std::uint64_t pc, const std::optional<Claim>& claim) {
    if (!functions_.empty()) last().size = pc - last().start;
    functions_.push_back({pc, 0, claim && claim->signal_frame, {}, claim && claim->b_key});
  }

  RuleId conflict_;
  std::vector<Function> functions_;
};

}  // namespace

FrameSource::FrameSource(const elf::Image& image, const elf::Image& cfi_image,
                         std::shared_ptr<const OtherFunctions> others)
    : image_(image), tracked_(tracked_registers(elf::machine_of(image).abi)), others_(std::move(others)) {
  if (image.is_object()) sections_.emplace(image);
  const std::size_t eh_frame_fdes = load(image);
  sort_by_start(std::span(fdes_).first(eh_frame_fdes));
  if (&cfi_image != &image) load(cfi_image);
  dropped_.shadowed = drop_shadowed(eh_frame_fdes);
  if (others_ != nullptr) take_others();
  if (elf::has_sections_of_go(image) || elf::has_sections_of_go(cfi_image)) drop_those_of_go();
  sort_by_start(fdes_);
}

/// Takes the others, and away from the FDEs what they describe.
void FrameSource::take_others() {
  std::vector<FdePiece> all;
  for (const Range& range : others_->ranges())
    all.push_back({range.begin, range.end, other_table, static_cast<std::uint32_t>(all.size())});
  const std::size_t count = all.size();
  all.insert(all.end(), fdes_.begin(), fdes_.end());
  fdes_ = std::move(all);
  replaced_by_others_ = drop_shadowed(count);
}

/// Go's linker writes .debug_frame that is wrong: it calls the frame pointer unchanged where functions have saved it,
/// and goes on after they have switched stacks. Its CIE counts by -4, which no compiler of C does for these machines.
void FrameSource::drop_those_of_go() {
  const auto is_of_go = [&](const FdePiece& ref) {
    if (ref.table == other_table || tables_[ref.table].kind != FrameSection::DebugFrame) return false;
    const FrameTable& table = tables_[ref.table];
    return table.cies[table.fdes[ref.fde].cie_index].data_alignment == -4;
  };
  dropped_.of_go = static_cast<std::uint64_t>(std::erase_if(fdes_, is_of_go));
}

/// In section order where starts are equal. Compilers that give each function a section of its own leave .eh_frame in
/// another order than the code; to compare 100,000 FDEs pair by pair would take longer than to read them.
void FrameSource::sort_by_start(std::span<FdePiece> fdes) {
  const auto before = [](const FdePiece& a, const FdePiece& b) {
    return std::tie(a.start, a.table, a.fde) < std::tie(b.start, b.table, b.fde);
  };
  if (std::ranges::is_sorted(fdes, before)) return;
  sort_by_number(
      fdes, [](const FdePiece& ref) { return ref.start; }, before);
}

/// Reads the sections of one file; returns how many FDEs .eh_frame has given, which come first.
std::size_t FrameSource::load(const elf::Image& source) {
  std::size_t eh_frame_fdes = 0;
  const std::size_t known_tables = tables_.size();
  for (LoadedSection& section : load_frame_sections(source)) {
    // The running file's own .eh_frame is the truth; a debug file can only add .debug_frame.
    if (section.kind == FrameSection::EhFrame && &source != &image_) continue;
    tables_.push_back(
        index_frame_section(section.kind, section.bytes, section.address, source.endian(), section.origin));
    FrameTable& table = tables_.back();
    leave_out_relocated_fields(table, section.relocated_fields);
    dropped_.unreadable += table.unreadable_count;
    for (const UnreadableFde& fde : table.unreadable)
      if (dropped_.named_unreadable.size() < FrameTable::most_named_unreadable)
        dropped_.named_unreadable.push_back(fde);
    decompressed_.push_back(std::move(section.storage));
    references_.push_back(std::move(section.code_references));
    keep_fdes_of_code();
    if (section.kind == FrameSection::EhFrame) eh_frame_fdes = fdes_.size();
  }
  const std::span references = std::span(references_).subspan(known_tables);
  if (&source != &image_ && image_.is_object() && !references.empty())
    elf::object::name_by_symbols_of(image_, references);
  return eh_frame_fdes;
}

bool FrameSource::empty() const {
  return others_ == nullptr && std::all_of(tables_.begin(), tables_.end(), [](const FrameTable& table) {
           return table.fdes.empty() && table.unreadable_count == 0;
         });
}

/// Takes the FDEs of the last table that describe code of the image.
void FrameSource::keep_fdes_of_code() {
  const auto table = static_cast<std::uint32_t>(tables_.size() - 1);
  const std::vector<Fde>& fdes = tables_.back().fdes;
  fdes_.reserve(fdes_.size() + fdes.size());
  // Nearly every function is in the same section as the one before. Those of a damaged file may overlap.
  std::uint64_t known_begin = 0, known_end = 0, code_end = 0;
  const auto code_left = [&](std::uint64_t address) {
    if (address < known_begin || address >= known_end) {
      known_begin = address;
      code_end = address + image_.code_left(address);
      known_end = std::min(code_end, image_.code_after(address).value_or(UINT64_MAX));
    }
    return code_end - address;
  };
  for (std::uint32_t i = 0; i < fdes.size(); ++i) {
    const Fde& fde = fdes[i];
    if (fde.function_size == 0) {
      ++dropped_.empty;
    } else if (const std::uint64_t code = code_left(fde.function_start); code == 0 || !is_relocated(table, i)) {
      ++dropped_.outside_code;
    } else {
      // What it says of bytes after the end of its section is of no use, the rest is.
      const std::uint64_t end = fde.function_start + std::min({fde.function_size, code, most_pieces * largest_piece});
      std::uint64_t begin = fde.function_start;
      for (; end - begin > largest_piece; begin += largest_piece)
        fdes_.push_back({begin, begin + largest_piece, table, i});
      fdes_.push_back({begin, end, table, i});
    }
  }
}

/// Returns the size of the FDE's instructions and of its CIE's.
std::size_t FrameSource::bytes_of_instructions(const FdePiece& ref) const {
  const Fde& fde = tables_[ref.table].fdes[ref.fde];
  return fde.size_of_instructions + tables_[ref.table].cies[fde.cie_index].initial_instructions.size();
}

const elf::object::CodeReference* FrameSource::reference_of(std::uint32_t table, std::uint32_t fde) const {
  const std::uint64_t field = tables_[table].start_field_of(tables_[table].fdes[fde]);
  const auto found = std::ranges::lower_bound(references_[table], field, {}, &elf::object::CodeReference::field_offset);
  return found != references_[table].end() && found->field_offset == field ? &*found : nullptr;
}

/// A number in an object's FDE that no relocation has made is the address of nothing, whatever section has it by
/// chance.
bool FrameSource::is_relocated(std::uint32_t table, std::uint32_t fde) const {
  if (!image_.is_object()) return true;
  const elf::object::CodeReference* const reference = reference_of(table, fde);
  return reference != nullptr && reference->address == tables_[table].fdes[fde].function_start;
}

FrameSource::FdeRelocation FrameSource::reference_to(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(fdes_, address, {}, &FdePiece::start);
  assert(after != fdes_.begin());
  // The first of several FDEs with the same start counts, as it does for order.
  const std::uint64_t start = std::prev(after)->start;
  const FdePiece& ref = *std::ranges::lower_bound(fdes_, start, {}, &FdePiece::start);
  const elf::object::CodeReference* const reference = reference_of(ref.table, ref.fde);
  assert(reference != nullptr);
  FdeRelocation result{*reference, ref.table};
  result.reference.addend += static_cast<std::int64_t>(address - reference->address);
  result.reference.address = address;
  return result;
}

/// Takes the PCs that the first FDEs describe, which are sorted, away from the others. Returns how many of these are
/// gone.
std::uint64_t FrameSource::drop_shadowed(std::size_t first_fdes) {
  std::uint64_t shadowed = 0;
  if (first_fdes == fdes_.size()) return shadowed;
  std::vector<FdePiece> described;  // what the first ones describe, without overlaps
  for (std::size_t i = 0; i < first_fdes; ++i) {
    if (described.empty() || fdes_[i].start > described.back().end) described.push_back(fdes_[i]);
    described.back().end = std::max(described.back().end, fdes_[i].end);
  }
  std::vector<FdePiece> kept;
  std::size_t left = most_bytes_of_parts;
  for (const FdePiece& ref : std::span(fdes_).subspan(first_fdes)) {
    const std::size_t before = kept.size();
    const std::size_t cost = sizeof(FdePiece) + bytes_of_instructions(ref);
    const std::size_t most = before + 1 + left / cost;
    std::uint64_t begin = ref.start;
    auto next = std::ranges::upper_bound(described, begin, {}, &FdePiece::end);
    for (; next != described.end() && next->start < ref.end && kept.size() <= most; ++next) {
      if (next->start > begin) kept.push_back({begin, next->start, ref.table, ref.fde});
      begin = next->end;
    }
    if (begin < ref.end) kept.push_back({begin, ref.end, ref.table, ref.fde});
    if (kept.size() > most) {
      kept.clear();
      shadowed = fdes_.size() - first_fdes;
      break;
    }
    if (kept.size() == before) {
      ++shadowed;
    } else {
      left -= (kept.size() - before - 1) * cost;
    }
  }
  fdes_.resize(first_fdes);
  fdes_.insert(fdes_.end(), kept.begin(), kept.end());
  return shadowed;
}

RangeSet FrameSource::described() const {
  std::vector<Range> ranges;
  for (const FdePiece& ref : fdes_) ranges.push_back({ref.start, ref.end});
  return RangeSet(std::move(ranges));
}

std::vector<FrameSource::Record> FrameSource::records() const {
  std::vector<Record> records;
  records.reserve(fdes_.size());
  for (const FdePiece& ref : fdes_) {
    Record& record = records.emplace_back();
    record.pcs = {ref.start, ref.end};
    if (ref.table == other_table) {
      record.source = others_->source_of(ref.fde);
    } else {
      record.source = tables_[ref.table].kind == FrameSection::EhFrame ? RowSource::EhFrame : RowSource::DebugFrame;
    }
  }
  return records;
}

std::vector<FrameSource::Part> FrameSource::parts(std::size_t count) const {
  std::vector<Part> parts;
  std::size_t begin = 0;
  std::uint64_t highest_end = 0;
  for (std::size_t i = 0; i < fdes_.size(); ++i) {
    // FDEs that overlap stay together.
    const bool due = i * count >= fdes_.size() * (parts.size() + 1);
    if (due && i != begin && fdes_[i].start >= highest_end) {
      parts.push_back({begin, i});
      begin = i;
    }
    highest_end = std::max(highest_end, fdes_[i].end);
  }
  if (begin != fdes_.size()) parts.push_back({begin, fdes_.size()});
  return parts;
}

std::vector<Function> merge_overlapping(std::span<const Function> functions, RuleTable& rules) {
  const std::vector<Event> events = events_of(functions, rules);
  Present present(functions.size());
  MergedFunctions merged(rules);
  for (std::size_t i = 0; i < events.size(); ++i) {
    present.apply(events[i]);
    const bool more_here = i + 1 < events.size() && events[i + 1].pc == events[i].pc;
    if (!more_here && !present.none()) merged.add(events[i].pc, present.agreed());
  }
  return merged.end(events.back().pc);
}

Function part_of(const Function& function, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t skipped = begin - function.start;
  Function part{begin, end - begin, function.signal_frame, {}, function.b_key, function.repeat_size};
  for (auto row = std::prev(std::ranges::upper_bound(function.rows, skipped, {}, &Row::pc_offset));
       row != function.rows.end() && row->pc_offset < end - function.start; ++row)
    part.rows.push_back(
        {static_cast<std::uint32_t>(std::max<std::uint64_t>(row->pc_offset, skipped) - skipped), row->rule});
  return part;
}

FrameReader::FrameReader(const FrameSource& source, RuleTable& rules) : source_(source), rules_(rules) {
  interpreters_.reserve(source.tables_.size());
  for (const FrameTable& table : source.tables_) interpreters_.emplace_back(table, source.tracked_, rules);
}

void FrameReader::read(const FrameSource::FdePiece& ref, Function& function) {
  if (ref.table == FrameSource::other_table) return source_.others_->read(ref.fde, function, rules_);
  const FrameTable& table = source_.tables_[ref.table];
  const Fde& fde = table.fdes[ref.fde];
  const Cie& cie = table.cies[fde.cie_index];
  function.start = ref.start;
  function.size = ref.end - ref.start;
  function.signal_frame = cie.signal_frame;
  function.b_key = cie.b_key;
  interpreters_[ref.table].run(fde, {ref.start - fde.function_start, ref.end - fde.function_start}, function.rows);
  if (source_.sections_) forget_unaligned_stubs(*source_.sections_, function, rules_);
}

std::uint64_t FrameReader::for_each_function(const FrameSource::Part& part,
                                             const std::function<void(const Function&)>& callback) {
  const std::span<const FrameSource::FdePiece> fdes = source_.fdes_;
  std::uint64_t duplicates = 0;
  Function function;
  for (std::size_t i = part.begin; i < part.end;) {
    std::size_t next = i + 1;
    std::uint64_t end = fdes[i].end;
    for (; next < part.end && fdes[next].start < end; ++next) end = std::max(end, fdes[next].end);
    if (next == i + 1) {
      read(fdes[i], function);
      callback(function);
    } else if (const auto members = distinct(fdes.subspan(i, next - i), end)) {
      duplicates += next - i - members->size();
      for (const Function& merged : merge_overlapping(*members, rules_)) callback(merged);
    } else {
      const RuleId conflict = rules_.intern(unknown_rules(UnknownReason::ConflictingFdes));
      callback({fdes[i].start, end - fdes[i].start, false, {{0, conflict}}});
    }
    i = next;
  }
  return duplicates;
}

/// The functions of FDEs that overlap, up to `end`, each once. Without a value where they are too many to sort out.
std::optional<std::vector<Function>> FrameReader::distinct(std::span<const FrameSource::FdePiece> fdes,
                                                           std::uint64_t end) {
  if (fdes.size() > largest_overlap || end - fdes.front().start > largest_piece) return std::nullopt;
  std::vector<Function> members;
  std::size_t rows = 0;
  Function next;
  for (const FrameSource::FdePiece& ref : fdes) {
    read(ref, next);
    if (std::ranges::find(members, next) != members.end()) continue;
    rows += next.rows.size();
    if (rows > most_overlapping_rows) return std::nullopt;
    members.push_back(next);
  }
  return members;
}

}  // namespace sframe_gen::cfi
