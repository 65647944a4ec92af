#include "elf/new_section.hpp"

#include <gtest/gtest.h>

#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

std::string bytes_in(const Image& image, const std::string& name) {
  const Section* const section = image.find_section(name);
  if (section == nullptr) return "no section " + name;
  const auto bytes = image.bytes_of(*section);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string text_of_payload(std::size_t size) {
  const auto bytes = payload(size);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(NewSection, CtfFrameNeedsNoProgramHeaderOfItsOwn) {
  const Folder folder;
  const Layout layout = inject(small_library(), folder / "ctf", 0x100, ctf_frame_section);
  const Image image = Image::open(folder / "ctf");
  EXPECT_EQ(layout.section_plan, SectionPlan::Gap);
  EXPECT_TRUE(layout.moved_sections.empty());
  EXPECT_EQ(image.segments().size(), Image::open(small_library()).segments().size());
  EXPECT_EQ(image.find_segment(segment_type_gnu_sframe), nullptr);
  EXPECT_EQ(image.find_section(".ctf_frame")->header.sh_type, std::uint32_t{SHT_PROGBITS});
  EXPECT_EQ(bytes_in(image, ".ctf_frame"), text_of_payload(0x100));
}

TEST(NewSection, CtfFrameInATailNeedsOneProgramHeader) {
  const Folder folder;
  const Layout layout = inject(small_library(), folder / "ctf", 0x12345, ctf_frame_section);
  EXPECT_EQ(layout.section_plan, SectionPlan::Tail);
  EXPECT_EQ(Image::open(folder / "ctf").segments().size(), Image::open(small_library()).segments().size() + 1);
}

TEST(NewSection, EachReplacesItsOwnKindAndLeavesTheOther) {
  const Folder folder;
  inject(small_library(), folder / "one", 0x80);
  inject(folder / "one", folder / "both", 0x100, ctf_frame_section);
  const Image both = Image::open(folder / "both");
  EXPECT_EQ(bytes_in(both, ".sframe"), text_of_payload(0x80));
  EXPECT_EQ(bytes_in(both, ".ctf_frame"), text_of_payload(0x100));

  drop_record(folder / "both");
  EXPECT_EQ(inject(folder / "both", folder / "less", 0x40, ctf_frame_section).section_plan, SectionPlan::Replace);
  EXPECT_EQ(inject(folder / "less", folder / "least", 0x20).section_plan, SectionPlan::Replace);
  const Image least = Image::open(folder / "least");
  EXPECT_EQ(bytes_in(least, ".sframe"), text_of_payload(0x20));
  EXPECT_EQ(bytes_in(least, ".ctf_frame"), text_of_payload(0x40));
  EXPECT_EQ(least.find_segment(segment_type_gnu_sframe)->p_memsz, 0x20U);
}

TEST(NewSection, SecondRunChangesNothing) {
  const Folder folder;
  for (const std::size_t size : {std::size_t{64}, std::size_t{0x2345}}) {
    inject(small_library(), folder / "one", size, ctf_frame_section);
    inject(folder / "one", folder / "two", size, ctf_frame_section);
    EXPECT_TRUE(read_text(folder / "one") == read_text(folder / "two")) << size;
  }
}

TEST(NewSection, CheckWantsTheSectionThatWasAdded) {
  const Folder folder;
  inject(small_library(), folder / "sframe", 64);
  const Image input = Image::open(small_library());
  const Image output = Image::open(folder / "sframe");
  EXPECT_NE(
      failure_of([&] { check_layout(input, output, Contents::All, ctf_frame_section); }).find("there must be a .ctf"),
      std::string::npos);
}

}  // namespace
}  // namespace sframe_gen::elf::test
