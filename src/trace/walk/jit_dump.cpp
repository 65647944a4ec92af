#include "trace/walk/jit_dump.hpp"

#include <elf.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "elf/records.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"
#include "trace/walk/demangle.hpp"

namespace sframe_gen::trace::walk {

namespace {

constexpr std::uint32_t jit_magic = 0x4a695444, jit_version = 1;
constexpr std::size_t least_header = 40, record_head = 16;
/// Places in it have 32 bits.
constexpr std::size_t most_bytes = UINT32_MAX;
/// JIT_CODE_*
enum : std::uint32_t { Load = 0, Move = 1, Unwinding = 4 };

std::uint16_t machine_number_of(sframe::Abi abi) {
  switch (abi) {
    case sframe::Abi::Amd64:
      return EM_X86_64;
    case sframe::Abi::Aarch64Big:
    case sframe::Abi::Aarch64Little:
      return EM_AARCH64;
    case sframe::Abi::S390x:
      return EM_S390;
  }
  return EM_NONE;
}

struct UnwindingRecord {
  std::span<const std::byte> bytes;
  std::uint64_t header_size = 0;
};

UnwindingRecord read_unwinding(ByteReader& reader) {
  const std::uint64_t size = reader.u64("size"), header_size = reader.u64("size of the header");
  reader.u64("mapped size");
  if (header_size > size) reader.fail("a header that is larger than what it is in");
  return {reader.take(size, "unwinding information"), header_size};
}

struct LoadRecord {
  std::uint64_t address = 0, index = 0;  ///< of the code; the compiler's number for it
  JitFunction function;
};

LoadRecord read_load(ByteReader& reader) {
  reader.take(8, "process and thread");
  reader.u64("address");
  LoadRecord load;
  load.address = reader.u64("address of the code");
  const std::uint64_t size = reader.u64("size of the code");
  load.index = reader.u64("index");
  load.function.name = text_before_zero(reader.rest());
  reader.take(load.function.name.size() + 1, "name");
  load.function.code = reader.take(size, "code");
  return load;
}

}  // namespace

JitDump::JitDump(MappedFile file, sframe::Abi abi) : file_(std::move(file)), endian_(sframe::traits_of(abi).endian) {
  read_header(abi);
  read_records();
  std::ranges::stable_sort(placements_, {}, &JitPlacement::time);
}

void JitDump::read_header(sframe::Abi abi) {
  constexpr std::uint64_t times_of_processor = 1;
  const InputOrigin origin{name(), "header"};
  ByteReader reader(file_.bytes(), endian_, origin);
  if (reader.u32("magic number") != jit_magic) reader.fail("not the magic number of a jitdump");
  if (reader.u32("version") != jit_version) reader.fail("an unknown version");
  header_size_ = reader.u32("size of the header");
  if (header_size_ < least_header || header_size_ > file_.bytes().size())
    reader.fail("an impossible size of the header");
  // Python 3.13.0 leaves it out.
  const std::uint32_t machine = reader.u32("machine");
  if (machine != machine_number_of(abi) && machine != EM_NONE) throw Refused(name(), "for another architecture");
  machine_ = machine_number_of(abi);
  reader.take(16, "process and time");
  if ((reader.u64("flags") & times_of_processor) != 0)
    throw Refused(name(), "its times are of the processor's counter, which the recording does not have");
}

JitDump::PlacesOfFunction JitDump::places_of(const JitFunction& function) const {
  const auto place_of = [this](const void* part) {
    return static_cast<std::uint32_t>(static_cast<const std::byte*>(part) - file_.bytes().data());
  };
  const auto size_of = [](const auto& part) { return static_cast<std::uint32_t>(part.size()); };
  const bool has_unwinding = !function.unwinding.empty();
  return {place_of(function.name.data()),
          size_of(function.name),
          place_of(function.code.data()),
          size_of(function.code),
          has_unwinding ? place_of(function.unwinding.data()) : 0,
          size_of(function.unwinding),
          static_cast<std::uint32_t>(function.header_size)};
}

JitFunction JitDump::function(std::size_t index) const {
  const PlacesOfFunction& places = functions_[index];
  const auto bytes = file_.bytes();
  const auto* const name = reinterpret_cast<const char*>(bytes.data()) + places.name;
  return {.name = {name, places.name_size},
          .code = bytes.subspan(places.code, places.code_size),
          .unwinding = bytes.subspan(places.unwinding, places.unwinding_size),
          .header_size = places.header_size};
}

void JitDump::read_records() {
  const InputOrigin origin{name(), "records"};
  SeededMap<std::uint64_t, std::size_t> by_index;
  UnwindingRecord unwinding;
  try {
    for (std::size_t at = header_size_; at < file_.bytes().size();) {
      ByteReader head(file_.bytes().subspan(at), endian_, origin, at);
      const std::uint32_t type = head.u32("type"), size = head.u32("size");
      const std::uint64_t time = head.u64("time");
      if (size < record_head || at + size > most_bytes) return;
      ByteReader reader(head.take(size - record_head, "record"), endian_, origin, at + record_head);
      at += size;
      if (type == Unwinding) {
        unwinding = read_unwinding(reader);
      } else if (type == Load) {
        auto [address, index, function] = read_load(reader);
        const UnwindingRecord its_own = std::exchange(unwinding, {});
        function.unwinding = its_own.bytes;
        function.header_size = its_own.header_size;
        by_index[index] = functions_.size();
        placements_.push_back({time, address, functions_.size()});
        functions_.push_back(places_of(function));
      } else if (type == Move) {
        reader.take(8 + 2 * 8, "process, thread and old address");
        const std::uint64_t address = reader.u64("new address");
        reader.u64("size of the code");
        const auto moved = by_index.find(reader.u64("index"));
        if (moved != by_index.end()) placements_.push_back({time, address, moved->second});
      }
    }
  } catch (const Failure&) {
    // The last record is not whole.
  }
}

std::vector<std::byte> elf_file_of(const JitFunction& function, std::uint16_t machine, Endian endian) {
  constexpr std::string_view section_names{"\0.text\0.eh_frame\0.eh_frame_hdr\0.symtab\0.strtab\0", 47};
  const auto name_of = [&](std::string_view name) { return static_cast<std::uint32_t>(section_names.find(name)); };
  constexpr std::uint64_t align = 8;
  const auto aligned = [](std::uint64_t place) { return (place + align - 1) / align * align; };
  const std::uint64_t code = jit_code_address, eh_frame = aligned(code + function.code.size()),
                      table_size = function.unwinding.size() - function.header_size, header = eh_frame + table_size,
                      loaded_end = header + function.header_size, symbols = aligned(loaded_end),
                      strings = symbols + 2 * sizeof(Elf64_Sym),
                      strings_size = section_names.size() + function.name.size() + 1,
                      sections = aligned(strings + strings_size);
  constexpr std::uint16_t section_count = 6;
  std::vector<std::byte> file(sections + section_count * sizeof(Elf64_Shdr));
  const std::span all(file);
  Elf64_Ehdr head{};
  std::copy_n(ELFMAG, SELFMAG, head.e_ident);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = endian == Endian::Little ? ELFDATA2LSB : ELFDATA2MSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_version = EV_CURRENT;
  head.e_type = ET_DYN;
  head.e_machine = machine;
  head.e_phoff = head.e_ehsize = sizeof(Elf64_Ehdr);
  head.e_shoff = sections;
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_phnum = 2;
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = section_count;
  head.e_shstrndx = section_count - 1;
  elf::store_header(all, head, endian);
  constexpr std::uint64_t page = 4096;
  elf::store_segment(all.subspan(sizeof(Elf64_Ehdr)), {PT_LOAD, PF_R | PF_X, 0, 0, 0, loaded_end, loaded_end, page},
                     endian);
  elf::store_segment(all.subspan(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr)),
                     {function.header_size != 0 ? std::uint32_t{PT_GNU_EH_FRAME} : std::uint32_t{PT_NULL}, PF_R, header,
                      header, header, function.header_size, function.header_size, 4},
                     endian);
  static_assert(sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr) <= jit_code_address);
  std::ranges::copy(function.code, all.subspan(code).begin());
  std::ranges::copy(function.unwinding, all.subspan(eh_frame).begin());
  const auto text = std::as_bytes(std::span(section_names)), name = std::as_bytes(std::span(function.name));
  std::ranges::copy(text, all.subspan(strings).begin());
  std::ranges::copy(name, all.subspan(strings + text.size()).begin());
  // st_name, st_info, st_other, st_shndx, st_value, st_size
  ByteWriter symbol(endian);
  symbol.u32(static_cast<std::uint32_t>(text.size()));
  symbol.u8(ELF64_ST_INFO(STB_GLOBAL, STT_FUNC));
  symbol.u8(0);
  symbol.u16(1);
  symbol.u64(code);
  symbol.u64(function.code.size());
  std::ranges::copy(symbol.bytes(), all.subspan(symbols + sizeof(Elf64_Sym)).begin());
  const std::array<Elf64_Shdr, section_count> headers{{
      {},
      {name_of(".text"), SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, code, function.code.size(), 0, 0, align, 0},
      {name_of(".eh_frame"), SHT_PROGBITS, SHF_ALLOC, eh_frame, eh_frame, table_size, 0, 0, align, 0},
      {name_of(".eh_frame_hdr"), SHT_PROGBITS, SHF_ALLOC, header, header, function.header_size, 0, 0, 4, 0},
      {name_of(".symtab"), SHT_SYMTAB, 0, 0, symbols, 2 * sizeof(Elf64_Sym), 5, 1, align, sizeof(Elf64_Sym)},
      {name_of(".strtab"), SHT_STRTAB, 0, 0, strings, strings_size, 0, 0, 1, 0},
  }};
  for (std::size_t i = 0; i < headers.size(); ++i)
    elf::store_section(all.subspan(sections + i * sizeof(Elf64_Shdr)), headers[i], endian);
  return file;
}

const std::string& JitCode::name() const {
  static const std::string none;
  return dump_ ? dump_->name() : none;
}

/// Code that it overlaps was given up, all of it.
void JitCode::place(std::size_t placement) {
  const auto& [time, begin, function] = dump_->placements()[placement];
  const std::uint64_t size =
      std::min<std::uint64_t>(dump_->function(function).code.size(), std::numeric_limits<std::uint64_t>::max() - begin);
  if (size == 0) return;
  auto first = parts_.upper_bound(begin);
  if (first != parts_.begin() && std::prev(first)->second.end > begin) --first;
  parts_.erase(first, parts_.lower_bound(begin + size));
  parts_.emplace(begin, Part{begin, begin + size, placement});
}

std::optional<JitCode::Part> JitCode::part_at(std::uint64_t pc) {
  if (open_) {
    try {
      dump_.emplace(std::exchange(open_, nullptr)());
    } catch (const Failure& failure) {
      why_not_ = failure.what();
    }
  }
  if (!dump_) return std::nullopt;
  for (; next_ < dump_->placements().size() && dump_->placements()[next_].time <= time_; ++next_) place(next_);
  auto found = parts_.upper_bound(pc);
  if (found == parts_.begin() || pc >= (--found)->second.end) return std::nullopt;
  return found->second;
}

std::shared_ptr<CodeFile> JitCode::file_of(std::size_t function) {
  constexpr std::size_t most = 256;
  files_.resize(most);
  auto& [made_for, file] = files_[function % most];
  if (!file || made_for != function) {
    std::vector<std::byte> bytes = elf_file_of(dump_->function(function), dump_->machine(), dump_->endian());
    elf::Image image = elf::Image::of_bytes(bytes, dump_->name());
    file = std::make_shared<CodeFile>(std::move(image), std::move(bytes), options_, root_);
    made_for = function;
  }
  return file;
}

std::string_view JitCode::name_of(std::size_t function) {
  std::string_view written = dump_->function(function).name;
  written = written.substr(0, written.find('@'));
  const auto is_plain = [](char letter) { return letter >= ' ' && letter <= '~'; };
  // Names that compilers for C++ and Rust made begin with an underscore.
  if (!written.starts_with('_') && written.size() <= longest_name && std::ranges::all_of(written, is_plain))
    return written;
  const auto [name, is_first] = names_.try_emplace(function);
  if (is_first) name->second = name_for_people(std::string(written));
  return name->second;
}

}  // namespace sframe_gen::trace::walk
