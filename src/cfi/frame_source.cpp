#include "cfi/frame_source.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <variant>

#include "cfi/dwarf_session.hpp"
#include "cfi/overlap.hpp"
#include "cfi/row_machine.hpp"
#include "cfi/section_loader.hpp"
#include "object/foreign_reference.hpp"

namespace sframe_gen::cfi {

namespace {

/// More FDEs than this in one heap that overlaps come from damage or malice; sorting them out costs the square.
constexpr std::size_t largest_cluster = 256;

/// What a linker makes addresses in the section at `address` multiples of.
std::uint64_t alignment_at(const elf::Image& object, std::uint64_t address) {
  for (const elf::Section& section : object.sections()) {
    const Elf64_Shdr& header = section.header;
    const bool holds =
        (header.sh_flags & SHF_ALLOC) != 0 && address >= header.sh_addr && address - header.sh_addr < header.sh_size;
    if (holds) return header.sh_addralign;
  }
  return 0;
}

/// The expression over PLT entries looks at the low bits of the PC. In an object these are known only as far as the
/// section's alignment keeps them; elsewhere it is an expression like any other.
void forget_unaligned_stubs(const elf::Image& object, FunctionFrames& function) {
  for (FrameRow& row : function.rows) {
    const bool is_stub = std::holds_alternative<PltStub>(row.rules.cfa);
    if (is_stub && alignment_at(object, function.start) < plt_entry_size) row.rules.cfa = OtherExpression{};
  }
}

}  // namespace

FrameSource::FrameSource(const elf::Image& image, const elf::Image& cfi_image)
    : image_(image), tracked_(find_tracked_registers(image.header().e_machine)) {
  assert(tracked_ != nullptr);
  const std::size_t eh_frame_pieces = load(image);
  // Of several .eh_frame, which objects may have, each is sorted for itself.
  if (image.is_object()) std::ranges::stable_sort(std::span(pieces_).first(eh_frame_pieces), {}, &Piece::start);
  if (&cfi_image != &image) load(cfi_image);
  drop_shadowed(eh_frame_pieces);
  const auto before = [](const Piece& a, const Piece& b) {
    return std::tie(a.start, a.table, a.entry) < std::tie(b.start, b.table, b.entry);
  };
  if (!std::is_sorted(pieces_.begin(), pieces_.end(), before)) std::sort(pieces_.begin(), pieces_.end(), before);
}

/// Reads the sections of one file; returns how many pieces .eh_frame has given, which come first.
std::size_t FrameSource::load(const elf::Image& source) {
  std::size_t eh_frame_pieces = 0;
  for (LoadedSection& section : load_frame_sections(source)) {
    // The running file's own .eh_frame is the truth; a debug file can only add .debug_frame.
    if (section.kind == FrameSection::EhFrame && &source != &image_) continue;
    tables_.push_back(
        DwarfSession(section.kind, section.bytes, section.address, source.endian(), section.origin).release_table());
    decompressed_.push_back(std::move(section.storage));
    if (&source != &image_ && image_.is_object()) object::name_by_symbols_of(image_, section.code_references);
    references_.push_back(std::move(section.code_references));
    collect();
    if (section.kind == FrameSection::EhFrame) eh_frame_pieces = pieces_.size();
  }
  return eh_frame_pieces;
}

bool FrameSource::empty() const {
  return std::all_of(tables_.begin(), tables_.end(), [](const FrameTable& table) { return table.entries.empty(); });
}

/// Takes the entries of the last table that describe code of the image.
void FrameSource::collect() {
  const auto table = static_cast<std::uint32_t>(tables_.size() - 1);
  const std::vector<FrameEntry>& entries = tables_.back().entries;
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    const FrameEntry& entry = entries[i];
    if (entry.function_size == 0) {
      ++dropped_.empty;
    } else if (!image_.is_code(entry.function_start, entry.function_size) || !is_relocated(table, i)) {
      ++dropped_.outside_code;
    } else {
      pieces_.push_back({entry.function_start, entry.function_start + entry.function_size, table, i});
    }
  }
}

const object::CodeReference* FrameSource::reference_of(std::uint32_t table, std::uint32_t entry) const {
  const std::uint64_t field = tables_[table].start_field_of(tables_[table].entries[entry]);
  const auto found = std::ranges::lower_bound(references_[table], field, {}, &object::CodeReference::field_offset);
  return found != references_[table].end() && found->field_offset == field ? &*found : nullptr;
}

/// A number in an object's FDE that no relocation has made is the address of nothing, whatever section has it by
/// chance.
bool FrameSource::is_relocated(std::uint32_t table, std::uint32_t entry) const {
  if (!image_.is_object()) return true;
  const object::CodeReference* const reference = reference_of(table, entry);
  return reference != nullptr && reference->address == tables_[table].entries[entry].function_start;
}

FrameSource::Start FrameSource::start_at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(pieces_, address, {}, &Piece::start);
  assert(after != pieces_.begin());
  // Of several that start alike the first counts, as it does for order.
  const std::uint64_t start = std::prev(after)->start;
  const Piece& piece = *std::ranges::lower_bound(pieces_, start, {}, &Piece::start);
  const object::CodeReference* const reference = reference_of(piece.table, piece.entry);
  assert(reference != nullptr);
  Start result{*reference, piece.table};
  result.reference.addend += static_cast<std::int64_t>(address - start);
  result.reference.address = address;
  return result;
}

/// Removes .debug_frame's pieces that overlap one of .eh_frame's, which are the first `eh_frame_pieces`, sorted.
void FrameSource::drop_shadowed(std::size_t eh_frame_pieces) {
  std::vector<std::uint64_t> highest_end(eh_frame_pieces);
  std::uint64_t highest = 0;
  for (std::size_t i = 0; i < eh_frame_pieces; ++i) highest_end[i] = highest = std::max(highest, pieces_[i].end);
  const auto first = pieces_.begin();
  const auto eh_frame_end = first + static_cast<std::ptrdiff_t>(eh_frame_pieces);
  const auto shadowed = [&](const Piece& piece) {
    // The last .eh_frame piece that starts before this one ends; none of those before it may reach into it.
    const auto after = std::lower_bound(first, eh_frame_end, piece.end,
                                        [](const Piece& p, std::uint64_t end) { return p.start < end; });
    return after != first && highest_end[static_cast<std::size_t>(after - first) - 1] > piece.start;
  };
  const auto kept = std::remove_if(eh_frame_end, pieces_.end(), shadowed);
  dropped_.shadowed += static_cast<std::uint64_t>(pieces_.end() - kept);
  pieces_.erase(kept, pieces_.end());
}

std::vector<FrameSource::Part> FrameSource::parts(std::size_t count) const {
  std::vector<Part> parts;
  std::size_t begin = 0;
  std::uint64_t highest_end = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    // FDEs that overlap stay together.
    const bool due = i * count >= pieces_.size() * (parts.size() + 1);
    if (due && i != begin && pieces_[i].start >= highest_end) {
      parts.push_back({begin, i});
      begin = i;
    }
    highest_end = std::max(highest_end, pieces_[i].end);
  }
  if (begin != pieces_.size()) parts.push_back({begin, pieces_.size()});
  return parts;
}

std::uint64_t FrameSource::for_each_function(const Part& part,
                                             const std::function<void(const FunctionFrames&)>& callback) const {
  std::vector<RowMachine> machines;
  machines.reserve(tables_.size());
  for (const FrameTable& table : tables_) machines.emplace_back(table, *tracked_);
  const PieceReader read = [&](const Piece& piece, FunctionFrames& function) {
    const FrameEntry& entry = tables_[piece.table].entries[piece.entry];
    function.start = piece.start;
    function.size = piece.end - piece.start;
    const CommonInformation& common = tables_[piece.table].common[entry.common_index];
    function.signal_frame = common.signal_frame;
    function.b_key = common.b_key;
    machines[piece.table].run(entry, function.rows);
    if (image_.is_object()) forget_unaligned_stubs(image_, function);
  };

  std::uint64_t duplicates = 0;
  FunctionFrames function;
  for (std::size_t i = part.begin; i < part.end;) {
    std::size_t next = i + 1;
    std::uint64_t end = pieces_[i].end;
    while (next < part.end && pieces_[next].start < end) end = std::max(end, pieces_[next++].end);
    if (next == i + 1) {
      read(pieces_[i], function);
    } else if (next - i > largest_cluster) {
      function = {pieces_[i].start, end - pieces_[i].start, false, {{0, {Opaque::ConflictingEntries, {}, {}, {}}}}};
    } else {
      const std::vector<FunctionFrames> members = distinct({i, next}, read);
      duplicates += next - i - members.size();
      function = merge_overlapping(members);
    }
    callback(function);
    i = next;
  }
  return duplicates;
}

/// The functions of one heap that overlaps, each once.
std::vector<FunctionFrames> FrameSource::distinct(const Part& part, const PieceReader& read) const {
  std::vector<FunctionFrames> members;
  for (std::size_t i = part.begin; i < part.end; ++i) {
    FunctionFrames member;
    read(pieces_[i], member);
    if (std::find(members.begin(), members.end(), member) == members.end()) members.push_back(std::move(member));
  }
  return members;
}

}  // namespace sframe_gen::cfi
