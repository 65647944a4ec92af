#include "convert/convert_object.hpp"

#include <gtest/gtest.h>

#include "elf/object/toolbox.hpp"
#include "verify/verify.hpp"

namespace sframe_gen::convert {
namespace {

using elf::object::test::assemble;
using elf::object::test::Bytes;
using elf::object::test::open;

/// A function with an FDE that the assembler did not make, as it knows one .eh_frame only.
const std::string function_with_its_own_section = R"(
  .section .text.third,"axG",@progbits,third,comdat
  .weak third
third:
  push %rbx
  pop %rbx
  ret
.Lend:
  .section .eh_other,"aG",@progbits,third,comdat
.Lcie:
  .long .Lcie_end - . - 4
  .long 0
  .byte 1
  .asciz "zR"
  .byte 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1
  .balign 8
.Lcie_end:
  .long .Lfde_end - . - 4
.Lplace:
  .long .Lplace - .Lcie
  .long third - .
  .long .Lend - third
  .byte 0, 0x41, 0x0e, 16, 0x41, 0x0e, 8
  .balign 8
.Lfde_end:
)";

TEST(ConvertObject, TakesEachSectionOfTheName) {
  Bytes bytes = assemble(elf::object::test::two_functions + function_with_its_own_section);
  elf::object::test::set_header(bytes, ".eh_other", &Elf64_Shdr::sh_name,
                                open(bytes).find_section(".eh_frame")->header.sh_name);
  const elf::Image object = open(bytes);
  const auto named = [](const elf::Section& section) { return section.name == ".eh_frame"; };
  ASSERT_EQ(std::ranges::count_if(object.sections(), named), 2);
  const ConvertedObject converted = convert_object(object, {});
  EXPECT_EQ(converted.outcome.coverage.whole, 3U);
  const elf::Image output = open(converted.bytes);
  const Verification result = verify::verify(output, output, [](std::uint64_t, std::uint64_t) {});
  EXPECT_EQ(result.functions, 3U);
  EXPECT_EQ(result.difference_count, 0U);
  EXPECT_EQ(result.left_out_rows, 0U);
  EXPECT_EQ(convert_object(output, {}).bytes, converted.bytes);
}

TEST(ConvertObject, FileIsWrittenAsItIsInMemory) {
  // Behind large contents, all is written from other pieces than in front of them.
  const Bytes bytes =
      assemble(elf::object::test::two_functions + ".data\n.fill 2000001, 1, 0x5a\n.section .late,\"a\"\n.quad 7\n");
  const elf::object::test::Folder folder;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  elf::test::write_text(folder / "a.o", std::string(text));
  convert_object_file(elf::Image::open(folder / "a.o"), folder / "b.o", {});
  EXPECT_EQ(elf::object::test::bytes_of_file(folder / "b.o"), convert_object(open(bytes), {}).bytes);
}

}  // namespace
}  // namespace sframe_gen::convert
