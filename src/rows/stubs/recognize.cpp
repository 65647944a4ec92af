#include "rows/stubs/recognize.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/dynamic_table.hpp"
#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "rows/stubs/forms.hpp"
#include "rows/stubs/pattern.hpp"
#include "support/endian.hpp"
#include "support/range.hpp"

namespace sframe_gen::rows::stubs {

namespace {

/// Whether an entry that unwinds as `pattern` says can join the run before it.
bool continues(const StubRun& run, const Pattern& pattern, std::uint64_t start) {
  if (run.end() != start || run.rows.size() != pattern.rows.size()) return false;
  if (run.rows.size() > 1 && run.repeat_size != pattern.size()) return false;
  return std::ranges::equal(run.rows, pattern.rows);
}

/// Joins stubs that follow each other into runs.
class RunBuilder {
 public:
  explicit RunBuilder(std::string_view form) : form_(form) {}

  void add_header(const Pattern& pattern, std::uint64_t start) { append(pattern, start, false); }
  /// Joins the run before it if it unwinds alike.
  void add_entry(const Pattern& pattern, std::uint64_t start) {
    const bool is_as_before = &pattern == joined_ && runs_.back().end() == start;
    const bool joins = is_as_before || (last_is_entry_ && continues(runs_.back(), pattern, start));
    if (!joins || runs_.back().size + pattern.size() > UINT32_MAX) return append(pattern, start, true);
    joined_ = &pattern;
    known_bytes_ += pattern.size();
    runs_.back().size += pattern.size();
    ++runs_.back().entries;
  }

  std::uint64_t known_bytes() const { return known_bytes_; }
  std::vector<StubRun>& runs() { return runs_; }

 private:
  /// Takes over all that the pattern tells of its bytes; what has no rules is left out.
  void append(const Pattern& pattern, std::uint64_t start, bool is_entry) {
    known_bytes_ += pattern.size();
    joined_ = nullptr;
    StubRun run;
    const auto close = [&](std::uint64_t end) {
      if (run.rows.empty()) return;
      run.size = end - run.start;
      run.form = form_;
      if (is_entry && run.rows.size() > 1) run.repeat_size = static_cast<std::uint8_t>(pattern.size());
      runs_.push_back(std::exchange(run, {}));
      last_is_entry_ = is_entry;
    };
    for (const StubRow& row : pattern.rows) {
      if (!row.rules) {
        close(start + row.offset);
        continue;
      }
      if (run.rows.empty()) run.start = start + row.offset;
      run.rows.push_back({static_cast<std::uint8_t>(start + row.offset - run.start), row.rules});
    }
    close(start + pattern.size());
  }

  std::string_view form_;
  std::vector<StubRun> runs_;
  bool last_is_entry_ = false;
  const Pattern* joined_ = nullptr;  ///< the last run has grown by such an entry; others like it fit, too
  std::uint64_t known_bytes_ = 0;
};

/// Addresses of the slots that calls through stubs load from; sorted.
std::vector<std::uint64_t> slots_of(const elf::Image& image) {
  const auto dynamic = elf::read_dynamic(image);
  const auto address = elf::find_dynamic(dynamic, DT_JMPREL);
  const auto size = elf::find_dynamic(dynamic, DT_PLTRELSZ);
  std::vector<std::uint64_t> slots;
  if (!address || !size || elf::find_dynamic(dynamic, DT_PLTREL) != DT_RELA) return slots;
  const auto bytes = elf::loaded_bytes(image, *address, *size);
  for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size(); at += sizeof(Elf64_Rela))
    slots.push_back(load<std::uint64_t>(bytes.subspan(at), image.endian()));
  std::ranges::sort(slots);
  return slots;
}

/// Looks for stubs in some code.
class StubCode {
 public:
  StubCode(std::uint64_t address, std::span<const std::byte> bytes, const StubContext& around, sframe::Abi abi)
      : address_(address), bytes_(bytes), around_(around), abi_(abi) {}

  /// The stubs of a section that has nothing else, in the form that knows most of it.
  std::vector<StubRun> read() const {
    RunBuilder best("");
    for (const Form& form : forms_for(abi_)) {
      RunBuilder found = read(form);
      if (found.known_bytes() > best.known_bytes()) best = std::move(found);
      if (best.known_bytes() == bytes_.size()) break;  // no other knows more
    }
    return std::move(best.runs());
  }

  /// Adds the stubs among other code. `by_slot`: where a slot is only what DT_JMPREL names, and no header is known.
  void search(const StubContext& by_slot, StubList& found) const {
    const std::uint64_t step = stub_alignment(abi_);
    for (std::uint64_t at = (step - address_ % step) % step; at < bytes_.size();) {
      std::optional<RunBuilder> stubs = table_at(at);
      if (!stubs) stubs = jumps_at(at, by_slot);
      if (!stubs) {
        at += step;
        continue;
      }
      found.sections.push_back({address_ + at, address_ + at + stubs->known_bytes()});
      std::ranges::move(stubs->runs(), std::back_inserter(found.runs));
      at += (stubs->known_bytes() + step - 1) / step * step;
    }
  }

 private:
  /// Nothing, unless the form knows every byte: code that is not known may jump to any stub beside it, or go on into
  /// it, with whatever it has pushed. Zeros, which GNU ld leaves for an absent function in a static PIE, do neither.
  RunBuilder read(const Form& form) const {
    RunBuilder found(form.name);
    StubContext around = around_;
    if (form.header != nullptr) {
      if (!fits(*form.header, 0, around)) return found;
      around.header = address_;
      found.add_header(*form.header, address_);
    }
    for (std::uint64_t at = found.known_bytes(); at < bytes_.size();) {
      const Pattern* entry = entry_at(form, at, around);
      if (entry == nullptr) entry = last_at(form, at, around);
      if (entry == nullptr && !is_zero(at, form.entry_size())) return RunBuilder(form.name);
      if (entry != nullptr) found.add_entry(*entry, address_ + at);
      at += entry != nullptr ? entry->size() : form.entry_size();
    }
    return found;
  }

  bool is_zero(std::uint64_t at, std::uint64_t size) const {
    const auto rest = bytes_.subspan(at);
    return std::ranges::all_of(rest.first(std::min<std::uint64_t>(size, rest.size())),
                               [](std::byte byte) { return byte == std::byte{0}; });
  }

  /// A header with the entries after it, in the form that knows most of them.
  std::optional<RunBuilder> table_at(std::uint64_t at) const {
    std::optional<RunBuilder> best;
    for (const Form& form : forms_for(abi_)) {
      if (!around_.table || form.header == nullptr || !fits(*form.header, at, around_)) continue;
      RunBuilder table(form.name);
      table.add_header(*form.header, address_ + at);
      StubContext around = around_;
      around.header = address_ + at;
      add_entries(form, at + form.header->size(), around, table);
      // A header alone does not tell which linker's it is, nor that it is one.
      if (table.known_bytes() == form.header->size()) continue;
      if (!best || table.known_bytes() > best->known_bytes()) best = std::move(table);
    }
    return best;
  }

  /// Stubs that have no header.
  std::optional<RunBuilder> jumps_at(std::uint64_t at, const StubContext& by_slot) const {
    for (const Form& form : forms_for(abi_)) {
      if (form.header != nullptr || form.entry_size() % stub_alignment(abi_) != 0) continue;
      RunBuilder jumps(form.name);
      add_entries(form, at, by_slot, jumps);
      if (jumps.known_bytes() != 0) return jumps;
    }
    return {};
  }

  /// Up to the first that is not known.
  void add_entries(const Form& form, std::uint64_t at, const StubContext& around, RunBuilder& runs) const {
    for (; at < bytes_.size(); at += form.entry_size()) {
      const Pattern* const entry = entry_at(form, at, around);
      if (entry == nullptr) return;
      runs.add_entry(*entry, address_ + at);
    }
  }

  const Pattern* entry_at(const Form& form, std::uint64_t at, const StubContext& around) const {
    const auto* const found =
        std::ranges::find_if(form.entries, [&](const Pattern* pattern) { return fits(*pattern, at, around); });
    return found == form.entries.end() ? nullptr : *found;
  }

  const Pattern* last_at(const Form& form, std::uint64_t at, const StubContext& around) const {
    const auto* const found = std::ranges::find_if(form.last, [&](const Pattern* pattern) {
      return at + pattern->size() == bytes_.size() && fits(*pattern, at, around);
    });
    return found == form.last.end() ? nullptr : *found;
  }

  bool fits(const Pattern& pattern, std::uint64_t at, const StubContext& around) const {
    return at <= bytes_.size() && pattern.size() <= bytes_.size() - at &&
           matches(pattern, bytes_.subspan(at), address_ + at, around);
  }

  std::uint64_t address_;
  std::span<const std::byte> bytes_;
  const StubContext& around_;
  sframe::Abi abi_;
};

/// Adds the stubs of a file without section headers, as far as PT_DYNAMIC leads to them: the header that refers to
/// DT_PLTGOT's table and the entries after it, up to the first that is not known; and, where a call goes by a second
/// stub, those that jump by a slot of DT_JMPREL. Nothing tells where .plt.got, .iplt, .init and .fini are.
void find_without_section_headers(const elf::Image& image, const StubContext& around, sframe::Abi abi,
                                  StubList& found) {
  const std::vector<std::uint64_t> slots = slots_of(image);
  StubContext by_slot = around;
  by_slot.is_slot = [&slots](std::uint64_t address) { return std::ranges::binary_search(slots, address); };
  // No header, or entries would be taken without theirs.
  by_slot.header.reset();
  for (const elf::Section& section : image.sections()) {
    if ((section.header.sh_flags & SHF_EXECINSTR) == 0 || section.header.sh_type != SHT_PROGBITS) continue;
    StubCode(section.header.sh_addr, image.bytes_of(section), around, abi).search(by_slot, found);
  }
}

/// Whether the dynamic linker may keep a pointer there.
bool is_slot(const elf::Image& image, std::uint64_t address) {
  if (address % sizeof(std::uint64_t) != 0) return false;
  return std::ranges::any_of(image.segments(), [&](const Elf64_Phdr& segment) {
    const bool is_data = segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0;
    return is_data && elf::holds_address(segment, address) && elf::holds_address(segment, address + 7);
  });
}

bool is_one_of(std::initializer_list<std::string_view> names, const elf::Section& section, const elf::Image& image) {
  const Elf64_Shdr& header = section.header;
  return header.sh_type == SHT_PROGBITS && (header.sh_flags & SHF_ALLOC) != 0 &&
         (header.sh_flags & SHF_EXECINSTR) != 0 && header.sh_size != 0 &&
         std::ranges::count(names, section.name) != 0 && image.is_code(header.sh_addr, header.sh_size);
}

/// What a process has at its addresses: a section header may lead elsewhere in the file.
std::span<const std::byte> code_of(const elf::Section& section, const elf::Image& image) {
  return elf::loaded_bytes(image, section.header.sh_addr, section.header.sh_size);
}

StubContext context_of(const elf::Image& image) {
  StubContext around;
  around.table = elf::find_dynamic(elf::read_dynamic(image), DT_PLTGOT);
  around.is_slot = [&image](std::uint64_t address) { return is_slot(image, address); };
  // Entries of .iplt go to the header of .plt.
  if (const elf::Section* const plt = image.find_section(".plt")) around.header = plt->header.sh_addr;
  return around;
}

/// The one function that a section is, if every byte of it is known.
std::vector<StubRun> read_end(const elf::Section& section, const elf::Image& image, const StubContext& around,
                              sframe::Abi abi) {
  RunBuilder found("crti, crtn");
  const auto bytes = code_of(section, image);
  for (const Pattern& pattern : ends_for(abi)) {
    if (pattern.size() != bytes.size() || !matches(pattern, bytes, section.header.sh_addr, around)) continue;
    found.add_header(pattern, section.header.sh_addr);
    break;
  }
  return std::move(found.runs());
}

/// The function that the kernel enters, if it is one that is known. A library need not be entered by it.
std::optional<StubRun> read_start(const elf::Image& image, const StubContext& around, sframe::Abi abi) {
  if (!elf::is_program(image)) return {};
  const std::uint64_t entry = image.header().e_entry;
  for (const Pattern& pattern : starts_for(abi)) {
    if (!image.is_code(entry, pattern.size())) continue;
    const auto bytes = elf::loaded_bytes(image, entry, pattern.size());
    if (bytes.size() < pattern.size() || !matches(pattern, bytes, entry, around)) continue;
    RunBuilder found("musl");
    found.add_header(pattern, entry);
    return found.runs().front();
  }
  return {};
}

/// Joins ranges that overlap. They are ascending by their begin.
void join_overlapping(std::vector<Range>& ranges) {
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    if (joined.empty() || range.begin >= joined.back().end) {
      joined.push_back(range);
    } else {
      joined.back().end = std::max(joined.back().end, range.end);
    }
  }
  ranges = std::move(joined);
}

/// Where sections of code overlap, as those of a damaged file may: nothing tells which instructions run there.
RangeSet ambiguous_code(const elf::Image& image) {
  std::vector<Range> sections, ambiguous;
  for (const elf::Section& section : image.sections()) {
    const Elf64_Shdr& header = section.header;
    if ((header.sh_flags & SHF_EXECINSTR) != 0 && image.is_code(header.sh_addr, header.sh_size))
      sections.push_back({header.sh_addr, header.sh_addr + header.sh_size});
  }
  std::ranges::sort(sections, {}, &Range::begin);
  Range before;
  for (const Range& section : sections) {
    if (section.begin < before.end) ambiguous.insert(ambiguous.end(), {before, section});
    if (section.end > before.end) before = section;
  }
  return RangeSet(std::move(ambiguous));
}

}  // namespace

StubList find_stubs(const elf::Image& image) {
  StubList found;
  found.knows_sections = image.has_section_headers();
  const StubContext around = context_of(image);
  const sframe::Abi abi = elf::machine_of(image).abi;
  // Sections that are together larger than the file share bytes: those of the last ones are not known stubs.
  std::uint64_t left = image.file_bytes().size();
  for (const elf::Section& section : image.sections()) {
    const bool has_stubs_only = is_one_of({".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt"}, section, image);
    if (!has_stubs_only && !is_one_of({".init", ".fini"}, section, image)) continue;
    const bool is_read = section.header.sh_size <= left;
    if (is_read) left -= section.header.sh_size;
    std::vector<StubRun> runs;
    if (is_read && has_stubs_only)
      runs = StubCode(section.header.sh_addr, code_of(section, image), around, abi).read();
    else if (is_read)
      runs = read_end(section, image, around, abi);
    // In .init and .fini anything may stand, if it is not what is known.
    if (has_stubs_only || !runs.empty())
      found.sections.push_back({section.header.sh_addr, section.header.sh_addr + section.header.sh_size});
    std::ranges::move(runs, std::back_inserter(found.runs));
  }
  if (!image.has_section_headers()) find_without_section_headers(image, around, abi, found);
  if (const auto start = read_start(image, around, abi)) {
    found.sections.push_back({start->start, start->end()});
    found.runs.push_back(*start);
  }
  std::ranges::sort(found.runs, {}, &StubRun::start);
  std::ranges::sort(found.sections, {}, &Range::begin);
  join_overlapping(found.sections);
  const RangeSet ambiguous = ambiguous_code(image);
  std::erase_if(found.runs, [&](const StubRun& run) { return ambiguous.overlaps({run.start, run.end()}); });
  return found;
}

std::span<const Form> forms_for(sframe::Abi abi) {
  switch (abi) {
    case sframe::Abi::Amd64:
      return amd64_forms();
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return aarch64_forms();
    case sframe::Abi::S390x:
      return s390x_forms();
  }
  return amd64_forms();
}

/// gold aligns those of aarch64 to 8 only.
std::uint64_t stub_alignment(sframe::Abi abi) {
  return abi == sframe::Abi::Amd64 ? 16 : 4;
}

std::span<const Pattern> ends_for(sframe::Abi abi) {
  switch (abi) {
    case sframe::Abi::Amd64:
      return amd64_ends();
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return aarch64_ends();
    case sframe::Abi::S390x:
      return s390x_ends();
  }
  return amd64_ends();
}

std::span<const Pattern> starts_for(sframe::Abi abi) {
  return abi == sframe::Abi::Amd64 ? amd64_starts() : std::span<const Pattern>();
}

}  // namespace sframe_gen::rows::stubs
