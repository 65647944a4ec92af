#include "elf/object/section_removal.hpp"

#include <gtest/gtest.h>

#include <string>

#include "elf/object/symbol_table.hpp"
#include "elf/object/toolbox.hpp"

namespace sframe_gen::elf::object::test {
namespace {

/// What a compiler's object may have of .sframe, between other sections. `symbol`: in it, and before others.
const std::string sframe = R"(
 .section .sframe,"a",@progbits
here: .quad first - .
 .quad second - .
)";
const std::string referring = R"(
 .text
later: call later@PLT
 .data
 .quad later, second, first
 .section .text.shared,"axG",@progbits,shared,comdat
 .weak shared
shared: call later@PLT
)";

Bytes without(const Bytes& bytes) {
  const Image image = open(bytes);
  const files::Regions form = without_section(image, ".sframe");
  Bytes output = form.bytes(0, form.size(), image.file_bytes());
  check_without_section(image, open(output), ".sframe");
  return output;
}

std::string refusal_of(const std::string& source) {
  return failure_of([bytes = assemble(source)] { without(bytes); });
}

TEST(SectionRemoval, TakesSectionRelocationsAndSymbols) {
  const Bytes bytes = assemble(two_functions + sframe + referring);
  const Image before = open(bytes);
  const Bytes output = without(bytes);
  const Image after = open(output);
  EXPECT_EQ(after.sections().size(), before.sections().size() - 2);
  const auto symbols = [](const Image& image) {
    return SymbolTable(image, image.find_section(".symtab")->index).size();
  };
  EXPECT_EQ(symbols(after), symbols(before) - 1);
  for (const Section& section : after.sections()) EXPECT_EQ(section.name.find("sframe"), std::string::npos);
  EXPECT_EQ(without_section(before, ".sframe").size(), output.size());
}

TEST(SectionRemoval, SymbolsInItThatOthersNeedAreRefused) {
  EXPECT_EQ(refusal_of(two_functions + sframe + " .data\n .quad here\n"),
            "a.o: .rela.data refers to its .sframe section");
  EXPECT_EQ(refusal_of(two_functions + sframe + " .globl here\n"), "a.o: global symbol in its .sframe section");
  EXPECT_EQ(refusal_of(two_functions), "a.o: no .sframe section to remove");
  EXPECT_EQ(refusal_of(two_functions + R"( .section .sframe,"aG",@progbits,key,comdat
 .quad first - .
)"),
            "a.o: .sframe belongs to a group");
}

}  // namespace
}  // namespace sframe_gen::elf::object::test
