#include "elf/go_table.hpp"

#include <algorithm>
#include <array>

#include "elf/dynamic_table.hpp"
#include "elf/machine.hpp"
#include "support/endian.hpp"

namespace sframe_gen::elf {

namespace {

constexpr std::uint32_t magic_118 = 0xfffffff0, magic_120 = 0xfffffff1;
constexpr std::uint64_t word_size = 8;  ///< bytes of an address, and of most numbers in headers

using Bytes = std::span<const std::byte>;

std::uint64_t word_at(Bytes bytes, std::uint64_t index, Endian endian) {
  return load<std::uint64_t>(bytes.subspan(index * word_size), endian);
}

/// The first words of a moduledata, as memory has them after the dynamic linker.
class ModuleWords {
 public:
  /// As runtime/symtab.go has them. Between them are the lengths and capacities of slices.
  enum Field : std::uint8_t {
    Header,
    Names = 1,
    Values = 10,
    Functions = 13,
    FunctionTable = 16,
    FunctionCount = 17,
    LowestPc = 20,
    HighestPc = 21,
    Text = 22
  };
  static constexpr std::size_t count = 23;

  std::array<std::uint64_t, count> words{};
  std::uint64_t operator[](Field field) const { return words[field]; }
};

/// Relocations that make pointers into the file itself.
class Pointers {
 public:
  explicit Pointers(const Image& image) : endian_(image.endian()) {
    const Machine* const machine = find_machine(image);
    const auto dynamic = read_dynamic(image);
    const auto address = find_dynamic(dynamic, DT_RELA), size = find_dynamic(dynamic, DT_RELASZ);
    if (machine == nullptr || !address || !size) return;
    types_ = machine->pointer_relocations;
    relocations_ = loaded_bytes(image, *address, *size);
  }

  template <typename Callback>
  void for_each(Callback&& callback) const {
    for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= relocations_.size(); at += sizeof(Elf64_Rela)) {
      const Bytes bytes = relocations_.subspan(at);
      const std::uint64_t place = word_at(bytes, 0, endian_), addend = word_at(bytes, 2, endian_);
      const auto type = static_cast<std::uint32_t>(word_at(bytes, 1, endian_));
      if (std::ranges::find(types_, type) != types_.end()) callback(place, addend);
    }
  }

 private:
  Endian endian_;
  Bytes relocations_;
  std::span<const std::uint32_t> types_;
};

/// Finds what points to a table: few words of a file do.
class ModuleSearch {
 public:
  ModuleSearch(const Image& image, std::uint64_t table) : image_(image), pointers_(image), table_(table) {
    pointers_.for_each([&](std::uint64_t place, std::uint64_t addend) {
      if (addend == table_) add(place);
    });
    std::uint64_t left = image.file_bytes().size();
    for (const Elf64_Phdr& segment : image.segments()) {
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
      const Bytes bytes = loaded_bytes(image, segment.p_vaddr, segment.p_filesz);
      if (bytes.size() > left) continue;  // segments share bytes, as no linker lets those that are written
      left -= bytes.size();
      const std::uint64_t first = (word_size - segment.p_vaddr % word_size) % word_size;
      for (std::uint64_t at = first; at + word_size <= bytes.size(); at += word_size)
        if (load<std::uint64_t>(bytes.subspan(at), image.endian()) == table_) add(segment.p_vaddr + at);
    }
  }

  /// Calls back with what each of them would be the first word of.
  template <typename Callback>
  void for_each_module(Callback&& callback) const {
    for (const std::uint64_t place : places_) {
      const Bytes bytes = loaded_bytes(image_, place, ModuleWords::count * word_size);
      if (bytes.empty()) continue;
      ModuleWords module;
      for (std::size_t i = 0; i < ModuleWords::count; ++i) module.words[i] = word_at(bytes, i, image_.endian());
      pointers_.for_each([&](std::uint64_t at, std::uint64_t addend) {
        const std::uint64_t offset = at - place;
        if (offset < ModuleWords::count * word_size && offset % word_size == 0)
          module.words[offset / word_size] = addend;
      });
      callback(module);
    }
  }

 private:
  /// A file with more is made to take time.
  static constexpr std::size_t most_places = 8;

  void add(std::uint64_t place) {
    if (places_.size() < most_places && std::ranges::find(places_, place) == places_.end()) places_.push_back(place);
  }

  const Image& image_;
  Pointers pointers_;
  std::uint64_t table_;
  std::vector<std::uint64_t> places_;
};

/// Whether a table may begin with this word: the number of the layout, the size of instructions, and that of addresses.
bool may_begin(std::uint64_t first_word, sframe::Abi abi) {
  const std::uint64_t quantum = abi == sframe::Abi::Amd64 ? 1 : 4;
  const std::uint64_t sizes = quantum << 48U | word_size << 56U;
  return first_word == (sizes | magic_118) || first_word == (sizes | magic_120);
}

/// Addresses where a table may begin, in ascending order within a segment; those of sections of that name come first.
template <typename Callback>
bool any_candidate(const Image& image, sframe::Abi abi, Callback&& is_table) {
  if (image.has_section_headers() && !has_sections_of_go(image)) return false;
  for (const Section& section : image.sections())
    if (section.name.ends_with(".gopclntab") && section.header.sh_addr != 0 && is_table(section.header.sh_addr))
      return true;
  std::uint64_t left = 2 * image.file_bytes().size();  // segments may share pages
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_LOAD) continue;
    const Bytes bytes = loaded_bytes(image, segment.p_vaddr, segment.p_filesz);
    if (bytes.size() > left) continue;
    left -= bytes.size();
    // The linker aligns it to 32 bytes; a word is enough for old ones.
    const std::uint64_t first = (word_size - segment.p_vaddr % word_size) % word_size;
    for (std::uint64_t at = first; at + word_size <= bytes.size(); at += word_size) {
      const bool may_be = may_begin(load<std::uint64_t>(bytes.subspan(at), image.endian()), abi);
      if (may_be && is_table(segment.p_vaddr + at)) return true;
    }
  }
  return false;
}

/// Where in a record there is what; it grew by a line number in Go 1.20.
struct RecordLayout {
  std::uint64_t size, flags;
};
constexpr RecordLayout layout_118{40, 37}, layout_120{44, 41};
constexpr std::uint64_t name_in_record = 4, depths_in_record = 16;

/// A number of seven bits a byte, the lowest first, of at most 32 bits.
std::optional<std::uint32_t> take_number(Bytes& bytes) {
  std::uint32_t value = 0;
  for (unsigned shift = 0; shift < 35 && !bytes.empty(); shift += 7) {
    const auto byte = std::to_integer<std::uint32_t>(bytes.front());
    bytes = bytes.subspan(1);
    value |= (byte & 0x7fU) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

/// Beyond it, no stack reaches.
constexpr std::int64_t deepest = INT32_MAX;

}  // namespace

bool has_sections_of_go(const Image& image) {
  return std::ranges::any_of(image.sections(), [](const Section& section) {
    return section.name == ".go.buildinfo" || section.name == ".note.go.buildid" ||
           section.name.ends_with(".gopclntab");
  });
}

struct GoTable::Header {
  static constexpr std::uint64_t size = 8 + 8 * word_size;

  std::uint64_t address = 0;
  Bytes bytes;  ///< from the header to the end of the segment
  std::uint64_t count = 0;
  std::uint64_t names = 0, values = 0, functions = 0;  ///< offsets from the header
  bool is_120 = false;
  /// The table of starts: pairs of start and record, and the end of the last function.
  std::uint64_t starts_size() const { return (2 * count + 1) * sizeof(std::uint32_t); }
};

std::optional<GoTable> GoTable::find(const Image& image) {
  const Machine* const machine = find_machine(image);
  if (image.is_object() || machine == nullptr || machine->abi == sframe::Abi::S390x) return std::nullopt;
  std::optional<GoTable> table;
  // A file may hold many headers in vain, and each is followed to some relocations.
  std::size_t left = 32;
  any_candidate(image, machine->abi, [&](std::uint64_t address) {
    table = read(image, address, machine->abi);
    return table.has_value() || --left == 0;
  });
  return table;
}

std::optional<GoTable> GoTable::read(const Image& image, std::uint64_t address, sframe::Abi abi) {
  Header header;
  header.address = address;
  header.bytes = loaded_bytes_from(image, address);
  if (header.bytes.size() < Header::size) return std::nullopt;
  const Endian endian = image.endian();
  const std::uint64_t first_word = word_at(header.bytes, 0, endian);
  if (!may_begin(first_word, abi)) return std::nullopt;
  header.is_120 = static_cast<std::uint32_t>(first_word) == magic_120;
  const Bytes fields = header.bytes.subspan(8);
  header.count = word_at(fields, 0, endian);
  header.names = word_at(fields, 3, endian);
  header.values = word_at(fields, 6, endian);
  header.functions = word_at(fields, 7, endian);
  const std::uint64_t size = header.bytes.size();
  if (header.count == 0 || header.count > size / (2 * sizeof(std::uint32_t))) return std::nullopt;
  if (header.names < Header::size || header.names >= header.values || header.values >= header.functions)
    return std::nullopt;
  if (header.functions > size || header.starts_size() > size - header.functions) return std::nullopt;

  const Bytes starts = header.bytes.subspan(header.functions);
  const std::uint64_t first = load<std::uint32_t>(starts, endian),
                      last = load<std::uint32_t>(starts.subspan(header.count * 2 * sizeof(std::uint32_t)), endian);
  std::optional<GoTable> table;
  ModuleSearch(image, address).for_each_module([&](const ModuleWords& module) {
    using Field = ModuleWords::Field;
    const std::uint64_t text = module[Field::Text];
    const bool fits = module[Field::Header] == address && module[Field::Names] == address + header.names &&
                      module[Field::Values] == address + header.values &&
                      module[Field::Functions] == address + header.functions &&
                      module[Field::FunctionTable] == address + header.functions &&
                      module[Field::FunctionCount] == header.count + 1 && module[Field::LowestPc] == text + first &&
                      module[Field::HighestPc] == text + last;
    if (table || !fits) return;
    GoTable read;
    read.quantum_ = abi == sframe::Abi::Amd64 ? 1 : 4;
    if (read.read_entries(image, header, text)) table = std::move(read);
  });
  return table;
}

bool GoTable::read_entries(const Image& image, const Header& header, std::uint64_t text) {
  const Endian endian = image.endian();
  const Bytes functions = header.bytes.subspan(header.functions);
  const RecordLayout& layout = header.is_120 ? layout_120 : layout_118;
  const auto number = [&](std::uint64_t offset) { return load<std::uint32_t>(functions.subspan(offset), endian); };
  names_ = header.bytes.first(header.values).subspan(header.names);
  values_ = header.bytes.first(header.functions).subspan(header.values);
  size_ = header.functions + header.starts_size();
  starts_.reserve(header.count);
  entries_.reserve(header.count);
  for (std::uint64_t i = 0; i < header.count; ++i) {
    const std::uint64_t pair = i * 2 * sizeof(std::uint32_t);
    const std::uint32_t start = number(pair), record = number(pair + 4), end = number(pair + 8);
    if (start > end || record < header.starts_size() || record > functions.size() ||
        functions.size() - record < layout.size || number(record) != start)
      return false;
    const std::uint32_t depths = number(record + depths_in_record);
    starts_.push_back(text + start);
    // The depth of a C function is not known, and there may be none at an address.
    if (depths == 0 || start == end) continue;
    // Depths count only for code with bytes in the file, which bounds their number.
    if (!image.is_code(text + start, end - start) || loaded_bytes(image, text + start, end - start).empty())
      return false;
    entries_.push_back({text + start, text + end, depths, number(record + name_in_record),
                        std::to_integer<std::uint8_t>(functions[record + layout.flags])});
  }
  return !entries_.empty();
}

std::uint64_t GoTable::end_of_code(const Entry& entry) const {
  const auto depths = depths_of(entry);
  return depths ? entry.start + depths->end : entry.end;
}

const GoTable::Entry* GoTable::entry_around(std::uint64_t address) const {
  const auto found = std::ranges::upper_bound(entries_, address, {}, &Entry::end);
  return found != entries_.end() && found->start <= address ? &*found : nullptr;
}

const GoTable::Entry* GoTable::entry_at(std::uint64_t address) const {
  const Entry* const found = entry_around(address);
  return found != nullptr && address < end_of_code(*found) ? found : nullptr;
}

std::string_view GoTable::name_of(const Entry& entry, std::size_t most) const {
  if (entry.name >= names_.size()) return {};
  const Bytes rest = names_.subspan(entry.name), name = rest.first(std::min(most, rest.size()));
  return {reinterpret_cast<const char*>(name.data()),
          static_cast<std::size_t>(std::ranges::find(name, std::byte{0}) - name.begin())};
}

/// runtime/symtab.go, `step`: pairs of a change of the value, zigzag, and the bytes of code that it holds for.
std::optional<GoTable::Depths> GoTable::depths_of(const Entry& entry) const {
  if (entry.depths >= values_.size()) return std::nullopt;
  Bytes left = values_.subspan(entry.depths);
  Depths depths;
  std::int64_t depth = -1;
  const std::uint64_t size = entry.end - entry.start;
  for (;;) {
    const auto change = take_number(left);
    if (!change) return std::nullopt;
    if (*change == 0 && depths.end != 0) break;
    const auto advance = take_number(left);
    depth += static_cast<std::int32_t>((*change >> 1U) ^ (0U - (*change & 1U)));
    if (!advance || *advance == 0 || *advance > (size - depths.end) / quantum_) return std::nullopt;
    if (depth < 0 || depth > deepest) return std::nullopt;
    // At a function's first instruction, the frame has the size 0.
    if (depths.steps.empty() && depth != 0) return std::nullopt;
    if (depths.steps.empty() || depths.steps.back().bytes != depth) depths.steps.push_back({depths.end, depth});
    depths.end += *advance * quantum_;
  }
  return depths;
}

}  // namespace sframe_gen::elf
