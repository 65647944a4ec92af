// Which of the plans that work is taken, and what is said of the others.

#include "rewrite/plan/plans.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sframe_gen/convert.hpp"
#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

std::vector<TriedPlan> plans_tried_for(const std::filesystem::path& file, std::size_t size) {
  std::vector<TriedPlan> tried;
  failure_of(
      [&] { rewrite::plan_layout(Image::open(file), size, sframe_section, rewrite::HeaderMoves::Never, &tried); });
  return tried;
}

const TriedPlan* find_taken(const std::vector<TriedPlan>& tried) {
  const auto found = std::find_if(tried.begin(), tried.end(), [](const TriedPlan& t) { return t.taken; });
  return found == tried.end() ? nullptr : &*found;
}

TEST(Plans, AreOrderedByTheirLeastCost) {
  const Image image = Image::open(small_library());
  const auto plans = rewrite::plans_for(image, rewrite::find_existing_sframe(image), rewrite::HeaderMoves::Never);
  EXPECT_GT(plans.size(), 5U);
  EXPECT_TRUE(std::is_sorted(plans.begin(), plans.end(),
                             [](const LayoutPlan& a, const LayoutPlan& b) { return least_cost(a) < least_cost(b); }));
}

TEST(Plans, WorseCostsOutweighAllLesserOnes) {
  rewrite::Cost cheap;
  cheap.tables = true;
  cheap.drops_note = true;
  cheap.section = SectionPlan::Tail;
  cheap.growth = 1 << 30;
  rewrite::Cost dear;
  dear.build_id = true;
  EXPECT_LT(cheap, dear);
}

TEST(Plans, EachIsTriedAndOneIsTaken) {
  for (const std::size_t size : {std::size_t{64}, std::size_t{0x2345}}) {
    const auto tried = plans_tried_for(small_library(), size);
    EXPECT_EQ(std::count_if(tried.begin(), tried.end(), [](const TriedPlan& t) { return t.taken; }), 1);
    for (const TriedPlan& plan : tried) EXPECT_NE(plan.possible, !plan.obstacle.empty()) << name_of(plan);
    ASSERT_NE(find_taken(tried), nullptr);
    EXPECT_TRUE(find_taken(tried)->possible);
  }
}

// mold gives PT_GNU_RELRO the file offset 0 where its first bytes are in no file: those at the front are not its own.
TEST(Plans, NotesMoveUnderARelroThatNamesOtherBytes) {
  const Folder folder;
  change(small_library(), folder / "library", [](Fields& f) {
    f.segment(PT_GNU_RELRO).p_offset = 0;
    f.segment(PT_GNU_RELRO).p_filesz = 0x400;
  });
  const rewrite::Layout expected = inject(small_library(), folder / "expected", 64);
  EXPECT_GT(expected.table_plan, TablePlan::Free);
  EXPECT_EQ(inject(folder / "library", folder / "output", 64).moved_sections, expected.moved_sections);
}

// Without `tried` the search ends as soon as no plan left can be cheaper: that must not change the choice.
TEST(Plans, AreTheSameWhetherAllAreTriedOrNot) {
  const Image image = Image::open(small_library());
  for (std::size_t size = 8; size < 0x3000; size = size * 2 + 8) {
    std::vector<TriedPlan> tried;
    const rewrite::Layout with = rewrite::plan_layout(image, size, sframe_section, rewrite::HeaderMoves::Never, &tried);
    const rewrite::Layout without = rewrite::plan_layout(image, size);
    EXPECT_EQ(with.section_address, without.section_address);
    EXPECT_EQ(with.file_size, without.file_size);
    EXPECT_EQ(with.moved_sections, without.moved_sections);
  }
}

TEST(Plans, AreToldWhereNoneWorks) {
  const Folder folder;
  std::filesystem::copy_file(small_library(), folder / "ld.so.1");
  const auto tried = plans_tried_for(folder / "ld.so.1", 0x12345);
  EXPECT_FALSE(tried.empty());
  for (const TriedPlan& plan : tried) {
    EXPECT_FALSE(plan.possible) << name_of(plan);
    EXPECT_NE(name_of(plan.section_plan), "S2");
  }
}

// PT_GNU_PROPERTY says what one PT_NOTE says: without that there is room for both headers, and the build-id stays.
TEST(Plans, GiveARepeatedNoteAwayBeforeTheBuildIdLeavesTheFirstPage) {
  const Folder folder;
  write_text(folder / "a.c", "int main(void) { return 0; }\n");
  ASSERT_EQ(run("gcc -pie -fuse-ld=bfd -Wl,--build-id -o " + (folder / "a").string() + " " + (folder / "a.c").string())
                .status,
            0);
  const rewrite::Layout layout = inject(folder / "a", folder / "b", 0x2345);
  EXPECT_EQ(name_of(layout.section_plan), "S2");
  EXPECT_FALSE(layout.build_id_left_first_page);
  EXPECT_LT(Image::open(folder / "b").find_section(".note.gnu.build-id")->header.sh_offset, 0x1000U);
  EXPECT_EQ(run((folder / "b").string()).status, 0);
}

}  // namespace
}  // namespace sframe_gen::elf::test
