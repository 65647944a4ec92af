#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "elf/records.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::elf::test {

/// A function as Go's linker describes it.
struct Described {
  std::vector<std::uint8_t> code;
  /// Bytes between SP and its value at the entry, and for how many bytes of code.
  std::vector<std::pair<int, unsigned>> depths;
  std::uint8_t flags = 0;
  std::string name = "main.f";
};

inline constexpr std::uint8_t outermost = 1, switches_stacks = 2;

/// What a file is like that Go's linker wrote.
struct FileForm {
  std::uint32_t magic = 0xfffffff1;
  std::uint16_t machine = EM_X86_64;
  std::uint64_t entry = 0;  ///< e_entry
};

inline constexpr std::uint64_t text_address = 0x401000, table_address = 0x500000, module_address = 0x600000;

/// A static program without section headers: code, the table and the module's description, each in a PT_LOAD.
class GoFile {
 public:
  explicit GoFile(const std::vector<Described>& functions, const FileForm& form = {}) : form_(form) {
    add_code(functions);
    add_table(functions);
    add_module();
    const std::uint64_t file_header = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);
    table_offset = file_header + code_.size();
    module_offset = table_offset + table_.size();
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = form.machine;
    header.e_version = EV_CURRENT;
    header.e_entry = form.entry;
    header.e_phoff = sizeof(Elf64_Ehdr);
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 3;
    append(&header, sizeof header);
    add_segment(PF_R | PF_X, file_header, text_address, code_.size());
    add_segment(PF_R, table_offset, table_address, table_.size());
    add_segment(PF_R | PF_W, module_offset, module_address, module_.size());
    for (const auto* part : {&code_, &table_, &module_}) bytes.insert(bytes.end(), part->begin(), part->end());
  }

  std::vector<std::byte> bytes;
  std::uint64_t table_offset = 0, module_offset = 0;  ///< in the file
  std::uint64_t table_size() const { return table_.size(); }
  std::uint64_t module_size() const { return module_.size(); }
  std::vector<std::uint64_t> starts;

 private:
  static constexpr std::uint64_t header_size = 72;

  void append(const void* data, std::size_t size) {
    const auto* const first = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), first, first + size);
  }
  void add_segment(std::uint32_t flags, std::uint64_t offset, std::uint64_t address, std::uint64_t size) {
    const Elf64_Phdr segment{PT_LOAD, flags, offset, address, address, size, size, 1};
    append(&segment, sizeof segment);
  }

  void add_code(const std::vector<Described>& functions) {
    for (const Described& function : functions) {
      starts.push_back(text_address + code_.size());
      for (const std::uint8_t byte : function.code) code_.push_back(static_cast<std::byte>(byte));
      while (code_.size() % 16 != 0) code_.push_back(std::byte{0xcc});
    }
  }

  static void add_number(ByteWriter& writer, std::uint32_t value) {
    for (; value >= 0x80; value >>= 7U) writer.u8(static_cast<std::uint8_t>(value | 0x80U));
    writer.u8(static_cast<std::uint8_t>(value));
  }

  void add_table(const std::vector<Described>& functions) {
    const unsigned quantum = form_.machine == EM_X86_64 ? 1 : 4;
    ByteWriter names(Endian::Little), values(Endian::Little), starts_table(Endian::Little), records(Endian::Little);
    values.u8(0);
    const auto count = static_cast<std::uint32_t>(functions.size());
    const std::uint32_t starts_size = (2 * count + 1) * 4;
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const auto start = static_cast<std::uint32_t>(starts[i] - text_address);
      starts_table.u32(start);
      starts_table.u32(starts_size + static_cast<std::uint32_t>(records.size()));
      records.u32(start);
      records.u32(static_cast<std::uint32_t>(names.size()));
      records.u64(0);
      records.u32(functions[i].depths.empty() ? 0 : static_cast<std::uint32_t>(values.size()));
      for (int word = 0; word < (form_.magic == 0xfffffff1 ? 5 : 4); ++word) records.u32(0);
      records.u8(0);
      records.u8(functions[i].flags);
      records.u16(0);
      for (const char c : functions[i].name + '\0') names.u8(static_cast<std::uint8_t>(c));
      int depth = -1;
      for (const auto& [value, size] : functions[i].depths) {
        const int change = value - std::exchange(depth, value);
        add_number(values,
                   change < 0 ? static_cast<std::uint32_t>(-change) * 2 - 1 : static_cast<std::uint32_t>(change) * 2);
        add_number(values, size / quantum);
      }
      values.u8(0);
    }
    starts_table.u32(static_cast<std::uint32_t>(code_.size()));
    names_at_ = header_size;
    values_at_ = names_at_ + names.size();
    functions_at_ = values_at_ + values.size();
    count_ = count;
    ByteWriter table(Endian::Little);
    table.u32(form_.magic);
    table.u16(0);
    table.u8(static_cast<std::uint8_t>(quantum));
    table.u8(8);
    for (const std::uint64_t word : {std::uint64_t{count}, std::uint64_t{0}, std::uint64_t{0}, names_at_, names_at_,
                                     names_at_, values_at_, functions_at_})
      table.u64(word);
    for (const ByteWriter* part : {&names, &values, &starts_table, &records}) table.append_bytes(part->bytes());
    table_ = table.release();
  }

  void add_module() {
    std::vector<std::uint64_t> words(24);
    words[0] = table_address;
    words[1] = table_address + names_at_;
    words[10] = table_address + values_at_;
    words[13] = table_address + functions_at_;
    words[16] = table_address + functions_at_;
    words[17] = words[18] = count_ + 1;
    words[20] = words[22] = text_address;
    words[21] = words[23] = text_address + code_.size();
    ByteWriter writer(Endian::Little);
    for (const std::uint64_t word : words) writer.u64(word);
    module_ = writer.release();
  }

  FileForm form_;
  std::vector<std::byte> code_, table_, module_;
  std::uint64_t names_at_ = 0, values_at_ = 0, functions_at_ = 0, count_ = 0;
};

}  // namespace sframe_gen::elf::test
