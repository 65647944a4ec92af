#include "stubs/recognize.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "elf/dynamic_table.hpp"
#include "elf/load_lookup.hpp"
#include "elf/machine.hpp"
#include "stubs/forms.hpp"

namespace sframe_gen::stubs {

namespace {

/// Everything that a pattern says of the bytes from `start` on, for `size` bytes; what has no rules is left out.
void append_runs(const Pattern& pattern, std::uint64_t start, std::string_view form, bool is_entry,
                 std::vector<Run>& runs) {
  Run run;
  const auto close = [&](std::uint64_t end) {
    if (run.rows.empty()) return;
    run.size = end - run.start;
    run.form = form;
    if (is_entry && run.rows.size() > 1) run.repeat_size = static_cast<std::uint8_t>(pattern.size());
    runs.push_back(std::exchange(run, {}));
  };
  for (const StubRow& row : pattern.rows) {
    if (!row.rules) {
      close(start + row.offset);
      continue;
    }
    if (run.rows.empty()) run.start = start + row.offset;
    run.rows.push_back({start + row.offset - run.start, *row.rules});
  }
  close(start + pattern.size());
}

/// Whether an entry that unwinds as `pattern` says can join the run before it.
bool continues(const Run& run, const Pattern& pattern, std::uint64_t start) {
  if (run.end() != start || run.rows.size() != pattern.rows.size()) return false;
  if (run.rows.size() > 1 && run.repeat_size != pattern.size()) return false;
  return std::ranges::equal(run.rows, pattern.rows, [](const cfi::FrameRow& a, const StubRow& b) {
    return b.rules && a.pc_offset == b.offset && a.rules == *b.rules;
  });
}

/// A section as one form sees it.
struct Reading {
  std::vector<Run> runs;
  std::uint64_t known_bytes = 0;
};

class SectionReader {
 public:
  SectionReader(const elf::Section& section, std::span<const std::byte> bytes, const Surroundings& around)
      : address_(section.header.sh_addr), bytes_(bytes), around_(around) {}

  Reading read(const Form& form) {
    Reading reading;
    Surroundings around = around_;
    std::uint64_t at = 0;
    if (form.header) {
      around.header = address_;
      at = form.header->size();
      if (fits(*form.header, 0, around)) {
        append_runs(*form.header, address_, form.name, false, reading.runs);
        reading.known_bytes += at;
      }
    }
    const std::size_t headers = reading.runs.size();
    for (; at < bytes_.size(); at += form.entry_size()) {
      const Pattern* const pattern = find(form, at, around);
      if (pattern == nullptr) continue;
      reading.known_bytes += pattern->size();
      const bool joins = reading.runs.size() > headers && continues(reading.runs.back(), *pattern, address_ + at);
      if (joins) {
        reading.runs.back().size += pattern->size();
        ++reading.runs.back().entries;
      } else {
        append_runs(*pattern, address_ + at, form.name, true, reading.runs);
      }
    }
    return reading;
  }

 private:
  bool fits(const Pattern& pattern, std::uint64_t at, const Surroundings& around) const {
    return at <= bytes_.size() && pattern.size() <= bytes_.size() - at &&
           matches(pattern, bytes_.subspan(at), address_ + at, around);
  }

  const Pattern* find(const Form& form, std::uint64_t at, const Surroundings& around) const {
    for (const Pattern& pattern : form.entries)
      if (fits(pattern, at, around)) return &pattern;
    for (const Pattern& pattern : form.last)
      if (at + pattern.size() == bytes_.size() && fits(pattern, at, around)) return &pattern;
    return nullptr;
  }

  std::uint64_t address_;
  std::span<const std::byte> bytes_;
  const Surroundings& around_;
};

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

Surroundings surroundings_of(const elf::Image& image) {
  Surroundings around;
  around.table = elf::find_dynamic(elf::read_dynamic(image), DT_PLTGOT);
  around.is_slot = [&image](std::uint64_t address) { return is_slot(image, address); };
  // Entries of .iplt go to the header of .plt.
  if (const elf::Section* const plt = image.find_section(".plt")) around.header = plt->header.sh_addr;
  return around;
}

std::vector<Run> read_stubs(const elf::Section& section, const elf::Image& image, const Surroundings& around,
                            const std::vector<Form>& forms) {
  SectionReader reader(section, image.bytes_of(section), around);
  Reading best;
  for (const Form& form : forms) {
    Reading reading = reader.read(form);
    if (reading.known_bytes > best.known_bytes) best = std::move(reading);
  }
  return std::move(best.runs);
}

/// The one function that a section is, if every byte of it is known.
std::vector<Run> read_end(const elf::Section& section, const elf::Image& image, const Surroundings& around,
                          sframe::Abi abi) {
  std::vector<Run> runs;
  const auto bytes = image.bytes_of(section);
  for (const Pattern& pattern : ends_for(abi)) {
    if (pattern.size() != bytes.size() || !matches(pattern, bytes, section.header.sh_addr, around)) continue;
    append_runs(pattern, section.header.sh_addr, "crti, crtn", false, runs);
    break;
  }
  return runs;
}

/// The function that the kernel enters, if it is one that is known.
std::optional<Run> read_start(const elf::Image& image, const Surroundings& around, sframe::Abi abi) {
  const std::uint64_t entry = image.header().e_entry;
  for (const Pattern& pattern : starts_for(abi)) {
    if (!image.is_code(entry, pattern.size())) continue;
    const auto bytes = elf::loaded_bytes(image, entry, pattern.size());
    if (bytes.size() < pattern.size() || !matches(pattern, bytes, entry, around)) continue;
    std::vector<Run> runs;
    append_runs(pattern, entry, "musl", false, runs);
    return runs.front();
  }
  return {};
}

}  // namespace

Found find_stubs(const elf::Image& image) {
  Found found;
  const Surroundings around = surroundings_of(image);
  const sframe::Abi abi = elf::machine_of(image).abi;
  for (const elf::Section& section : image.sections()) {
    const bool has_stubs_only = is_one_of({".plt", ".plt.sec", ".plt.got", ".plt.bnd", ".iplt"}, section, image);
    if (!has_stubs_only && !is_one_of({".init", ".fini"}, section, image)) continue;
    std::vector<Run> runs =
        has_stubs_only ? read_stubs(section, image, around, forms_for(abi)) : read_end(section, image, around, abi);
    // In .init and .fini anything may stand, if it is not what is known.
    if (has_stubs_only || !runs.empty())
      found.sections.push_back({section.header.sh_addr, section.header.sh_addr + section.header.sh_size});
    std::ranges::move(runs, std::back_inserter(found.runs));
  }
  if (const auto start = read_start(image, around, abi)) {
    found.sections.push_back({start->start, start->end()});
    found.runs.push_back(*start);
  }
  std::ranges::sort(found.runs, {}, &Run::start);
  std::ranges::sort(found.sections, {}, &AddressRange::begin);
  // Sections of a damaged file may overlap.
  std::uint64_t end = 0;
  std::erase_if(found.runs, [&](const Run& run) { return run.start < std::exchange(end, std::max(end, run.end())); });
  return found;
}

const std::vector<Form>& forms_for(sframe::Abi abi) {
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

const std::vector<Pattern>& ends_for(sframe::Abi abi) {
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

const std::vector<Pattern>& starts_for(sframe::Abi abi) {
  static const std::vector<Pattern> none;
  return abi == sframe::Abi::Amd64 ? amd64_starts() : none;
}

}  // namespace sframe_gen::stubs
