// Files that have a .sframe already.

#include <gtest/gtest.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

class Replace : public testing::Test {
 protected:
  /// As another tool might have made it.
  void first(std::size_t size) {
    first_ = inject(small_library(), folder_ / "first", size);
    drop_record(folder_ / "first");
  }
  Layout again(std::size_t size, const std::string& from = "first") {
    return inject(folder_ / from, folder_ / "second", size);
  }
  std::size_t segments_of(const std::string& name) { return Image::open(folder_ / name).segments().size(); }

  Folder folder_;
  Layout first_;
};

TEST_F(Replace, SameSizeKeepsItsPlace) {
  for (const std::size_t size : {std::size_t{64}, std::size_t{0x2345}}) {
    first(size);
    const Layout second = again(size);
    EXPECT_EQ(name_of(second.section_plan), "replaced");
    EXPECT_EQ(second.section_address, first_.section_address);
    EXPECT_EQ(second.section_offset, first_.section_offset);
    EXPECT_EQ(segments_of("second"), segments_of("first"));
  }
}

TEST_F(Replace, OursIsTakenOutFirst) {
  for (const std::size_t size : {std::size_t{64}, std::size_t{0x2345}}) {
    inject(small_library(), folder_ / "first", 0x100);
    again(size);
    inject(small_library(), folder_ / "at once", size);
    EXPECT_TRUE(read_text(folder_ / "at once") == read_text(folder_ / "second"));
  }
}

TEST_F(Replace, OursThatWasChangedSinceIsReplacedWithItsRecord) {
  inject(small_library(), folder_ / "first", 0x100);
  ASSERT_EQ(run("strip " + (folder_ / "first").string()).output, "");
  again(0x80);
  const Image image = Image::open(folder_ / "second");
  EXPECT_EQ(image.sections().size(), Image::open(folder_ / "first").sections().size());
  EXPECT_EQ(image.find_section(".sframe")->header.sh_size, 0x80U);
}

TEST_F(Replace, SmallerShrinksTheHeadersAndZeroesTheTail) {
  first(0x200);
  const Layout second = again(0x80);
  EXPECT_EQ(second.section_address, first_.section_address);
  const Image image = Image::open(folder_ / "second");
  EXPECT_EQ(image.find_section(".sframe")->header.sh_size, 0x80U);
  EXPECT_EQ(image.find_segment(segment_type_gnu_sframe)->p_memsz, 0x80U);
  for (const std::byte b : image.slice(second.section_offset + 0x80, 0x180, "tail")) EXPECT_EQ(b, std::byte{0});
}

TEST_F(Replace, WhatWasShrunkCanGrowBack) {
  first(0x200);
  again(0x80);
  std::filesystem::rename(folder_ / "second", folder_ / "shrunk");
  drop_record(folder_ / "shrunk");
  const Layout third = again(0x200, "shrunk");
  EXPECT_EQ(name_of(third.section_plan), "replaced");
  EXPECT_EQ(third.section_address, first_.section_address);
}

TEST_F(Replace, SegmentThatReachesFurtherThanItsSectionIsRoom) {
  first(0x200);
  change(folder_ / "first", folder_ / "ld", [&](Fields& f) {
    Elf64_Shdr& sframe = f.sections[Image::open(folder_ / "first").find_section(".sframe")->index];
    sframe.sh_size = 0x180;
    sframe.sh_type = SHT_PROGBITS;
  });
  const Layout second = again(0x1f0, "ld");
  EXPECT_EQ(name_of(second.section_plan), "replaced");
  EXPECT_EQ(Image::open(folder_ / "second").find_segment(segment_type_gnu_sframe)->p_memsz, 0x1f0U);
}

TEST_F(Replace, LargerExtendsTheLastSectionOfItsSegment) {
  first(0x2000);
  const Layout second = again(0x5000);
  EXPECT_EQ(second.section_address, first_.section_address);
  EXPECT_EQ(segments_of("second"), segments_of("first"));
}

TEST_F(Replace, LargerThanTheGapGetsASegmentAndReusesItsHeader) {
  first(0x100);
  const Layout second = again(0x5000);
  EXPECT_NE(second.section_address, first_.section_address);
  EXPECT_EQ(segments_of("second"), segments_of("first") + 1);
  const Image image = Image::open(folder_ / "second");
  for (const std::byte b : image.slice(first_.section_offset, 0x100, "old bytes")) EXPECT_EQ(b, std::byte{0});
  EXPECT_EQ(image.sections().size(), Image::open(folder_ / "first").sections().size() + 1);
}

TEST_F(Replace, SecondSegmentHeaderIsDropped) {
  first(0x100);
  change(folder_ / "first", folder_ / "two",
         [](Fields& f) { f.segment(PT_GNU_STACK).p_type = segment_type_gnu_sframe; });
  again(0x100, "two");  // check_layout wants exactly one
}

TEST_F(Replace, SectionWithoutASegmentGetsOne) {
  first(0x100);
  change(folder_ / "first", folder_ / "none", [](Fields& f) { f.segment(segment_type_gnu_sframe).p_type = PT_NULL; });
  const Layout second = again(0x100, "none");
  EXPECT_EQ(name_of(second.section_plan), "replaced");
  EXPECT_EQ(second.section_address, first_.section_address);
}

TEST_F(Replace, UnloadedSectionIsReplacedByALoadedOne) {
  write_text(folder_ / "contents", "not loaded");
  ASSERT_EQ(run("objcopy --add-section .sframe=" + (folder_ / "contents").string() + " " + small_library().string() +
                " " + (folder_ / "first").string())
                .status,
            0);
  const Layout second = again(0x100);
  EXPECT_NE(name_of(second.section_plan), "replaced");
}

TEST_F(Replace, TwoSectionsAreRefused) {
  first(0x100);
  change(folder_ / "first", folder_ / "two", [&](Fields& f) {
    const Image image = Image::open(folder_ / "first");
    f.sections[image.find_section(".comment")->index].sh_name = image.find_section(".sframe")->header.sh_name;
  });
  EXPECT_NE(failure_of([&] { again(0x100, "two"); }).find("more than one .sframe"), std::string::npos);
}

}  // namespace
}  // namespace sframe_gen::elf::test
