#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "elf/records.hpp"
#include "rewrite/toolbox.hpp"

/// Objects of the system's assembler, and damage done to them.
namespace sframe_gen::elf::object::test {

using elf::Image;
using elf::Section;
using elf::test::Folder;

/// An object's bytes.
using Bytes = std::vector<std::byte>;

inline Bytes bytes_of_file(const std::filesystem::path& path) {
  const std::string text = elf::test::read_text(path);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Throws what the assembler says where it fails.
inline Bytes assemble(const std::string& source, const std::string& assembler = "as --64") {
  const Folder folder;
  elf::test::write_text(folder / "a.s", source);
  const auto done = elf::test::run(assembler + " -o " + (folder / "a.o").string() + " " + (folder / "a.s").string());
  if (done.status != 0) throw std::runtime_error(done.output);
  return bytes_of_file(folder / "a.o");
}

/// Two functions in sections of their own, the second in a group.
inline const std::string two_functions = R"(
  .section .text.first,"ax",@progbits
  .globl first
  .type first,@function
first:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  pop %rbp
  .cfi_def_cfa_offset 8
  .cfi_restore %rbp
  ret
  .cfi_endproc
  .section .text.second,"axG",@progbits,second,comdat
  .weak second
  .type second,@function
second:
  .cfi_startproc
  nop
  ret
  .cfi_endproc
  .section .note.GNU-stack,"",@progbits
)";

inline Image open(const Bytes& bytes) {
  return Image::of_bytes(bytes, "a.o");
}

/// A field of the section header named `section`.
template <typename Field>
void set_header(Bytes& bytes, const std::string& section, Field Elf64_Shdr::*field, Field value) {
  const Image image = open(bytes);
  const std::uint32_t index = image.find_section(section)->index;
  Elf64_Shdr header = image.header_in_file(index);
  header.*field = value;
  elf::store_section(std::span(bytes).subspan(image.header().e_shoff + index * sizeof(Elf64_Shdr)), header,
                     image.endian());
}

/// Eight bytes of the contents of `section`.
inline void set_u64(Bytes& bytes, const std::string& section, std::uint64_t offset, std::uint64_t value) {
  const Image image = open(bytes);
  const auto place = image.find_section(section)->header.sh_offset + offset;
  store(std::span(bytes).subspan(place), value, image.endian());
}

/// What is thrown; empty: nothing.
inline std::string failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return {};
}

}  // namespace sframe_gen::elf::object::test
