// The library for C: statuses, messages, structures of other headers, and rows as the C++ interface has them.

#include "sframe_gen/sframe_gen.h"

#include <gtest/gtest.h>
#include <link.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "rewrite/toolbox.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/find_rows.hpp"
#include "sframe_gen/section.hpp"
#include "support/places.hpp"

namespace sframe_gen {
namespace {

using elf::test::read_text;
using elf::test::write_text;
using test::Folder;

const std::string plain_program = sframe_gen::test::source_folder() + "/corpus/amd64/callee-saves/plain.elf";

class CInterface : public testing::Test {
 protected:
  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::string converted() const {
    EXPECT_EQ(sframe_gen_convert(plain_program.c_str(), path("converted").c_str(), nullptr, nullptr), SFRAME_GEN_OK);
    return path("converted");
  }

 private:
  const Folder folder_;
};

template <typename Struct>
Struct sized() {
  Struct made{};
  made.size = sizeof made;
  return made;
}

TEST_F(CInterface, ConvertsAndGivesBack) {
  auto result = sized<sframe_gen_result>();
  const std::string output = path("output");
  ASSERT_EQ(sframe_gen_convert(plain_program.c_str(), output.c_str(), nullptr, &result), SFRAME_GEN_OK);
  const LinkedOutcome expected = std::get<LinkedOutcome>(convert_file(plain_program, path("expected")));
  EXPECT_EQ(read_text(output), read_text(path("expected")));
  EXPECT_EQ(result.size, sizeof result);
  EXPECT_EQ(result.kind, static_cast<std::uint32_t>(SFRAME_GEN_LINKED));
  EXPECT_EQ(result.section_size, expected.section_size);
  EXPECT_EQ(result.section_address, expected.section_address);
  EXPECT_EQ(result.rows, expected.coverage.rows);
  EXPECT_EQ(result.covered_bytes, expected.coverage.covered_bytes);
  ASSERT_EQ(sframe_gen_remove(output.c_str(), output.c_str(), 0), SFRAME_GEN_OK);
  EXPECT_EQ(read_text(output), read_text(plain_program));
}

TEST_F(CInterface, TakesOptions) {
  auto options = sized<sframe_gen_options>();
  options.flags = SFRAME_GEN_DRY_RUN;
  EXPECT_EQ(sframe_gen_convert(plain_program.c_str(), path("none").c_str(), &options, nullptr), SFRAME_GEN_OK);
  EXPECT_FALSE(std::filesystem::exists(path("none")));
  options.flags = SFRAME_GEN_NO_UNDO;
  options.sframe_version = 2;
  ASSERT_EQ(sframe_gen_convert(plain_program.c_str(), path("two").c_str(), &options, nullptr), SFRAME_GEN_OK);
  EXPECT_EQ(sframe_gen_remove(path("two").c_str(), path("two").c_str(), 0), SFRAME_GEN_REFUSED);
  sframe_gen_section* section = nullptr;
  ASSERT_EQ(sframe_gen_read(path("two").c_str(), 0, &section), SFRAME_GEN_OK);
  auto info = sized<sframe_gen_section_info>();
  EXPECT_EQ(sframe_gen_section_describe(section, &info), SFRAME_GEN_OK);
  EXPECT_EQ(info.sframe_version, 2U);
  sframe_gen_section_free(section);
  ASSERT_EQ(sframe_gen_remove(path("two").c_str(), path("two").c_str(), SFRAME_GEN_SECTION_ONLY), SFRAME_GEN_OK);
  EXPECT_EQ(sframe_gen_read(path("two").c_str(), 0, &section), SFRAME_GEN_REFUSED);
}

TEST_F(CInterface, SaysWhatIsWrong) {
  EXPECT_EQ(sframe_gen_convert(path("missing").c_str(), path("x").c_str(), nullptr, nullptr), SFRAME_GEN_SYSTEM);
  EXPECT_EQ(sframe_gen_message(), path("missing") + ": cannot open: No such file or directory");
  write_text(path("text"), "text");
  EXPECT_EQ(sframe_gen_convert(path("text").c_str(), path("x").c_str(), nullptr, nullptr), SFRAME_GEN_REFUSED);
  EXPECT_EQ(sframe_gen_verify(plain_program.c_str(), nullptr, nullptr), SFRAME_GEN_REFUSED);
  sframe_gen_section* section = nullptr;
  EXPECT_EQ(sframe_gen_decode("", 0, 0, 0, &section), SFRAME_GEN_MALFORMED);
  EXPECT_EQ(section, nullptr);

  EXPECT_EQ(sframe_gen_convert(nullptr, path("x").c_str(), nullptr, nullptr), SFRAME_GEN_WRONG_ARGUMENT);
  EXPECT_STREQ(sframe_gen_message(), "input is null");
  const auto status_with = [&](auto&& change) {
    auto options = sized<sframe_gen_options>();
    change(options);
    return sframe_gen_convert(plain_program.c_str(), path("x").c_str(), &options, nullptr);
  };
  EXPECT_EQ(status_with([](auto& options) { options.reader = "nosuch"; }), SFRAME_GEN_WRONG_ARGUMENT);
  EXPECT_STREQ(sframe_gen_message(), "nosuch is not a known reader");
  EXPECT_EQ(status_with([](auto& options) { options.reader = "java-profiler"; }), SFRAME_GEN_WRONG_ARGUMENT);
  EXPECT_STREQ(sframe_gen_message(),
               "java-profiler reads another layout, and walks by DWARF where a file has no section");
  EXPECT_EQ(status_with([](auto& options) { options.reader = "gnu-ld-2.45"; }), SFRAME_GEN_WRONG_ARGUMENT);
  EXPECT_EQ(status_with([](auto& options) { options.sframe_version = 4; }), SFRAME_GEN_WRONG_ARGUMENT);
  EXPECT_EQ(status_with([](auto& options) { options.reader = "glibc", options.sframe_version = 3; }),
            SFRAME_GEN_WRONG_ARGUMENT);
  EXPECT_STREQ(sframe_gen_message(), "sframe_version is 3, but reader glibc stands for version 2");
  EXPECT_EQ(status_with([](auto& options) { options.compact_rows = 65; }), SFRAME_GEN_WRONG_ARGUMENT);
  EXPECT_EQ(status_with([](auto& options) { options.flags = 1U << 31U; }), SFRAME_GEN_WRONG_ARGUMENT);
  EXPECT_EQ(status_with([](auto& options) { options.size = 8; }), SFRAME_GEN_WRONG_ARGUMENT);
  EXPECT_FALSE(std::filesystem::exists(path("x")));
}

/// A structure of a later header, with more at its end.
template <typename Struct>
struct Later {
  Struct known = sized<Struct>();
  std::uint64_t more = 0;
};

TEST_F(CInterface, TakesStructuresOfLaterHeaders) {
  Later<sframe_gen_options> options;
  options.known.size = sizeof options;
  Later<sframe_gen_result> result;
  result.known.size = sizeof result;
  result.more = 7;
  const auto convert = [&] {
    return sframe_gen_convert(plain_program.c_str(), path("x").c_str(), &options.known, &result.known);
  };
  EXPECT_EQ(convert(), SFRAME_GEN_OK);
  EXPECT_EQ(result.known.size, sizeof result);
  EXPECT_EQ(result.more, 7U);
  options.more = 1;
  EXPECT_EQ(convert(), SFRAME_GEN_WRONG_ARGUMENT) << "an option that this library does not know";
}

TEST_F(CInterface, Verifies) {
  auto verification = sized<sframe_gen_verification>();
  ASSERT_EQ(sframe_gen_verify(converted().c_str(), nullptr, &verification), SFRAME_GEN_OK);
  EXPECT_EQ(verification.differences, 0U);
  EXPECT_GT(verification.checked_pcs, 0U);
  // Another offset of the CFA, as the decoder takes it.
  std::string bytes = read_text(path("converted"));
  const FileSection section = read_sections(path("converted")).at(0);
  const auto at = bytes.find("\xe2\xde\x03");
  ASSERT_NE(at, std::string::npos);
  std::vector<std::string> reports;
  auto options = sized<sframe_gen_options>();
  options.context = &reports;
  options.report = [](void* context, int about, const char* text) {
    if (about == SFRAME_GEN_DIFFERENCE) static_cast<std::vector<std::string>*>(context)->emplace_back(text);
  };
  for (std::size_t i = at + 28; i < bytes.size() && reports.empty(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] + 8);
    write_text(path("changed"), changed);
    auto result = sized<sframe_gen_verification>();
    if (sframe_gen_verify(path("changed").c_str(), &options, &result) != SFRAME_GEN_OK) continue;
    EXPECT_EQ(result.differences != 0, !reports.empty());
  }
  EXPECT_FALSE(reports.empty());
}

TEST_F(CInterface, HasTheRowsOfTheSection) {
  const std::string file = read_text(plain_program);
  void* bytes = nullptr;
  std::size_t size = 0;
  constexpr std::uint64_t address = 0x5000;
  auto result = sized<sframe_gen_result>();
  ASSERT_EQ(sframe_gen_translate(file.data(), file.size(), "plain.elf", address, nullptr, &bytes, &size, &result),
            SFRAME_GEN_OK);
  EXPECT_EQ(result.section_size, size);
  const auto expected = sframe::decode({static_cast<const std::byte*>(bytes), size}, address, {"plain.elf", ".sframe"});
  sframe_gen_section* section = nullptr;
  ASSERT_EQ(sframe_gen_decode(bytes, size, address, 0, &section), SFRAME_GEN_OK);
  sframe_gen_free(bytes);
  auto info = sized<sframe_gen_section_info>();
  ASSERT_EQ(sframe_gen_section_describe(section, &info), SFRAME_GEN_OK);
  EXPECT_EQ(info.sframe_version, 3U);
  EXPECT_EQ(info.abi, static_cast<std::uint32_t>(SFRAME_GEN_ABI_AMD64));
  EXPECT_EQ(info.address, address);
  ASSERT_EQ(info.functions, expected.fdes.size());
  for (std::size_t i = 0; i < expected.fdes.size(); ++i) {
    const sframe::Fde& fde = expected.fdes[i];
    auto function = sized<sframe_gen_function>();
    ASSERT_EQ(sframe_gen_section_function(section, i, &function), SFRAME_GEN_OK);
    EXPECT_EQ(function.start, fde.start);
    EXPECT_EQ(function.code_size, fde.size);
    ASSERT_EQ(function.rows, fde.fres.size());
    for (std::size_t number = 0; number < fde.fres.size(); ++number) {
      int kind = SFRAME_UNWIND_LOOKUP_NOTHING, found_kind = SFRAME_UNWIND_LOOKUP_NOTHING;
      sframe_unwind_row row{}, found{};
      std::uint32_t pc_offset = 0;
      ASSERT_EQ(sframe_gen_section_row(section, i, number, &kind, &row, &pc_offset), SFRAME_GEN_OK);
      EXPECT_EQ(pc_offset, fde.fres[number].pc_offset);
      ASSERT_EQ(kind, SFRAME_UNWIND_LOOKUP_ROW);
      EXPECT_EQ(row.cfa.base, fde.fres[number].recovery->cfa.base_register);
      EXPECT_EQ(row.cfa.offset, fde.fres[number].recovery->cfa.offset);
      EXPECT_EQ(row.return_address.base, SFRAME_UNWIND_BASE_CFA);
      EXPECT_EQ(row.return_address.offset, -8) << "what x86-64 leaves unsaid";
      ASSERT_EQ(sframe_gen_section_lookup(section, fde.start + pc_offset, &found_kind, &found), SFRAME_GEN_OK);
      EXPECT_EQ(found_kind, kind);
      EXPECT_EQ(std::memcmp(&found, &row, sizeof row), 0);
    }
  }
  int kind = SFRAME_UNWIND_LOOKUP_ROW;
  sframe_unwind_row row{};
  EXPECT_EQ(sframe_gen_section_lookup(section, 0, &kind, &row), SFRAME_GEN_OK);
  EXPECT_EQ(kind, SFRAME_UNWIND_LOOKUP_NOTHING);
  std::uint32_t pc_offset = 0;
  EXPECT_EQ(sframe_gen_section_row(section, expected.fdes.size(), 0, &kind, &row, &pc_offset),
            SFRAME_GEN_WRONG_ARGUMENT);
  sframe_gen_section_free(section);
  sframe_gen_section_free(nullptr);
  sframe_gen_free(nullptr);
}

TEST_F(CInterface, EncodesWhatItDecodes) {
  sframe_gen_section* section = nullptr;
  ASSERT_EQ(sframe_gen_read(converted().c_str(), 0, &section), SFRAME_GEN_OK);
  void* bytes = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(sframe_gen_encode(section, nullptr, &bytes, &size), SFRAME_GEN_OK);
  const std::vector<FileSection> expected = read_sections(converted());
  const sframe::Section again =
      sframe::decode({static_cast<const std::byte*>(bytes), size}, expected[0].section.address, {"memory", ".sframe"});
  EXPECT_EQ(again.fdes, expected[0].section.fdes);
  sframe_gen_free(bytes);
  auto options = sized<sframe_gen_options>();
  options.reader = "gnu-ld-2.40";
  options.sframe_version = 1;
  ASSERT_EQ(sframe_gen_encode(section, &options, &bytes, &size), SFRAME_GEN_OK);
  EXPECT_EQ(static_cast<const unsigned char*>(bytes)[2], 1);
  sframe_gen_free(bytes);
  sframe_gen_section_free(section);
}

TEST_F(CInterface, EncodesFunctionsOfItsCaller) {
  sframe_gen_section* section = nullptr;
  EXPECT_EQ(sframe_gen_section_new(9, 0x8000, &section), SFRAME_GEN_WRONG_ARGUMENT);
  ASSERT_EQ(sframe_gen_section_new(SFRAME_GEN_ABI_AMD64, 0x8000, &section), SFRAME_GEN_OK);
  sframe_unwind_row row{};
  row.cfa = {7, 8, 0};
  row.return_address = {SFRAME_UNWIND_BASE_CFA, -8, 1};
  row.frame_pointer = {6, 0, 0};
  EXPECT_EQ(sframe_gen_section_add_row(section, SFRAME_UNWIND_LOOKUP_ROW, &row, 0), SFRAME_GEN_WRONG_ARGUMENT);
  EXPECT_STREQ(sframe_gen_message(), "section has no function");
  auto function = sized<sframe_gen_function>();
  function.start = 0x1000;
  function.code_size = 16;
  ASSERT_EQ(sframe_gen_section_add_function(section, &function), SFRAME_GEN_OK);
  ASSERT_EQ(sframe_gen_section_add_row(section, SFRAME_UNWIND_LOOKUP_ROW, &row, 0), SFRAME_GEN_OK);
  ASSERT_EQ(sframe_gen_section_add_row(section, SFRAME_UNWIND_LOOKUP_OUTERMOST, nullptr, 4), SFRAME_GEN_OK);
  EXPECT_EQ(sframe_gen_section_add_row(section, SFRAME_UNWIND_LOOKUP_NOTHING, &row, 8), SFRAME_GEN_WRONG_ARGUMENT);
  void* bytes = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(sframe_gen_encode(section, nullptr, &bytes, &size), SFRAME_GEN_OK);
  sframe_gen_section* again = nullptr;
  ASSERT_EQ(sframe_gen_decode(bytes, size, 0x8000, 0, &again), SFRAME_GEN_OK);
  int kind = 0;
  sframe_unwind_row found{};
  ASSERT_EQ(sframe_gen_section_lookup(again, 0x1003, &kind, &found), SFRAME_GEN_OK);
  EXPECT_EQ(kind, static_cast<int>(SFRAME_UNWIND_LOOKUP_ROW));
  EXPECT_EQ(std::memcmp(&found.cfa, &row.cfa, 3 * sizeof row.cfa), 0);
  ASSERT_EQ(sframe_gen_section_lookup(again, 0x1004, &kind, &found), SFRAME_GEN_OK);
  EXPECT_EQ(kind, static_cast<int>(SFRAME_UNWIND_LOOKUP_OUTERMOST));
  auto options = sized<sframe_gen_options>();
  options.sframe_version = 1;
  EXPECT_EQ(sframe_gen_encode(section, &options, &bytes, &size), SFRAME_GEN_REFUSED);
  EXPECT_EQ(sframe_gen_message(), std::string("section: row at 0x1004 that SFrame version 1 cannot represent: ") +
                                      std::string(sentence_of(Unrepresentable::ReturnAddressUndefined)));
  sframe_gen_free(bytes);
  sframe_gen_section_free(again);
  sframe_gen_section_free(section);
}

TEST_F(CInterface, ChecksTheOrderOfRowsWhenItEncodes) {
  sframe_gen_section* section = nullptr;
  ASSERT_EQ(sframe_gen_section_new(SFRAME_GEN_ABI_AMD64, 0x8000, &section), SFRAME_GEN_OK);
  auto function = sized<sframe_gen_function>();
  function.start = 0x1000;
  function.code_size = 16;
  ASSERT_EQ(sframe_gen_section_add_function(section, &function), SFRAME_GEN_OK);
  sframe_unwind_row row{};
  row.cfa = {7, 8, 0};
  row.return_address = {SFRAME_UNWIND_BASE_CFA, -8, 1};
  row.frame_pointer = {6, 0, 0};
  EXPECT_EQ(sframe_gen_section_add_row(section, SFRAME_UNWIND_LOOKUP_ROW, &row, 4), SFRAME_GEN_OK);
  EXPECT_EQ(sframe_gen_section_add_row(section, SFRAME_UNWIND_LOOKUP_ROW, &row, 0), SFRAME_GEN_OK);
  void* bytes = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(sframe_gen_encode(section, nullptr, &bytes, &size), SFRAME_GEN_REFUSED);
  EXPECT_STREQ(sframe_gen_message(), "section: function at 0x1000 has rows that do not ascend");
  sframe_gen_section_free(section);
}

TEST_F(CInterface, TranslatesLoadedFiles) {
  sframe_gen_translated_sections* sections = nullptr;
  ASSERT_EQ(sframe_gen_translated_sections_new(nullptr, &sections), SFRAME_GEN_OK);
  const auto bias_of_program = [](dl_phdr_info* info, std::size_t, void* bias) {
    *static_cast<std::uint64_t*>(bias) = info->dlpi_addr;
    return 1;
  };
  std::uint64_t bias = 0;
  ::dl_iterate_phdr(bias_of_program, &bias);
  const void* bytes = nullptr;
  std::size_t size = 0;
  std::uint64_t address = 1;
  ASSERT_EQ(sframe_gen_translated_sections_provide(sections, "", bias, &bytes, &size, &address), 0);
  sframe_gen_section* section = nullptr;
  EXPECT_EQ(sframe_gen_decode(bytes, size, address, 0, &section), SFRAME_GEN_OK);
  sframe_gen_section_free(section);
  EXPECT_EQ(sframe_gen_translated_sections_left_out(sections), 0);

  EXPECT_EQ(sframe_gen_translated_sections_provide(sections, path("none").c_str(), 0, &bytes, &size, &address), ENOENT);
  EXPECT_EQ(sframe_gen_translated_sections_left_out(sections), 1);
  const char *file = nullptr, *reason = nullptr;
  EXPECT_EQ(sframe_gen_translated_sections_reason(sections, 0, &file, &reason), SFRAME_GEN_OK);
  EXPECT_EQ(file, path("none"));
  EXPECT_EQ(reason, path("none") + ": cannot open: No such file or directory");
  EXPECT_EQ(sframe_gen_translated_sections_reason(sections, 1, &file, &reason), SFRAME_GEN_WRONG_ARGUMENT);
  EXPECT_STREQ(sframe_gen_message(), "no file of this number was left out");
  EXPECT_EQ(file, path("none"));
  sframe_gen_translated_sections_free(sections);
  sframe_gen_translated_sections_free(nullptr);
}

TEST_F(CInterface, TranslatesLoadedFilesInTheFormatOfTheOptions) {
  auto options = sized<sframe_gen_options>();
  options.sframe_version = 9;
  sframe_gen_translated_sections* sections = nullptr;
  EXPECT_EQ(sframe_gen_translated_sections_new(&options, &sections), SFRAME_GEN_WRONG_ARGUMENT);
  EXPECT_EQ(sections, nullptr);
  options.sframe_version = 2;
  ASSERT_EQ(sframe_gen_translated_sections_new(&options, &sections), SFRAME_GEN_OK);
  dl_phdr_info library{};
  const auto last = [](dl_phdr_info* info, std::size_t, void* found) {
    if (std::strstr(info->dlpi_name, "libc.so") != nullptr) *static_cast<dl_phdr_info*>(found) = *info;
    return 0;
  };
  ::dl_iterate_phdr(last, &library);
  ASSERT_NE(library.dlpi_name, nullptr);
  const void* bytes = nullptr;
  std::size_t size = 0;
  std::uint64_t address = 1;
  ASSERT_EQ(
      sframe_gen_translated_sections_provide(sections, library.dlpi_name, library.dlpi_addr, &bytes, &size, &address),
      0);
  sframe_gen_section* section = nullptr;
  ASSERT_EQ(sframe_gen_decode(bytes, size, address, 0, &section), SFRAME_GEN_OK);
  auto info = sized<sframe_gen_section_info>();
  EXPECT_EQ(sframe_gen_section_describe(section, &info), SFRAME_GEN_OK);
  EXPECT_EQ(info.sframe_version, 2);
  sframe_gen_section_free(section);
  sframe_gen_translated_sections_free(sections);
}

TEST_F(CInterface, HasTheVersionOfItsHeaders) {
  EXPECT_STREQ(sframe_gen_version(), SFRAME_GEN_VERSION_STRING);
  const std::string text = std::to_string(SFRAME_GEN_VERSION_MAJOR) + "." + std::to_string(SFRAME_GEN_VERSION_MINOR) +
                           "." + std::to_string(SFRAME_GEN_VERSION_PATCH);
  EXPECT_EQ(text, SFRAME_GEN_VERSION_STRING);
  EXPECT_EQ(SFRAME_GEN_VERSION_NUMBER,
            SFRAME_GEN_MAKE_VERSION(SFRAME_GEN_VERSION_MAJOR, SFRAME_GEN_VERSION_MINOR, SFRAME_GEN_VERSION_PATCH));
}

}  // namespace
}  // namespace sframe_gen
