#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "files/regions.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::elf::object {

/// An object on the way to another form: contents of sections as they are laid down, then the section headers.
class ObjectLayout {
 public:
  /// New contents of sections, by their numbers in the object.
  using Contents = std::map<std::uint32_t, std::vector<std::byte>>;

  /// Begins with the ELF header. `object` must outlive it, and have passed check_preconditions.
  explicit ObjectLayout(const elf::Image& object);

  /// Lays down the contents of sections, by number, in the order that they have in the object, and sets offset and size
  /// in `headers`, which has the object's numbers.
  void keep(std::vector<std::uint32_t> sections, std::vector<Elf64_Shdr>& headers, const Contents& changed = {});
  /// Fills up with zeros, and returns where the next byte comes to stand.
  std::uint64_t pad_to(std::uint64_t alignment);
  std::uint64_t offset() const { return form_.size() + output_.size(); }
  /// What follows all before it.
  ByteWriter& output() { return output_; }

  /// Ends with the section headers. `names`: the number of the section that holds their names.
  files::Regions finish(std::vector<Elf64_Shdr> headers, std::uint32_t names);

 private:
  void append(std::span<const std::byte> contents);
  void end_piece();

  const elf::Image& object_;
  files::Regions form_;
  ByteWriter output_;  ///< what follows `form_`
};

/// One record of .rela.sframe: what it is for, and symbol + addend.
struct NewRelocation {
  std::uint64_t offset = 0;  ///< of the field, in the new section
  std::uint32_t symbol = 0;
  std::int64_t addend = 0;
};

/// A loaded, read-only section and its relocations, all of one type and against one symbol table.
struct NewObjectSection {
  std::string name;
  std::uint32_t type = 0;       ///< sh_type
  std::uint64_t alignment = 1;  ///< bytes
  std::vector<std::byte> bytes;
  std::uint32_t symbol_table = 0;  ///< section index
  std::uint32_t relocation_type = 0;
  std::vector<NewRelocation> relocations;  ///< ascending by offset
};

/// The object with the section and its relocations in place of those of the same name, if it has such, else after all
/// its sections. No index and no symbol changes. The contents stand in the order they had, without what no header
/// describes, then the new ones, the names of the sections and their headers, so that a second time gives the same
/// bytes. The object must have passed check_preconditions. Throws MalformedInput and Refused.
files::Regions with_section(const elf::Image& object, const NewObjectSection& added);

}  // namespace sframe_gen::elf::object
