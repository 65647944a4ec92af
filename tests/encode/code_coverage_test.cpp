#include <gtest/gtest.h>

#include <filesystem>

#include "api/address_names.hpp"
#include "convert/convert_object.hpp"
#include "elf/object/toolbox.hpp"
#include "encode/coverage.hpp"
#include "encode/encode_functions.hpp"
#include "support/places.hpp"

namespace sframe_gen::convert {
namespace {

const std::string some_code = R"(
  .text
  .globl described, bare
  .type described, @function
described:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_escape 0x0f, 3, 0x77, 8, 0x06
  pop %rbx
  ret
  .cfi_endproc
  .size described, . - described
  .balign 16
  .type bare, @function
bare:
  xor %eax, %eax
  ret
  .size bare, . - bare
  .balign 16
  ud2
)";

CodeCoverage code_of(const elf::object::test::Bytes& object, ConvertOptions options = {}) {
  options.format.version = sframe::Version::V2;  // which has no word for a CFA in memory
  options.count_code = true;
  return convert_object(elf::object::test::open(object), options).outcome.coverage.code.value();
}

CodeCoverage code_of(const std::string& source) {
  return code_of(elf::object::test::assemble(source));
}

TEST(CodeCoverage, CountsCodeWithoutCfi) {
  const CodeCoverage code = code_of(some_code);
  ASSERT_EQ(code.sections.size(), 1U);
  EXPECT_EQ(code.sections[0].name, ".text");
  EXPECT_EQ(code.all.bytes, 34U);
  EXPECT_EQ(code.all.padding, 13U + 13);
  EXPECT_EQ(code.all.without_cfi, 3U + 2);
  EXPECT_EQ(code.all.without_row, 2U + 3 + 2);
}

TEST(CodeCoverage, NamesEachPlaceFromItsSection) {
  const CodeCoverage code = code_of(some_code);
  ASSERT_EQ(code.places.size(), 3U);
  const auto expect = [&](std::size_t i, const char* function, std::uint64_t begin, std::uint64_t end,
                          std::uint64_t without_cfi) {
    const CodeCoverage::Place& place = code.places[i];
    EXPECT_EQ(place.section, ".text");
    EXPECT_EQ(place.function, function);
    EXPECT_EQ(place.begin, begin);
    EXPECT_EQ(place.end, end);
    EXPECT_EQ(place.without_cfi, without_cfi);
    EXPECT_EQ(place.without_row, end - begin);
  };
  expect(0, "described", 1, 3, 0);
  expect(1, "bare", 16, 19, 3);
  expect(2, "", 32, 34, 2);
}

TEST(CodeCoverage, NamesTheSourceOfRows) {
  const auto expect = [](const std::string& assembly, RowSource source) {
    const CodeCoverage code = code_of(assembly);
    ASSERT_EQ(code.sources.size(), 1U);
    EXPECT_EQ(code.sources.at(source).records, 1U);
    EXPECT_EQ(code.sources.at(source).bytes, 1U);
  };
  expect(some_code, RowSource::EhFrame);
  expect(".cfi_sections .debug_frame\n" + some_code, RowSource::DebugFrame);
}

// Whatever the header of type SHT_NULL says: there are no bytes, to look at for padding neither.
TEST(CodeCoverage, LeavesOutSectionsWithoutBytes) {
  auto object = elf::object::test::assemble(some_code + R"(
  .section .text.none, "ax", @progbits
  .cfi_startproc
  ret
  .cfi_endproc
  .balign 4096
  .cfi_startproc
  ret
  .cfi_endproc
  .balign 4096
)");
  elf::object::test::set_header(object, ".text.none", &Elf64_Shdr::sh_type, Elf64_Word{SHT_NULL});
  ConvertOptions compact;
  compact.format.compact_rows = 32;
  for (const ConvertOptions& options : {ConvertOptions{}, compact}) {
    const CodeCoverage code = code_of(object, options);
    ASSERT_EQ(code.sections.size(), 1U);
    EXPECT_EQ(code.sections[0].name, ".text");
  }
}

TEST(CodeCoverage, CountsStubsAsRows) {
  const auto path =
      std::filesystem::path(sframe_gen::test::source_folder()) / "corpus" / "stubs" / "amd64-lld-22-lazy.elf";
  const elf::Image image = elf::Image::open(path);
  const emit::Dialect dialect = encode::dialect_for(image, {});
  ConvertOptions options;
  options.count_code = true;
  const auto count = [&](const rows::stubs::StubList& stubs) {
    return encode::encode_file(image, image, stubs, dialect, options).coverage.code.value().all;
  };
  const rows::stubs::StubList stubs = encode::stubs_for(image, {});
  std::uint64_t bytes = 0;
  for (const rows::stubs::StubRun& run : stubs.runs) bytes += run.size;
  EXPECT_EQ(count(stubs).without_row, 0U);
  EXPECT_EQ(count({}).without_row, bytes);
  EXPECT_EQ(count(stubs).without_cfi, bytes);
  api::AddressNames places(image);
  EXPECT_EQ(places.source_at(stubs.runs.front().start, stubs.runs.front().start), RowSource::Instructions);
}

}  // namespace
}  // namespace sframe_gen::convert
