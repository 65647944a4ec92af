#include "trace/dwarf/line_table.hpp"

#include <algorithm>
#include <utility>

#include "trace/dwarf/abbreviations.hpp"
#include "trace/dwarf/constants.hpp"

namespace sframe_gen::trace::dwarf {

namespace {

/// Longer ones are none of a file (PATH_MAX).
constexpr std::size_t longest_path = 4096;

/// As LLVM puts paths together: no part is empty, and one slash is between two.
void append_path(std::string& path, std::string_view part) {
  if (part.empty()) return;
  if (!path.empty() && path.back() == '/') {
    part.remove_prefix(std::min(part.find_first_not_of('/'), part.size()));
  } else if (!path.empty() && part.front() != '/') {
    path += '/';
  }
  path += part;
}

}  // namespace

struct LineTable::Header {
  std::uint8_t offset_size = 4, address_size = 8, shortest_instruction = 1, line_range = 1, opcode_base = 1;
  std::int8_t line_base = 0;
  std::span<const std::byte> operand_counts;
};

struct LineTable::State {
  std::uint64_t address = 0;
  std::uint64_t file = 1, line = 1;
  std::size_t first_row = 0;
};

LineTable::LineTable(const Unit& unit) : unit_(&unit) {
  DebugFile& file = *unit.file;
  const std::uint64_t offset = unit.lines.number;
  if (offset > file.lines().size()) throw MalformedInput(debug_origin, offset, "lines outside .debug_line");
  ByteReader reader(file.lines().subspan(offset), file.endian(), debug_origin, offset);
  Header header;
  std::uint64_t size = reader.u32("size of a line table");
  header.offset_size = size == 0xffffffff ? 8 : 4;
  if (header.offset_size == 8) size = reader.u64("size of a line table");
  file.line_budget().take(size);
  const std::uint64_t table_at = reader.offset();
  ByteReader table(reader.take(size, "line table"), file.endian(), debug_origin, table_at);
  version_ = table.u16("version");
  if (version_ < 2 || version_ > 5) table.fail("unknown version of a line table");
  header.address_size = unit.address_size;
  if (version_ >= 5) header.address_size = table.u8("size of an address");
  if (version_ >= 5) table.u8("size of a segment");
  const std::uint64_t header_size = header.offset_size == 8 ? table.u64("header") : table.u32("header");
  const std::uint64_t names_at = table.offset();
  ByteReader names(table.take(header_size, "header"), file.endian(), debug_origin, names_at);
  header.shortest_instruction = names.u8("size of an instruction");
  if (version_ >= 4) names.u8("operations of an instruction");
  names.u8("is_stmt");
  header.line_base = names.i8("line base");
  header.line_range = names.u8("line range");
  header.opcode_base = names.u8("opcode base");
  if (header.opcode_base != 0) header.operand_counts = names.take(header.opcode_base - 1U, "operands of opcodes");
  if (version_ >= 5) {
    directories_ = read_names(names, header);
    files_ = read_names(names, header);
  } else {
    read_old_names(names);
  }
  run(table, header);
  std::ranges::stable_sort(sequences_, {}, [](const Sequence& sequence) { return sequence.addresses.end; });
}

LineTable::Name LineTable::read_old_name(ByteReader& reader) {
  Name name;
  name.text = read_form(reader, form::string, version_, 0, 0);
  name.directory = reader.uleb128("directory");
  reader.uleb128("time");
  reader.uleb128("size");
  return name;
}

void LineTable::read_old_names(ByteReader& header) {
  const auto is_end = [&] { return header.at_end() || header.rest().front() == std::byte{0}; };
  while (!is_end()) directories_.push_back({read_form(header, form::string, version_, 0, 0), 0});
  if (!header.at_end()) header.skip(1);
  while (!is_end()) files_.push_back(read_old_name(header));
}

std::vector<LineTable::Name> LineTable::read_names(ByteReader& header, const Header& sizes) {
  std::vector<std::pair<std::uint64_t, std::uint16_t>> contents;
  for (unsigned left = header.u8("number of contents"); left != 0; --left) {
    const std::uint64_t content = header.uleb128("content");
    const std::uint64_t form = header.uleb128("form");
    contents.emplace_back(content, static_cast<std::uint16_t>(std::min<std::uint64_t>(form, 0xffff)));
  }
  std::vector<Name> names;
  for (std::uint64_t left = header.uleb128("number of names"); left != 0; --left) {
    const std::uint64_t begin = header.offset();
    Name& name = names.emplace_back();
    for (const auto& [content, form] : contents) {
      const AttributeValue value = read_form(header, form, version_, sizes.address_size, sizes.offset_size);
      if (content == line_content::path) name.text = value;
      if (content == line_content::directory_index) name.directory = value.number;
    }
    if (header.offset() == begin) header.fail("names without bytes");
  }
  return names;
}

void LineTable::run(ByteReader& program, const Header& header) {
  State state;
  const auto add_row = [&] {
    rows_.push_back({state.address, static_cast<std::uint32_t>(state.file), static_cast<std::uint32_t>(state.line)});
  };
  const auto advance = [&](std::uint64_t operations) { state.address += operations * header.shortest_instruction; };
  const unsigned line_range = header.line_range;
  while (!program.at_end()) {
    const std::uint8_t opcode = program.u8("opcode");
    if (opcode >= header.opcode_base) {
      const unsigned adjusted = static_cast<unsigned>(opcode) - header.opcode_base;
      if (line_range != 0) advance(adjusted / line_range);
      state.line += static_cast<std::uint64_t>(header.line_base +
                                               static_cast<std::int64_t>(line_range != 0 ? adjusted % line_range : 0));
      add_row();
      continue;
    }
    switch (opcode) {
      case 0:
        run_extended(program, state);
        break;
      case line_opcode::copy:
        add_row();
        break;
      case line_opcode::advance_pc:
        advance(program.uleb128("address"));
        break;
      case line_opcode::advance_line:
        state.line += static_cast<std::uint64_t>(program.sleb128("line"));
        break;
      case line_opcode::set_file:
        state.file = program.uleb128("file");
        break;
      case line_opcode::const_add_pc:
        if (line_range != 0) advance((255U - header.opcode_base) / line_range);
        break;
      case line_opcode::fixed_advance_pc:
        state.address += program.u16("address");
        break;
      default:
        for (auto left = std::to_integer<unsigned>(header.operand_counts[opcode - 1U]); left != 0; --left)
          program.uleb128("operand");
    }
  }
}

void LineTable::run_extended(ByteReader& program, State& state) {
  const std::uint64_t size = program.uleb128("size of an opcode");
  if (size == 0) return;
  const std::uint64_t operands_at = program.offset();
  ByteReader operands(program.take(size, "opcode"), program.endian(), debug_origin, operands_at);
  switch (operands.u8("opcode")) {
    case line_opcode::end_sequence:
      end_sequence(state, state.address);
      break;
    case line_opcode::set_address:
      // Its operand is as large as it is, whatever the header says.
      if (operands.left() == 8) state.address = operands.u64("address");
      if (operands.left() == 4) state.address = operands.u32("address");
      break;
    case line_opcode::define_file:
      files_.push_back(read_old_name(operands));
      break;
    default:
      break;
  }
}

void LineTable::end_sequence(State& state, std::uint64_t end) {
  const auto first = rows_.begin() + static_cast<std::ptrdiff_t>(state.first_row);
  if (!std::ranges::is_sorted(first, rows_.end(), {}, &Row::address))
    std::ranges::stable_sort(first, rows_.end(), {}, &Row::address);
  if (first != rows_.end() && first->address < end && unit_->file->may_begin_at(*unit_, first->address)) {
    sequences_.push_back({{first->address, end}, state.first_row, rows_.size()});
  } else {
    rows_.erase(first, rows_.end());
  }
  state = {};
  state.first_row = rows_.size();
}

const LineTable::Row* LineTable::row_at(std::uint64_t address) const {
  const auto sequence = std::ranges::upper_bound(sequences_, address, {},
                                                 [](const Sequence& candidate) { return candidate.addresses.end; });
  if (sequence == sequences_.end() || address < sequence->addresses.begin) return nullptr;
  const auto first = rows_.begin() + static_cast<std::ptrdiff_t>(sequence->first);
  const auto last = rows_.begin() + static_cast<std::ptrdiff_t>(sequence->last);
  return &*std::prev(std::ranges::upper_bound(first, last, address, {}, &Row::address));
}

std::vector<Range> LineTable::ranges() const {
  std::vector<Range> ranges;
  for (const Sequence& sequence : sequences_) ranges.push_back(sequence.addresses);
  return ranges;
}

bool LineTable::has_file(std::uint64_t file) const {
  return version_ >= 5 ? file < files_.size() : file != 0 && file <= files_.size();
}

std::string_view LineTable::text_of(const AttributeValue& text) {
  DebugFile& file = *unit_->file;
  return text.form == form::string ? file.text_at(file.lines(), text.number) : file.text_of(*unit_, text);
}

std::string LineTable::make_path(std::uint64_t file) {
  const Name& name = files_[version_ >= 5 ? file : file - 1];
  const std::string_view text = text_of(name.text);
  if (text.starts_with('/')) return std::string(text);
  std::string_view directory;
  if (version_ >= 5 && name.directory < directories_.size()) directory = text_of(directories_[name.directory].text);
  if (version_ < 5 && name.directory != 0 && name.directory <= directories_.size())
    directory = text_of(directories_[name.directory - 1].text);
  std::string path;
  if (!directory.starts_with('/')) append_path(path, unit_->file->text_of(*unit_, unit_->directory));
  append_path(path, directory);
  append_path(path, text);
  return path;
}

std::string_view LineTable::path_of(std::uint64_t file) {
  if (!has_file(file)) return {};
  const auto [known, is_new] = paths_.try_emplace(file);
  if (!is_new) return known->second;
  try {
    std::string path = make_path(file);
    if (path.size() <= longest_path) known->second = std::move(path);
  } catch (const MalformedInput&) {
    // The name is nowhere: the line stays.
  }
  return known->second;
}

}  // namespace sframe_gen::trace::dwarf
