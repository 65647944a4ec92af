#include "trace/address_space.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "support/text.hpp"

namespace sframe_gen::trace {

namespace {

/// The parts of `all` that no later mapping covers, in ascending order: what the kernel would show now.
std::vector<Mapping> flattened(std::vector<Mapping> all) {
  std::map<std::uint64_t, Mapping> parts;
  for (Mapping& added : all) {
    if (added.begin >= added.end) continue;
    auto part = parts.upper_bound(added.begin);
    if (part != parts.begin()) --part;
    while (part != parts.end() && part->second.begin < added.end) {
      const Mapping old = part->second;
      if (old.end <= added.begin) {
        ++part;
        continue;
      }
      part = parts.erase(part);
      if (old.begin < added.begin) {
        Mapping before = old;
        before.end = added.begin;
        parts.insert_or_assign(before.begin, before);
      }
      if (old.end > added.end) {
        Mapping behind = old;
        behind.begin = added.end;
        behind.file_offset += added.end - old.begin;
        part = std::next(parts.insert_or_assign(behind.begin, behind).first);
      }
    }
    parts.insert_or_assign(added.begin, std::move(added));
  }
  std::vector<Mapping> ascending;
  ascending.reserve(parts.size());
  for (auto& [begin, part] : parts) ascending.push_back(std::move(part));
  return ascending;
}

/// What addresses of the mapping are above those of the file. None: the mapping holds no part of a PT_LOAD, so that the
/// file is not the one that was mapped. The kernel maps whole pages.
std::optional<std::uint64_t> bias_of(const Mapping& mapping, const elf::Image& image) {
  constexpr std::uint64_t page = 4096;
  for (const std::uint32_t wanted : {std::uint32_t{PF_X}, std::uint32_t{0}}) {
    for (const Elf64_Phdr& segment : image.segments()) {
      if (segment.p_type != PT_LOAD || (segment.p_flags & wanted) != wanted) continue;
      const std::uint64_t first = segment.p_offset / page * page;
      if (mapping.file_offset < first || mapping.file_offset - first >= segment.p_filesz + (segment.p_offset - first)) {
        continue;
      }
      return mapping.begin - (segment.p_vaddr - segment.p_offset + mapping.file_offset);
    }
  }
  return std::nullopt;
}

}  // namespace

AddressSpace::AddressSpace(std::vector<Mapping> executable, OpenFile open_file)
    : mappings_(flattened(std::move(executable))), known_(mappings_.size()), open_file_(std::move(open_file)) {
  modules_.reserve(mappings_.size());
  for (const Mapping& mapping : mappings_) modules_.push_back({.begin = mapping.begin, .end = mapping.end});
}

std::size_t AddressSpace::index_of(std::uint64_t pc) const {
  const auto behind = std::ranges::upper_bound(mappings_, pc, {}, &Mapping::begin);
  if (behind == mappings_.begin() || pc >= std::prev(behind)->end) return mappings_.size();
  return static_cast<std::size_t>(behind - mappings_.begin()) - 1;
}

AddressSpace::Known& AddressSpace::open(std::size_t index) {
  Known& known = known_[index];
  if (known.was_opened) return known;
  known.was_opened = true;
  const Mapping& mapping = mappings_[index];
  known.name = printable(mapping.path);
  known.opened = open_file_(mapping);
  if (!known.opened.file) return known;
  if (const auto bias = bias_of(mapping, known.opened.file->image())) {
    known.bias = *bias;
  } else {
    known.opened = {nullptr, "is not the file that was mapped"};
  }
  return known;
}

AddressSpace::Place AddressSpace::place_of(std::uint64_t pc) {
  const std::size_t index = index_of(pc);
  if (index == mappings_.size()) return {};
  const Mapping& mapping = mappings_[index];
  const Known& known = open(index);
  CodeFile* const file = known.opened.file.get();
  const std::uint64_t address = file != nullptr ? pc - known.bias : pc - mapping.begin + mapping.file_offset;
  return {&mapping, file, known.opened.why_not, known.name, address};
}

bool AddressSpace::find_rows(std::uint64_t pc) {
  const std::size_t index = index_of(pc);
  if (index == mappings_.size()) return false;
  Known& known = open(index);
  if (!known.opened.file || known.has_more_rows) return false;
  CodeFile& file = *known.opened.file;
  unwind::Module& module = modules_[index];
  known.has_more_rows = known.has_rows;
  known.has_rows = true;
  const sframe::SectionView* const rows = known.has_more_rows ? file.more_rows() : file.rows();
  if (rows == nullptr || rows == module.view) return false;
  module.view = rows;
  module.bias = known.bias;
  return true;
}

void AddressSpace::find_all_rows() {
  for (const unwind::Module& module : modules_) {
    if (module.view == nullptr) find_rows(module.begin);
  }
}

}  // namespace sframe_gen::trace
