// Files from which the section alone is taken out.

#include "rewrite/plan/removal.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "rewrite/check/removal_check.hpp"
#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

constexpr std::size_t section_size = 0x2345;

class Removal : public testing::Test {
 protected:
  /// As a tool leaves a converted file whose record it has dropped.
  void convert(const std::filesystem::path& input) {
    inject(input, folder_ / "converted", section_size);
    drop_record(folder_ / "converted");
  }
  Image take_out() {
    const Image image = Image::open(folder_ / "converted");
    rewrite::write_without_section(image, image, sframe_section, folder_ / "without");
    return Image::open(folder_ / "without");
  }
  std::string refusal() {
    return failure_of([&] { rewrite::plan_removal(Image::open(folder_ / "converted"), sframe_section); });
  }
  void expect_violation(const std::string& rule, const std::function<void(Fields&)>& edit) {
    change(folder_ / "without", folder_ / "bad", edit);
    const std::string message = failure_of([&] {
      rewrite::check_removal(Image::open(folder_ / "converted"), Image::open(folder_ / "bad"), sframe_section);
    });
    EXPECT_NE(message.find(rule), std::string::npos) << "wanted: " << rule << "\ngot: " << message;
  }

  Folder folder_;
};

TEST_F(Removal, LeavesAllElseWhereItIs) {
  convert(small_library());
  const Image before = Image::open(folder_ / "converted"), after = take_out();
  EXPECT_EQ(after.find_section(".sframe"), nullptr);
  EXPECT_EQ(after.find_segment(segment_type_gnu_sframe), nullptr);
  EXPECT_EQ(after.sections().size() + 1, before.sections().size());
  EXPECT_EQ(after.segments().size(), before.segments().size());
  for (const Section& section : after.sections()) {
    const Section* const old = before.find_section(section.name);
    ASSERT_NE(old, nullptr) << section.name;
    EXPECT_EQ(old->header.sh_addr, section.header.sh_addr) << section.name;
    EXPECT_EQ(old->header.sh_offset, section.header.sh_offset) << section.name;
  }
}

TEST_F(Removal, SegmentOfTheSectionAloneGoes) {
  convert(small_library());
  const auto loads = [](const Image& image) {
    return std::ranges::count(image.segments(), std::uint32_t{PT_LOAD}, &Elf64_Phdr::p_type);
  };
  const Image original = Image::open(small_library());
  EXPECT_EQ(loads(Image::open(folder_ / "converted")), loads(original) + 1);
  EXPECT_EQ(loads(take_out()), loads(original));
}

TEST_F(Removal, FileCanBeConvertedAgain) {
  convert(small_library());
  take_out();
  for (int i = 0; i < 3; ++i) {
    inject(folder_ / "without", folder_ / "converted", section_size);
    drop_record(folder_ / "converted");
    take_out();
  }
  EXPECT_LT(std::filesystem::file_size(folder_ / "without"), std::filesystem::file_size(small_library()) + 0x10000);
}

TEST_F(Removal, TakesTheRecordToo) {
  inject(small_library(), folder_ / "converted", section_size);
  EXPECT_EQ(take_out().find_section(".sframe_undo"), nullptr);
  EXPECT_LT(std::filesystem::file_size(folder_ / "without"), std::filesystem::file_size(folder_ / "converted"));
}

TEST_F(Removal, OfAFileWithoutSectionHeaders) {
  change(small_library(), folder_ / "stripped", drop_section_headers);
  inject(folder_ / "stripped", folder_ / "converted", section_size);
  const Image after = take_out();
  EXPECT_FALSE(after.has_section_headers());
  EXPECT_EQ(after.find_segment(segment_type_gnu_sframe), nullptr);
  EXPECT_EQ(after.find_section(".sframe"), nullptr);
  EXPECT_EQ(after.find_section(".sframe_undo"), nullptr);
  inject(folder_ / "without", folder_ / "again", section_size);
}

TEST_F(Removal, NeedsASection) {
  std::filesystem::copy_file(small_library(), folder_ / "converted");
  EXPECT_NE(refusal().find("no .sframe section to remove"), std::string::npos);
}

TEST_F(Removal, OfWhatTheFileNeedsIsRefused) {
  inject(small_library(), folder_ / "good", section_size);
  const auto expect_refusal = [&](const char* why, const std::function<void(Fields&)>& edit) {
    change(folder_ / "good", folder_ / "converted", edit);
    EXPECT_NE(refusal().find(why), std::string::npos) << refusal();
  };
  const Image image = Image::open(folder_ / "good");
  expect_refusal("cannot remove .sframe_undo: it has type 0x3",
                 [](Fields& f) { f.sections.back().sh_type = SHT_STRTAB; });
  expect_refusal("cannot remove .sframe: .text refers to it", [&](Fields& f) {
    f.sections[image.find_section(".text")->index].sh_link = image.find_section(".sframe")->index;
  });
}

TEST_F(Removal, CheckSeesEachChange) {
  convert(small_library());
  const Image after = take_out();
  EXPECT_NO_THROW(check_removal(Image::open(folder_ / "converted"), after, sframe_section));
  expect_violation("all other bytes must stay",
                   [&](Fields& f) { f.bytes[after.find_section(".text")->header.sh_offset] ^= 1; });
  expect_violation("symbols must keep their section", [&](Fields& f) {
    f.bytes[after.find_section(".dynsym")->header.sh_offset + sizeof(Elf64_Sym) + symbol_section_at] ^= 1;
  });
  expect_violation("symbols must stay", [&](Fields& f) {
    f.bytes[after.find_section(".dynsym")->header.sh_offset + sizeof(Elf64_Sym) + symbol_value_at] ^= 1;
  });
  expect_violation("the ELF header must stay", [](Fields& f) { f.header.e_entry ^= 16; });
  expect_violation("all other program headers must stay", [](Fields& f) { f.segment(PT_NOTE).p_type = PT_NULL; });
  expect_violation("all other program headers must stay", [](Fields& f) { f.segment(PT_DYNAMIC).p_vaddr += 16; });
  expect_violation("all other program headers must stay", [](Fields& f) {
    f.segment(PT_LOAD).p_filesz -= 8;
    f.segment(PT_LOAD).p_memsz -= 8;
  });
  expect_violation("no program header may come", [](Fields& f) { f.segments.back().p_type = segment_type_gnu_sframe; });
  expect_violation("sections must keep their headers",
                   [&](Fields& f) { f.sections[after.find_section(".dynsym")->index].sh_link = 0; });
  change(folder_ / "without", folder_ / "bad", [](Fields&) {});
  EXPECT_NE(failure_of([&] {
              check_removal(after, Image::open(folder_ / "converted"), sframe_section);
            }).find("must be gone"),
            std::string::npos);
}

}  // namespace
}  // namespace sframe_gen::elf::test
