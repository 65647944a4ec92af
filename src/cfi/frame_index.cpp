#include "cfi/frame_index.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "elf/compressed_section.hpp"
#include "support/bytes.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace sframe_gen::cfi {

namespace {

bool has_bytes(const elf::Section* section) {
  return section != nullptr && section->header.sh_type != SHT_NOBITS && section->header.sh_size != 0;
}

/// What gcc, clang and objcopy give with -gz=zlib-gnu.
constexpr const char* compressed_debug_frame = ".zdebug_frame";

bool has_name_of(FrameSection kind, const std::string& name) {
  if (kind == FrameSection::EhFrame) return name == ".eh_frame";
  return name == ".debug_frame" || name == compressed_debug_frame;
}

std::vector<LoadedSection> load_object_sections(const elf::Image& object) {
  std::vector<LoadedSection> loaded;
  elf::object::RelocationTables tables(object);
  std::uint64_t stored = 0, size = 0;
  for (const FrameSection kind : {FrameSection::EhFrame, FrameSection::DebugFrame}) {
    for (const elf::Section& section : object.sections()) {
      if (!has_name_of(kind, section.name) || !has_bytes(&section)) continue;
      elf::object::RelocatedSection relocated = elf::object::relocate(tables, section);
      stored += object.bytes_of(section).size();
      size += relocated.bytes.size();
      // As for one section: an object may have any number of small ones.
      if (elf::is_impossible_growth(stored, size))
        throw Refused(object.name(), "compressed sections that claim to be impossibly large");
      loaded.push_back({kind,
                        section.header.sh_addr,
                        {object.name(), section.name},
                        std::move(relocated.bytes),
                        {},
                        std::move(relocated.code),
                        std::move(relocated.fields)});
      loaded.back().bytes = loaded.back().storage;
    }
  }
  return loaded;
}

constexpr std::string_view known_letters = "LPRSBG", letters_with_data = "LPR";

void skip_personality(ByteReader& data) {
  const std::uint8_t encoding = data.u8("personality encoding");
  // Its padding depends on its place in memory, and no compiler writes it.
  if ((encoding & pointer_encoding::application_mask) == pointer_encoding::aligned) data.fail("personality is aligned");
  read_pointer_value(data, encoding, "personality");
}

using elf::object::FieldRelocation;

/// Which relocations keep FDEs from being read. Those of function starts are meant, and those of personality routines
/// and LSDAs, in augmentation data, do not matter to rows. Any other one of a known type puts in a number that follows
/// from where sections are, which is made up.
class RelocatedFields {
 public:
  RelocatedFields(const FrameTable& table, std::span<const FieldRelocation> fields)
      : table_(table), fields_(fields), of_cies_(table.cies.size()) {
    for (std::size_t i = 0; i < of_cies_.size(); ++i) of_cies_[i] = first_in(table.cies[i].initial_instructions);
  }

  /// What keeps the FDE from being read; null: nothing.
  const FieldRelocation* first_of(const Fde& fde) const {
    if (const auto* const in_cie = of_cies_[fde.cie_index]) return in_cie;
    if (const auto* const in_addresses = first_in_addresses(fde)) return in_addresses;
    return first_in(table_.instructions_of(fde));
  }

 private:
  /// `is_meant`: of those that do no harm.
  template <typename IsMeant>
  const FieldRelocation* first_in(std::uint64_t begin, std::uint64_t end, IsMeant is_meant) const {
    constexpr std::uint64_t largest = sizeof(std::uint64_t);
    auto found =
        std::ranges::lower_bound(fields_, begin - std::min(begin, largest), {}, &FieldRelocation::field_offset);
    for (; found != fields_.end() && found->field_offset < end; ++found)
      if (found->field_offset + std::max<std::uint64_t>(found->size, 1) > begin && !is_meant(*found)) return &*found;
    return nullptr;
  }

  const FieldRelocation* first_in(std::span<const std::byte> part) const {
    const std::uint64_t begin = table_.offset_of(part);
    return first_in(begin, begin + part.size(), [](const FieldRelocation&) { return false; });
  }

  const FieldRelocation* first_in_addresses(const Fde& fde) const {
    const std::uint64_t begin = table_.start_field_of(fde);
    ByteReader reader(table_.section_bytes.subspan(begin), table_.endian, table_.origin, begin);
    const std::uint8_t encoding = table_.cies[fde.cie_index].pointer_encoding;
    read_pointer_value(reader, encoding, "function start");
    const std::uint64_t start_end = reader.offset();
    read_pointer_value(reader, encoding, "function size");
    return first_in(begin, reader.offset(), [&](const FieldRelocation& field) {
      return field.size != 0 && field.field_offset == begin && field.field_offset + field.size <= start_end;
    });
  }

  const FrameTable& table_;
  std::span<const FieldRelocation> fields_;
  std::vector<const FieldRelocation*> of_cies_;
};

constexpr std::uint32_t extended_length = 0xffffffff;
constexpr std::uint32_t first_reserved_length = 0xfffffff0;

/// Counts records up to the first whose length says anything else than where the next one is. A section has one CIE for
/// hundreds of FDEs.
std::size_t count_records(const FrameTable& table) {
  std::size_t records = 0;
  for (std::span<const std::byte> rest = table.section_bytes; rest.size() > sizeof(std::uint32_t); ++records) {
    const auto length = load<std::uint32_t>(rest, table.endian);
    rest = rest.subspan(sizeof(length));
    if (length == 0 || length > rest.size()) break;
    rest = rest.subspan(length);
  }
  return records;
}

/// One record: its place, the place and value of its CIE id field, and its body.
struct Record {
  std::uint64_t offset = 0;
  std::uint64_t id_offset = 0;
  std::uint64_t id = 0;
  bool is_cie = false;
  ByteReader body;
};

class FrameSectionWalk {
 public:
  FrameSectionWalk(FrameSection kind, FrameTable& table)
      : kind_(kind),
        bytes_(table.section_bytes),
        table_(table),
        reader_(table.section_bytes, table.endian, table.origin) {}

  void run() {
    // To make room for one after the other would move all of them several times.
    table_.fdes.reserve(count_records(table_));
    while (!reader_.at_end()) {
      const std::uint64_t offset = reader_.offset();
      const std::uint32_t short_length = reader_.u32("record length");
      if (short_length == 0 && kind_ == FrameSection::EhFrame) break;
      if (short_length == 0) continue;
      Record record = read_record(offset, short_length);
      record.is_cie ? take_cie(record) : take_fde(record);
    }
    all_cies_known_ = true;
    for (Record& record : early_fdes_) take_fde(record);
    if (!early_fdes_.empty()) std::ranges::sort(table_.fdes, {}, &Fde::section_offset);
  }

 private:
  // Damage costs what it is in, as long as the next record can be found.

  void take_cie(Record& record) {
    const auto index = static_cast<std::uint32_t>(table_.cies.size());
    cies_.emplace(record.offset, index);
    table_.cies.emplace_back();
    try {
      table_.cies.back() = read_cie(record);
    } catch (const MalformedInput& failure) {
      unreadable_cies_.emplace(index, place_and_reason(failure));
    }
  }

  void take_fde(Record& record) {
    try {
      const auto cie = find_cie(record);
      if (!cie) return early_fdes_.push_back(record);
      const auto unreadable = unreadable_cies_.empty() ? unreadable_cies_.end() : unreadable_cies_.find(*cie);
      if (unreadable != unreadable_cies_.end()) return table_.leave_out(record.offset, unreadable->second);
      table_.fdes.push_back(read_fde(record, *cie));
    } catch (const MalformedInput& failure) {
      table_.leave_out(record.offset, place_and_reason(failure));
    }
  }

  /// Without the file's name, which everybody knows by then.
  std::string place_and_reason(const MalformedInput& failure) const {
    return std::string(failure.what()).substr(table_.origin.file.size() + 2);
  }

  Record read_record(std::uint64_t offset, std::uint32_t short_length) {
    const bool wide = short_length == extended_length;
    if (!wide && short_length >= first_reserved_length)
      reader_.fail(offset, "record length " + hex(short_length) + " is reserved");
    const std::uint64_t length = wide ? reader_.u64("64-bit record length") : short_length;
    if (length > reader_.left()) {
      reader_.fail(offset, "record of " + count_of(length, "byte") + " does not fit in the section (" +
                               count_of(reader_.left(), "byte") + " left)");
    }
    const std::uint64_t body_offset = reader_.offset();
    ByteReader body(reader_.take(length, "record"), table_.endian, table_.origin, body_offset);
    // In .eh_frame the id is 4 bytes unless the length is extended, as binutils and libgcc have it.
    const std::uint64_t id = wide ? body.u64("CIE id") : body.u32("CIE id");
    const std::uint64_t cie_id = kind_ == FrameSection::EhFrame ? 0 : wide ? UINT64_MAX : UINT32_MAX;
    return {offset, body_offset, id, id == cie_id, body};
  }

  Cie read_cie(Record& record) const {
    ByteReader& body = record.body;
    const std::uint64_t version_at = body.offset();
    const std::uint8_t version = body.u8("CIE version");
    if (version != 1 && version != 3 && version != 4)
      body.fail(version_at, "CIE version is " + std::to_string(version) + ", not 1, 3 or 4");
    const Augmentation augmentation = read_augmentation_string(body);
    if (version == 4) check_sizes(body);
    Cie cie;
    cie.code_alignment = body.uleb128("code alignment factor");
    cie.data_alignment = body.sleb128("data alignment factor");
    cie.return_address = read_return_address(body, version);
    cie.signal_frame = augmentation.signal_frame;
    cie.b_key = augmentation.b_key;
    cie.has_augmentation_data = augmentation.has_data;
    cie.has_unknown_letters = augmentation.has_unknown;
    if (augmentation.has_data) {
      const std::uint64_t size = body.uleb128("augmentation data size");
      const std::uint64_t data_offset = body.offset();
      const ByteReader data(body.take(size, "augmentation data"), table_.endian, table_.origin, data_offset);
      cie.pointer_encoding = read_augmentation_data(augmentation, data).fde_pointer_encoding;
    }
    cie.initial_instructions = body.take(body.left(), "initial instructions");
    return cie;
  }

  /// Version 4 only.
  static void check_sizes(ByteReader& body) {
    const std::uint8_t address_size = body.u8("address size");
    if (address_size != 8) body.fail(body.offset() - 1, "address size is " + std::to_string(address_size) + ", not 8");
    if (body.u8("segment selector size") != 0) body.fail(body.offset() - 1, "segment selectors are not supported");
  }

  static DwarfRegister read_return_address(ByteReader& body, std::uint8_t version) {
    const std::uint64_t at = body.offset();
    const std::uint64_t number =
        version == 1 ? body.u8("return address register") : body.uleb128("return address register");
    if (number > UINT32_MAX) body.fail(at, "return address register " + hex(number) + " is beyond any architecture's");
    return DwarfRegister{static_cast<std::uint32_t>(number)};
  }

  /// No value: it may be after the FDE, as .debug_frame names it by place (DWARF 5, section 6.4.1).
  std::optional<std::uint32_t> find_cie(const Record& record) {
    const std::uint64_t offset = kind_ == FrameSection::EhFrame ? record.id_offset - record.id : record.id;
    // FDEs of one CIE follow each other.
    if (offset == last_cie_offset_) return last_cie_;
    if (const auto found = cies_.find(offset); found != cies_.end()) {
      last_cie_offset_ = offset;
      last_cie_ = found->second;
      return last_cie_;
    }
    const bool behind = kind_ == FrameSection::DebugFrame && offset > record.offset && offset < bytes_.size();
    if (behind && !all_cies_known_) return std::nullopt;
    const char* const why = offset >= bytes_.size()          ? ", which is outside the section"
                            : kind_ == FrameSection::EhFrame ? ", which is not a CIE before it"
                                                             : ", which is not a CIE";
    record.body.fail(record.offset, "FDE refers to a CIE at " + hex(offset) + why);
  }

  Fde read_fde(Record& record, std::uint32_t cie_index) const {
    const Cie& cie = table_.cies[cie_index];
    ByteReader& body = record.body;
    if (body.offset() + body.left() > UINT32_MAX) body.fail(record.offset, "FDE ends after the first 4 GiB");
    Fde fde;
    fde.function_start = read_pointer(body, cie.pointer_encoding, table_.section_address, "function start");
    fde.function_size = read_pointer_value(body, cie.pointer_encoding, "function size");
    fde.section_offset = static_cast<std::uint32_t>(record.offset);
    fde.cie_index = cie_index;
    if (cie.has_augmentation_data) body.take(body.uleb128("augmentation data size"), "augmentation data");
    fde.instructions_offset = static_cast<std::uint32_t>(body.offset());
    fde.size_of_instructions = static_cast<std::uint32_t>(body.left());
    return fde;
  }

  FrameSection kind_;
  std::span<const std::byte> bytes_;
  FrameTable& table_;
  ByteReader reader_;
  std::vector<Record> early_fdes_;  ///< FDEs in front of their CIEs
  bool all_cies_known_ = false;
  SeededMap<std::uint64_t, std::uint32_t> cies_;  ///< index by offset; only looked up, never walked
  std::optional<std::uint64_t> last_cie_offset_;  ///< none before the first look-up: no offset stands for that
  std::uint32_t last_cie_ = 0;
  std::unordered_map<std::uint32_t, std::string> unreadable_cies_;  ///< by index: where, and why
};

}  // namespace

std::vector<LoadedSection> load_frame_sections(const elf::Image& image) {
  if (image.is_object()) return load_object_sections(image);
  std::vector<LoadedSection> loaded;
  // A separate debug file keeps .eh_frame as SHT_NOBITS: its bytes are in the file that runs.
  if (const elf::Section* section = image.find_section(".eh_frame"); has_bytes(section)) {
    loaded.push_back({FrameSection::EhFrame,
                      section->header.sh_addr,
                      {image.name(), section->name},
                      {},
                      image.bytes_of(*section),
                      {},
                      {}});
  }
  const elf::Section* const plain = image.find_section(".debug_frame");
  if (const elf::Section* section = plain != nullptr ? plain : image.find_section(compressed_debug_frame);
      has_bytes(section)) {
    LoadedSection debug_frame{
        FrameSection::DebugFrame, section->header.sh_addr, {image.name(), section->name}, {}, {}, {}, {}};
    debug_frame.bytes = image.contents_of(*section, debug_frame.storage);
    loaded.push_back(std::move(debug_frame));
  }
  return loaded;
}

std::uint64_t read_other_pointer(ByteReader& reader, std::uint8_t encoding, std::uint64_t section_address,
                                 const char* what) {
  const std::uint64_t at = section_address + reader.offset();
  const std::uint8_t application = encoding & (pointer_encoding::application_mask | pointer_encoding::indirect);
  if (application != 0 && application != pointer_encoding::pc_relative) {
    reader.fail(std::string(what) + " has pointer encoding " + hex(encoding) +
                ", which is neither absolute nor pc-relative");
  }
  const std::uint64_t value = read_pointer_value(reader, encoding, what);
  return application == pointer_encoding::pc_relative ? at + value : value;
}

Augmentation parse_augmentation(std::string_view text) {
  Augmentation augmentation;
  augmentation.has_data = text.substr(0, 1) == "z";
  augmentation.letters = augmentation.has_data ? text.substr(1) : text;
  augmentation.signal_frame = augmentation.letters.find('S') != std::string_view::npos;
  augmentation.b_key = augmentation.letters.find('B') != std::string_view::npos;
  augmentation.has_unknown = augmentation.letters.find_first_not_of(known_letters) != std::string_view::npos;
  return augmentation;
}

Augmentation read_augmentation_string(ByteReader& reader) {
  const std::uint64_t start = reader.offset();
  const auto first = reader.take(0, "augmentation").data();
  std::size_t length = 0;
  while (reader.u8("augmentation string") != 0) ++length;
  const Augmentation augmentation = parse_augmentation({reinterpret_cast<const char*>(first), length});
  const bool needs_data =
      augmentation.has_unknown || augmentation.letters.find_first_of(letters_with_data) != std::string_view::npos;
  if (needs_data && !augmentation.has_data) reader.fail(start, "CIE augmentation is unknown");
  return augmentation;
}

AugmentationData read_augmentation_data(const Augmentation& augmentation, ByteReader data) {
  AugmentationData result;
  const std::size_t unknown = augmentation.letters.find_first_not_of(known_letters);
  if (augmentation.letters.find('R', unknown) != std::string_view::npos)
    data.fail("FDE pointer encoding follows augmentation data of unknown size");
  for (const char letter : augmentation.letters.substr(0, unknown)) {
    switch (letter) {
      case 'L':
        data.u8("LSDA encoding");
        break;
      case 'R':
        result.fde_pointer_encoding = data.u8("FDE pointer encoding");
        break;
      case 'P':
        // Only its size matters here: the personality routine is for exceptions.
        skip_personality(data);
        break;
      default:
        break;  // S, B and G have no data
    }
  }
  return result;
}

void leave_out_relocated_fields(FrameTable& table, std::span<const FieldRelocation> fields) {
  if (fields.empty()) return;
  const RelocatedFields relocated(table, fields);
  std::erase_if(table.fdes, [&](const Fde& fde) {
    const FieldRelocation* const field = relocated.first_of(fde);
    if (field == nullptr) return false;
    table.leave_out(fde.section_offset, table.origin.section + '+' + hex(field->field_offset) +
                                            ": relocation of type " + hex(field->type) +
                                            (field->size == 0 ? " is not known" : " is of no function's start"));
    return true;
  });
}

FrameTable index_frame_section(FrameSection kind, std::span<const std::byte> section_bytes,
                               std::uint64_t section_address, Endian endian, const InputOrigin& origin) {
  FrameTable table;
  table.origin = origin;
  table.kind = kind;
  table.endian = endian;
  table.section_address = section_address;
  table.section_bytes = section_bytes;
  FrameSectionWalk(kind, table).run();
  return table;
}

}  // namespace sframe_gen::cfi
