#include "rewrite/plan/movable.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "elf/go_table.hpp"
#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "elf/notes.hpp"
#include "elf/records.hpp"
#include "rewrite/plan/code_references.hpp"
#include "support/text.hpp"

namespace sframe_gen::rewrite {

namespace {

constexpr std::string_view library_mark = "__dso_handle";

template <typename T>
T number_at(std::span<const std::byte> bytes, std::size_t at, Endian endian) {
  return load<T>(bytes.subspan(at, sizeof(T)), endian);
}

bool rela_points_into(const elf::Image& image, const elf::Section& table, const elf::Section& section) {
  const auto pointers = elf::machine_of(image).pointer_relocations;
  const auto relocations = image.bytes_of(table);
  for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= relocations.size(); at += sizeof(Elf64_Rela)) {
    const Elf64_Rela relocation = elf::load_relocation(relocations.subspan(at), image.endian());
    if (!elf::holds_address(section.header, static_cast<std::uint64_t>(relocation.r_addend))) continue;
    if (std::find(pointers.begin(), pointers.end(), ELF64_R_TYPE(relocation.r_info)) != pointers.end()) return true;
  }
  return false;
}

/// The word at an address of the input, where the file has it.
std::optional<std::uint64_t> word_at(const elf::Image& image, std::uint64_t address) {
  const auto bytes = elf::loaded_bytes(image, address, sizeof(std::uint64_t));
  return bytes.empty() ? std::nullopt : std::optional(load<std::uint64_t>(bytes, image.endian()));
}

/// gABI, "Relative Relocation Table": an even entry is the address of a word to relocate; an odd one has a bit for each
/// of the 63 words that follow. The addend is what stands there.
bool relr_points_into(const elf::Image& image, const elf::Section& table, const elf::Section& section) {
  constexpr std::uint64_t words_of_a_bitmap = 63;
  const auto entries = image.bytes_of(table);
  const auto word_points = [&](std::uint64_t address) {
    const auto word = word_at(image, address);
    return word && elf::holds_address(section.header, *word);
  };
  std::uint64_t next = 0;
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= entries.size(); at += sizeof(std::uint64_t)) {
    const auto entry = number_at<std::uint64_t>(entries, at, image.endian());
    if (entry % 2 == 0) {
      if (word_points(entry)) return true;
      next = entry + sizeof(std::uint64_t);
      continue;
    }
    for (std::uint64_t bit = 0; bit < words_of_a_bitmap; ++bit) {
      if ((entry >> (bit + 1) & 1) != 0 && word_points(next + bit * sizeof(std::uint64_t))) return true;
    }
    next += words_of_a_bitmap * sizeof(std::uint64_t);
  }
  return false;
}

/// Whether `counts` says so of a symbol that is defined.
template <typename Counts>
bool any_symbol(const elf::Image& image, Counts counts) {
  for (const elf::Section& table : image.sections()) {
    if (table.header.sh_type != SHT_SYMTAB && table.header.sh_type != SHT_DYNSYM) continue;
    const auto symbols = image.bytes_of(table);
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
      const Elf64_Sym symbol = elf::load_symbol(symbols.subspan(at), image.endian());
      if (symbol.st_shndx != SHN_UNDEF && counts(table, symbol)) return true;
    }
  }
  return false;
}

/// The first bytes of a symbol's name, more than marks have: names of hostile files are long, and may be one for all
/// symbols. Empty where there is no table.
std::string_view name_of(const elf::Image& image, const elf::Section& symbol_table, const Elf64_Sym& symbol) {
  if (symbol_table.header.sh_link >= image.sections().size()) return {};
  const auto bytes = image.bytes_of(image.sections()[symbol_table.header.sh_link]);
  constexpr std::size_t enough = 32;
  const auto rest = bytes.subspan(std::min<std::size_t>(symbol.st_name, bytes.size()));
  return text_before_zero(rest.first(std::min(enough, rest.size())));
}

/// Names of symbols whose bytes no code reads: crt1.o's for its ABI note; a library's mark; and AArch64's mapping
/// symbols, which tell code from data (ELF for the Arm 64-bit Architecture, "Mapping symbols").
bool is_mere_mark(std::string_view name, std::uint16_t machine) {
  if (name == "__abi_tag" || name == library_mark) return true;
  const bool is_mapping = name == "$d" || name == "$x" || name.starts_with("$d.") || name.starts_with("$x.");
  return machine == EM_AARCH64 && is_mapping;
}

bool names_place_in(const elf::Image& image, const elf::Section& section, const elf::Section& table,
                    const Elf64_Sym& symbol) {
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  return elf::holds_address(section.header, symbol.st_value) && type != STT_SECTION && type != STT_FILE &&
         symbol.st_name != 0 && !is_mere_mark(name_of(image, table, symbol), image.header().e_machine);
}

/// Go's linker names the note nowhere: the go command reads it from the file, by PT_NOTE (cmd/internal/buildid,
/// readELF).
bool is_build_id_of_go(const elf::Image& image, const elf::Section& section) {
  if (section.name != ".note.go.buildid") return false;
  try {
    const auto notes = elf::read_notes(image.bytes_of(section), section.header.sh_addralign, image.endian(),
                                       {image.name(), section.name});
    return notes.size() == 1 && notes.front().owner == "Go";
  } catch (const MalformedInput&) {
    return false;
  }
}

/// Sections that Go's linker fills: the function table has offsets; a pointer of types or of what functions need leads
/// to types, names or code (cmd/link/internal/ld/data.go, dodata). A word that looks like another address is chance.
bool is_table_of_go(std::string_view name) {
  return name == ".gopclntab" || name == ".go.type" || name == ".go.func";
}

/// Code that cannot refer to `note`, whatever it looks like: functions that are understood, and for Go's own note the
/// longest run of functions that Go's compiler and assembler have made. The linker puts C's before or after them.
std::vector<Range> code_to_skip(const elf::Image& image, const elf::Section& note,
                                const std::vector<NoteFunction>& functions, const std::optional<elf::GoTable>& go) {
  std::vector<Range> skipped;
  skipped.reserve(functions.size() + 1);
  for (const NoteFunction& function : functions) skipped.push_back(function.addresses);
  if (!go || !is_build_id_of_go(image, note)) return skipped;
  Range longest, run;
  for (const elf::GoTable::Entry& entry : go->entries()) {
    run = {run.end == entry.start ? run.begin : entry.start, entry.end};
    if (run.size() > longest.size()) longest = run;
  }
  skipped.push_back(longest);
  std::ranges::sort(skipped, {}, &Range::begin);
  return skipped;
}

/// The section's code between the ranges. Their ends are ends of instructions, so no operand reaches over them.
std::vector<CodeBytes> code_outside(const elf::Image& image, const elf::Section& section,
                                    const std::vector<Range>& skipped) {
  CodeBytes rest{image.bytes_of(section), section.header.sh_addr, image.endian()};
  std::vector<CodeBytes> pieces;
  for (const Range& range : skipped) {
    if (!Range{rest.address, rest.address + rest.bytes.size()}.contains(range)) continue;
    const std::size_t begin = range.begin - rest.address;
    pieces.push_back({rest.bytes.first(begin), rest.address, rest.endian});
    rest = {rest.bytes.subspan(begin + range.size()), range.end, rest.endian};
  }
  pieces.push_back(rest);
  return pieces;
}

bool has_operand(sframe::Abi abi, const CodeBytes& code, const Range& wanted, bool fixed, SearchBudget& budget) {
  return has_relative_operand(abi, code, wanted, budget) || (fixed && has_absolute_operand(abi, code, wanted));
}

bool is_loaded_code(const elf::Section& section) {
  constexpr std::uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
  return (section.header.sh_flags & code) == code;
}

bool is_addressed(const elf::Image& image, const elf::Section& section, const std::vector<NoteFunction>& functions) {
  const bool fixed = image.header().e_type == ET_EXEC;
  const Range wanted{section.header.sh_addr, section.header.sh_addr + section.header.sh_size};
  const sframe::Abi abi = elf::machine_of(image).abi;
  const auto go = elf::GoTable::find(image);
  const std::vector<Range> skipped = code_to_skip(image, section, functions, go);
  std::uint64_t code_size = 0;
  for (const elf::Section& other : image.sections())
    if (is_loaded_code(other)) code_size += image.bytes_of(other).size();
  SearchBudget budget(code_size);
  for (const elf::Section& other : image.sections()) {
    const Elf64_Shdr& header = other.header;
    if ((header.sh_flags & SHF_ALLOC) == 0) continue;
    if (is_loaded_code(other)) {
      for (const CodeBytes& code : code_outside(image, other, skipped))
        if (has_operand(abi, code, wanted, fixed, budget)) return true;
    } else if (fixed && (header.sh_type == SHT_PROGBITS || header.sh_type == SHT_INIT_ARRAY)) {
      if (go && is_table_of_go(other.name)) continue;
      if (has_address_word({image.bytes_of(other), header.sh_addr, image.endian()}, wanted)) return true;
    }
  }
  return false;
}

/// .interp and the notes that the linker and crt1.o write.
bool is_made_by_linker(std::string_view name) {
  constexpr std::array<std::string_view, 5> names{".interp", ".note.gnu.property", ".note.gnu.build-id",
                                                  ".note.ABI-tag", ".note.package"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string located(const elf::Section& section) {
  return elf::describe(section) + " at " + hex(section.header.sh_addr);
}

/// A program that no dynamic linker loads relocates itself, and a linker script may name the tables for it. Some
/// linkers give libraries an entry point too; to take those for programs costs time only. A dynamic linker is no
/// program by this, as it has a name: all of them find their tables by .dynamic.
bool may_relocate_itself(const elf::Image& image, const std::vector<elf::DynamicEntry>& dynamic) {
  if (dynamic.empty() || image.find_segment(PT_INTERP) != nullptr) return false;
  const bool is_marked = (elf::find_dynamic(dynamic, DT_FLAGS_1).value_or(0) & DF_1_PIE) != 0;
  return is_marked || (image.header().e_entry != 0 && elf::soname_of(image, dynamic).empty());
}

/// The only tables that such a program needs.
bool is_relocations(const elf::Section& section) {
  return section.header.sh_type == SHT_RELA || section.header.sh_type == elf::section_type_relr;
}

/// A walk over a table starts at its first entry. In all of a large table, a chance hit would be likely.
elf::Section first_entry_of(const elf::Section& table) {
  elf::Section first = table;
  first.header.sh_size = std::min<std::uint64_t>(table.header.sh_size, sizeof(Elf64_Rela));
  return first;
}

/// A note whose descriptor is numbers of 8 bytes, each the distance from its own place to what it leads to.
struct RelativeNote {
  std::string_view owner;
  std::uint32_t type;
  std::size_t count;  ///< of the numbers
};

/// Crashpad, client/crashpad_info_note.S: where its CrashpadInfo is. Firefox,
/// toolkit/crashreporter/mozannotation_client: where its annotations and the ELF header are. Crash reporters find both
/// by PT_NOTE.
constexpr std::array relative_notes{RelativeNote{"Crashpad", 0x4f464e49, 1},
                                    RelativeNote{"mozannotation", 0x415a4f4d, 2}};

/// Whether the bytes are one text, with or without zeros after it: so no number of them is a place in the file.
bool is_text(std::span<const std::byte> bytes) {
  constexpr std::size_t shortest = 8;  // as long as an address
  const auto is_printable = [](std::byte byte) { return byte >= std::byte{' '} && byte <= std::byte{'~'}; };
  const auto end = std::ranges::find_if_not(bytes, is_printable);
  return end - bytes.begin() >= static_cast<std::ptrdiff_t>(shortest) &&
         std::all_of(end, bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

/// Whether it is a note of `relative_notes`, all of whose numbers lead to what is loaded.
bool is_relative(const elf::Note& note, std::uint64_t address, const elf::Image& image) {
  const auto* const known = std::ranges::find_if(relative_notes, [&](const RelativeNote& relative) {
    return note.owner == relative.owner && note.type == relative.type &&
           note.descriptor.size() == relative.count * sizeof(std::uint64_t);
  });
  if (known == relative_notes.end()) return false;
  for (std::size_t at = 0; at < note.descriptor.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t target = address + at + number_at<std::uint64_t>(note.descriptor, at, image.endian());
    const bool is_loaded = std::ranges::any_of(image.segments(), [&](const Elf64_Phdr& segment) {
      return segment.p_type == PT_LOAD && elf::holds_address(segment, target);
    });
    if (!is_loaded) return false;
  }
  return true;
}

/// Qt 6, qplugin.h (QT_MOC_EXPORT_PLUGIN_V2): the note of a plugin is found by PT_NOTE while it is a file, and by this
/// function once it is loaded.
constexpr std::string_view qt_owner = "qt-project!", qt_function = "qt_plugin_query_metadata_v2";
constexpr std::uint32_t qt_type = 0x74510001;

/// Distances of 32 bits stay what they are in a file whose addresses end below.
bool is_small(const elf::Image& image) {
  constexpr std::uint64_t limit = 1U << 30U;
  return std::ranges::all_of(image.segments(), [](const Elf64_Phdr& segment) {
    return segment.p_type != PT_LOAD || (segment.p_vaddr < limit && segment.p_memsz < limit - segment.p_vaddr);
  });
}

/// The function that returns where the descriptor of Qt's note is, which stands at the address `note`. Qt looks it up
/// by name, so it is exported; of several versions the first decides, as for the check. Plugins are libraries: in data
/// of a fixed file, addresses of 4 bytes would have to be looked for as well.
std::optional<NoteFunction> find_note_function(const elf::Image& image, std::uint64_t note) {
  if (image.header().e_type != ET_DYN || !image.has_section_headers() || !is_small(image)) return {};
  std::optional<NoteFunction> found;
  any_symbol(image, [&](const elf::Section& table, const Elf64_Sym& symbol) {
    const bool is_exported = table.header.sh_type == SHT_DYNSYM && symbol.st_shndx < image.sections().size();
    if (!is_exported || name_of(image, table, symbol) != qt_function) return false;
    const elf::Section& section = image.sections()[symbol.st_shndx];
    const auto code = image.bytes_of(section);
    const std::uint64_t begin = symbol.st_value - section.header.sh_addr;
    if (begin > code.size() || symbol.st_size > code.size() - begin) return true;
    const CodeBytes function{code.subspan(begin, symbol.st_size), symbol.st_value, image.endian()};
    const auto at = distance_returned(elf::machine_of(image).abi, function, note);
    if (at) found = {{symbol.st_value, symbol.st_value + symbol.st_size}, section.header.sh_offset + begin + *at};
    return true;
  });
  return found;
}

}  // namespace

bool has_named_symbol_in(const elf::Image& image, const elf::Section& section) {
  return any_symbol(image, [&](const elf::Section& table, const Elf64_Sym& symbol) {
    // Without section headers, the index is that of a section that once was.
    const bool may_be = symbol.st_shndx == section.index || !image.has_section_headers();
    return may_be && names_place_in(image, section, table, symbol);
  });
}

bool is_library_mark(const elf::Image& image, const elf::Section& symbol_table, const Elf64_Sym& symbol) {
  return name_of(image, symbol_table, symbol) == library_mark;
}

bool has_relative_relocation_to(const elf::Image& image, const elf::Section& section) {
  for (const elf::Section& table : image.sections()) {
    if ((table.header.sh_flags & SHF_ALLOC) == 0) continue;
    if (table.header.sh_type == SHT_RELA && rela_points_into(image, table, section)) return true;
    if (table.header.sh_type == elf::section_type_relr && relr_points_into(image, table, section)) return true;
  }
  return false;
}

bool has_direct_reference_to(const elf::Image& image, const elf::Section& section) {
  return is_addressed(image, section, {});
}

Movability::Movability(const elf::Image& image)
    : image_(&image), dynamic_(elf::read_dynamic(image)), relocates_itself_(may_relocate_itself(image, dynamic_)) {}

const std::variant<MovedSections, Immovable>& Movability::group_at(std::uint64_t offset) const {
  const auto known = groups_.find(offset);
  return known != groups_.end() ? known->second : groups_.emplace(offset, find_group(offset)).first->second;
}

std::variant<MovedSections, Immovable> Movability::find_group(std::uint64_t offset) const {
  MovedSections group = collect(offset);
  for (const std::size_t index : group.segments) {
    const std::uint32_t type = image_->segments()[index].p_type;
    if (type != PT_INTERP && type != PT_NOTE && type != PT_GNU_PROPERTY)
      return Immovable{elf::segment_type_name(type) + " at " + hex(group.address) + " cannot move"};
  }
  if (group.sections.empty()) return Immovable{"bytes at file offset " + hex(offset) + " belong to no section"};
  constexpr std::size_t most_sections = 32;
  sections_asked_for_ += group.sections.size();
  if (sections_asked_for_ > most_sections)
    return Immovable{count_of(sections_asked_for_, "section") + " would have to move, more than any linker puts there"};
  for (const std::uint32_t index : group.sections) {
    std::string why = why_section_stays(image_->sections()[index], group);
    if (!why.empty()) return Immovable{std::move(why)};
  }
  return group;
}

MovedSections Movability::collect(std::uint64_t offset) const {
  MovedSections group;
  group.range = {offset, offset + 1};
  const auto absorb = [&](std::uint64_t begin, std::uint64_t size, std::uint64_t address, std::uint64_t alignment) {
    if (begin <= group.range.begin) group.address = address;
    group.range = {std::min(group.range.begin, begin), std::max(group.range.end, begin + size)};
    group.alignment = std::max(group.alignment, alignment);
  };
  for (Range before; before != group.range;) {
    before = group.range;
    group.sections.clear();
    group.segments.clear();
    for (const elf::Section& section : image_->sections()) {
      const std::uint64_t begin = section.header.sh_offset;
      const std::uint64_t size = image_->bytes_of(section).size();
      if (!Range{begin, begin + size}.overlaps(group.range)) continue;
      absorb(begin, size, section.header.sh_addr, section.header.sh_addralign);
      group.sections.push_back(section.index);
    }
    for (std::size_t i = 0; i < image_->segments().size(); ++i) {
      const Elf64_Phdr& segment = image_->segments()[i];
      const bool holds_others = segment.p_type == PT_LOAD || segment.p_type == PT_NULL || segment.p_type == PT_PHDR;
      // mold may give PT_GNU_RELRO the file offset 0. Only its addresses mean something.
      const bool is_elsewhere =
          segment.p_type == PT_GNU_RELRO && !Range{segment.p_vaddr, segment.p_vaddr + segment.p_memsz}.overlaps(
                                                {group.address, group.address + group.range.size()});
      if (holds_others || is_elsewhere || elf::is_stale_property(*image_, segment) ||
          !Range{segment.p_offset, segment.p_offset + segment.p_filesz}.overlaps(group.range))
        continue;
      absorb(segment.p_offset, segment.p_filesz, segment.p_vaddr, segment.p_align);
      group.segments.push_back(i);
    }
  }
  return group;
}

std::string Movability::why_section_stays(const elf::Section& section, MovedSections& group) const {
  const Elf64_Shdr& header = section.header;
  if ((header.sh_flags & SHF_ALLOC) == 0 || (header.sh_flags & (SHF_WRITE | SHF_TLS | SHF_EXECINSTR)) != 0)
    return located(section) + " cannot move";
  std::string why;
  if (header.sh_type == SHT_NOTE) {
    why = why_note_stays(section, group);
  } else if (section.name == ".interp" && group.segments.size() == 1 && group.sections.size() == 1) {
    why = {};
  } else if (group.segments.empty() && group.sections.size() == 1) {
    group.plan = TablePlan::DynamicTables;
    why = why_table_stays(section);
  } else {
    why = located(section) + " cannot move";
  }
  if (!why.empty()) return why;
  if (is_referred_to(section, group))
    return located(section) + " cannot move: a symbol, a relocation or code points into it";
  return {};
}

/// Notes of other owners may hold addresses relative to themselves or be found by their own code: Xen's and
/// SystemTap's do.
std::string Movability::why_note_stays(const elf::Section& section, MovedSections& group) const {
  constexpr std::array<std::string_view, 3> position_independent{"GNU", "FDO", "Go"};
  if (group.segments.empty()) return located(section) + " cannot move: no PT_NOTE covers it";
  const InputOrigin origin{image_->name(), section.name};
  std::vector<elf::Note> notes;
  try {
    notes = elf::read_notes(image_->bytes_of(section), section.header.sh_addralign, image_->endian(), origin);
  } catch (const MalformedInput&) {
    return located(section) + " cannot move: it is not a sequence of notes";
  }
  for (const elf::Note& note : notes) {
    if (note.owner == "GNU" && note.type == NT_GNU_BUILD_ID) group.has_build_id = true;
    const bool is_independent = std::ranges::find(position_independent, note.owner) != position_independent.end();
    // The build-id of Mozilla's toolkit is a text.
    if (is_independent || (note.owner == "mzbldid" && is_text(note.descriptor))) continue;
    const std::uint64_t offset = elf::offset_of(*image_, note.descriptor);
    const std::uint64_t address = section.header.sh_addr + (offset - section.header.sh_offset);
    // A plugin has one such note.
    if (note.owner == qt_owner && note.type == qt_type && group.functions.empty()) {
      if (const auto function = find_note_function(*image_, address)) {
        group.functions.push_back(*function);
        continue;
      }
    }
    if (!is_relative(note, address, *image_))
      return located(section) + " cannot move: its owner \"" + std::string(note.owner) + "\" may depend on its place";
    for (std::uint64_t at = 0; at < note.descriptor.size(); at += sizeof(std::uint64_t))
      group.relative_numbers.push_back(offset + at);
  }
  return {};
}

std::string Movability::why_table_stays(const elf::Section& section) const {
  if (dynamic_.empty()) return located(section) + " cannot move in a file without PT_DYNAMIC";
  const std::uint64_t address = section.header.sh_addr;
  const auto names_it = [&](std::int64_t tag) { return elf::find_dynamic(dynamic_, tag) == address; };
  const auto tags = elf::tags_of_type(section.header.sh_type);
  if (std::none_of(tags.begin(), tags.end(), names_it)) return located(section) + " cannot move";
  if (section.header.sh_type != SHT_RELA) return {};
  // Some linkers let DT_RELASZ count the PLT's relocations as well: then the two sections are one table.
  const auto size_is = [&](std::int64_t tag) { return elf::find_dynamic(dynamic_, tag) == section.header.sh_size; };
  if (names_it(DT_RELA) && !size_is(DT_RELASZ)) return located(section) + " cannot move: DT_RELASZ has another size";
  if (names_it(DT_JMPREL) && !size_is(DT_PLTRELSZ))
    return located(section) + " cannot move: DT_PLTRELSZ has another size";
  const std::uint64_t table = elf::find_dynamic(dynamic_, DT_RELA).value_or(0);
  const std::uint64_t table_size = elf::find_dynamic(dynamic_, DT_RELASZ).value_or(0);
  if (names_it(DT_JMPREL) && address >= table && address - table < table_size)
    return located(section) + " cannot move: DT_RELA covers it too";
  return {};
}

bool Movability::is_referred_to(const elf::Section& section, const MovedSections& group) const {
  if (has_relative_relocation_to(*image_, section) || has_named_symbol_in(*image_, section)) return true;
  // What the linker and crt1.o make has no name for C code to refer to, unless a linker script gives it one; all of
  // libLLVM's code would be searched for each conversion, which doubles its time.
  constexpr std::size_t most_searches = 8;
  if (group.plan == TablePlan::Notes)
    return !is_made_by_linker(section.name) &&
           (++searches_ > most_searches || is_addressed(*image_, section, group.functions));
  return relocates_itself_ && is_relocations(section) && has_direct_reference_to(*image_, first_entry_of(section));
}

}  // namespace sframe_gen::rewrite
