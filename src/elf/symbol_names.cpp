#include "elf/symbol_names.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <string_view>
#include <tuple>

#include "elf/records.hpp"
#include "support/containers.hpp"
#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

/// How many symbols that begin before an address may be asked whether they reach it.
constexpr std::size_t most_tries = 16;
constexpr std::string_view inner_prefix = "__GI_";

/// Where a symbol's rank begins in its order; its number has the bits below. A table with more symbols has 12 GB.
constexpr unsigned rank_bit = 29;
constexpr std::uint32_t has_size = std::uint32_t{4} << rank_bit;

/// No more of it than `most` bytes.
std::string_view text_at(std::span<const std::byte> strings, std::uint64_t offset, std::uint64_t most) {
  if (offset >= strings.size()) return {};
  return text_before_zero(strings.subspan(offset, std::min<std::uint64_t>(strings.size() - offset, most)));
}

/// On aarch64, $x and $d say where code and data begin (ELF for the Arm 64-bit Architecture, section 5.5); after a
/// point anything may follow.
bool is_mark(std::string_view name) {
  return (name.starts_with("$x") || name.starts_with("$d")) && (name.size() == 2 || name[2] == '.');
}

/// What an object's symbols count from.
std::uint64_t section_address_of(const Image& image, const Elf64_Sym& symbol) {
  if (!image.is_object() || symbol.st_shndx >= image.sections().size()) return 0;
  return image.sections()[symbol.st_shndx].header.sh_addr;
}

const Section* symbol_section(const Image& image) {
  for (const std::uint32_t type : {std::uint32_t{SHT_SYMTAB}, std::uint32_t{SHT_DYNSYM}}) {
    for (const Section& section : image.sections()) {
      if (section.header.sh_type == type) return &section;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<std::uint64_t> function_starts(const Image& image) {
  std::vector<std::uint64_t> starts;
  if (image.header().e_entry != 0) starts.push_back(image.header().e_entry);
  std::uint64_t left = image.file_bytes().size();
  for (const Section& table : image.sections()) {
    if (table.header.sh_type != SHT_SYMTAB && table.header.sh_type != SHT_DYNSYM) continue;
    const auto records = image.bytes_of(table);
    if (records.size() > left) throw Refused(image.name(), "symbol tables that are together larger than the file");
    left -= records.size();
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= records.size(); at += sizeof(Elf64_Sym)) {
      const Elf64_Sym symbol = load_symbol(records.subspan(at), image.endian());
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      // Functions of assembly often have no type. Of local symbols without a type, many are labels only.
      const bool untyped = type == STT_NOTYPE && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL;
      if (symbol.st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC && !untyped)) continue;
      starts.push_back(symbol.st_value + section_address_of(image, symbol));
    }
  }
  if (const auto go = GoTable::find(image)) starts.insert(starts.end(), go->starts().begin(), go->starts().end());
  sort_by_number(std::span(starts), std::identity(), std::less());
  return starts;
}

SymbolNames::SymbolNames(const Image& image, SymbolChoice choice)
    : choice_(choice), budget_(image.file_bytes().size()), go_(GoTable::find(image)) {
  try {
    read(image);
  } catch (const Failure&) {
    symbols_.clear();
  }
}

void SymbolNames::read(const Image& image) {
  const Section* const table = symbol_section(image);
  if (table == nullptr || table->header.sh_link >= image.sections().size()) return;
  strings_ = image.bytes_of(image.sections()[table->header.sh_link]);
  const auto records = image.bytes_of(*table);
  const bool marks_code = image.header().e_machine == EM_AARCH64;
  std::uint32_t order = 0;
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= records.size(); at += sizeof(Elf64_Sym)) {
    const Elf64_Sym symbol = load_symbol(records.subspan(at), image.endian());
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    const std::uint64_t value = symbol.st_value + section_address_of(image, symbol);
    const bool function =
        (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) && symbol.st_shndx != SHN_UNDEF;
    constexpr std::uint64_t mark_size = 3;
    if (type == STT_NOTYPE && marks_code && is_mark(text_at(strings_, symbol.st_name, mark_size))) continue;
    const std::uint64_t least = choice_ == SymbolChoice::LastInTable ? 1 : 0;
    if (function && symbol.st_name != 0 && value != 0)
      symbols_.push_back({value, value + std::max(symbol.st_size, least), symbol.st_name, rank_of(symbol) | order++});
  }
  if (choice_ == SymbolChoice::ForPeople) {
    for (const Section& section : image.sections())
      if ((section.header.sh_flags & SHF_EXECINSTR) != 0)
        code_.emplace_back(section.header.sh_addr, section.header.sh_addr + section.header.sh_size);
  }
  const auto is_before = [](const Symbol& a, const Symbol& b) {
    return std::tie(a.begin, a.order) < std::tie(b.begin, b.order);
  };
  sort_by_number(
      std::span(symbols_), [](const Symbol& symbol) { return symbol.begin; }, is_before);
}

std::uint32_t SymbolNames::rank_of(const Elf64_Sym& symbol) const {
  if (choice_ == SymbolChoice::LastInTable) return 0;
  const unsigned binding = ELF64_ST_BIND(symbol.st_info);
  const bool is_inner = text_at(strings_, symbol.st_name, inner_prefix.size()) == inner_prefix;
  const std::uint32_t rank = is_inner ? 0 : binding == STB_LOCAL ? 1 : binding == STB_WEAK ? 2 : 3;
  return rank << rank_bit | (symbol.st_size != 0 ? has_size : 0);
}

/// The last symbol up to an address, if it has no size and the address is in the same section.
const SymbolNames::Symbol* SymbolNames::without_size_before(std::uint64_t address) const {
  if (choice_ == SymbolChoice::LastInTable) return nullptr;
  const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::begin);
  if (after == symbols_.begin() || (std::prev(after)->order & has_size) != 0) return nullptr;
  const Symbol& symbol = *std::prev(after);
  const bool is_in_code = std::ranges::any_of(
      code_, [&](const auto& section) { return section.first <= symbol.begin && address < section.second; });
  return is_in_code ? &symbol : nullptr;
}

std::string SymbolNames::name_at(std::uint64_t address) {
  auto found = symbol_at(address);
  return found ? std::move(found->name) : std::string();
}

std::optional<SymbolNames::Named> SymbolNames::symbol_at(std::uint64_t address) {
  auto it = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                             [](std::uint64_t a, const Symbol& s) { return a < s.begin; });
  // Aliases and inner labels stand before; the first whose size reaches the address is the one meant.
  for (std::size_t tries = 0; it != symbols_.begin() && tries < most_tries; ++tries) {
    --it;
    if (address >= it->end) continue;
    // glibc calls its own functions by names such as __GI_read, which stand at the same address as read.
    const auto is_inner_name = [&](const Symbol& symbol) {
      return text_at(strings_, symbol.name, inner_prefix.size()) == inner_prefix;
    };
    auto best = it;
    for (; is_inner_name(*best) && best != symbols_.begin() && tries < most_tries; ++tries) {
      const auto before = std::prev(best);
      if (before->begin != it->begin || address >= before->end) break;
      best = before;
    }
    if (!is_inner_name(*best)) it = best;
    const std::string_view name = text_at(strings_, it->name, budget_.left() + 1);
    if (!budget_.take(name.size())) return {};
    return Named{std::string(name), it->begin, it->end};
  }
  if (const Symbol* const symbol = without_size_before(address)) {
    const std::string_view name = text_at(strings_, symbol->name, budget_.left() + 1);
    if (!budget_.take(name.size())) return {};
    return Named{std::string(name), symbol->begin, begin_after(address)};
  }
  const GoTable::Entry* const entry = go_ ? go_->entry_around(address) : nullptr;
  if (entry == nullptr || address >= end_of(*entry)) return {};
  const std::string_view name = go_->name_of(*entry);
  if (name.empty() || !budget_.take(name.size())) return {};
  return Named{std::string(name), entry->start, end_of(*entry)};
}

std::uint64_t SymbolNames::end_of(const GoTable::Entry& entry) {
  const auto [known, is_new] = ends_.try_emplace(entry.start, 0);
  if (is_new) known->second = go_->end_of_code(entry);
  return known->second;
}

std::uint64_t SymbolNames::begin_after(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::begin);
  return after == symbols_.end() ? std::numeric_limits<std::uint64_t>::max() : after->begin;
}

std::optional<SymbolNames::Named> SymbolNames::find(std::string_view name) const {
  for (const Symbol& symbol : symbols_) {
    if (text_at(strings_, symbol.name, name.size() + 1) == name)
      return Named{std::string(name), symbol.begin, symbol.end};
  }
  if (!go_) return {};
  for (const GoTable::Entry& entry : go_->entries())
    if (go_->name_of(entry, name.size() + 1) == name)
      return Named{std::string(name), entry.start, go_->end_of_code(entry)};
  return {};
}

}  // namespace sframe_gen::elf
