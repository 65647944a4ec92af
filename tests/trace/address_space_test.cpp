#include "trace/walk/address_space.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sframe_gen::test {
namespace {

trace::walk::Mapping mapping(std::uint64_t begin, std::uint64_t end, std::uint64_t offset, const char* path) {
  trace::walk::Mapping made;
  made.begin = begin;
  made.end = end;
  made.file_offset = offset;
  made.path = path;
  return made;
}

/// Which file a PC is in, and at which offset.
std::string at(trace::walk::AddressSpace& space, std::uint64_t pc) {
  const trace::walk::Location* const location = space.location_of(pc);
  return location == nullptr ? "none" : location->name() + "+" + std::to_string(pc - location->bias);
}

trace::walk::OpenedFile no_file(const trace::walk::Mapping&) {
  return {nullptr, "is not there"};
}

TEST(AddressSpace, FindsMappings) {
  trace::walk::AddressSpace space({mapping(300, 400, 50, "b"), mapping(100, 200, 0, "a")}, no_file);
  EXPECT_EQ(at(space, 99), "none");
  EXPECT_EQ(at(space, 100), "a+0");
  EXPECT_EQ(at(space, 199), "a+99");
  EXPECT_EQ(at(space, 200), "none");
  EXPECT_EQ(at(space, 301), "b+51");
  EXPECT_EQ(at(space, 400), "none");
  EXPECT_EQ(space.location_of(100)->why_not(), "is not there");
}

TEST(AddressSpace, LaterMappingReplacesEarlierOne) {
  trace::walk::AddressSpace space({mapping(100, 200, 0, "a"), mapping(200, 300, 0, "b"), mapping(150, 250, 7, "c")},
                                  no_file);
  EXPECT_EQ(at(space, 149), "a+49");
  EXPECT_EQ(at(space, 150), "c+7");
  EXPECT_EQ(at(space, 249), "c+106");
  EXPECT_EQ(at(space, 250), "b+50");
  EXPECT_EQ(space.modules().find(200)->begin, 150U);
  EXPECT_EQ(space.modules().find(200)->end, 250U);
}

TEST(AddressSpace, AHoleInTheMiddleLeavesBothEnds) {
  trace::walk::AddressSpace space({mapping(100, 400, 0, "a"), mapping(200, 300, 0, "b"), mapping(220, 230, 0, "c")},
                                  no_file);
  EXPECT_EQ(at(space, 199), "a+99");
  EXPECT_EQ(at(space, 219), "b+19");
  EXPECT_EQ(at(space, 225), "c+5");
  EXPECT_EQ(at(space, 230), "b+30");
  EXPECT_EQ(at(space, 300), "a+200");
}

TEST(AddressSpace, EachChangeMakesAnotherGeneration) {
  trace::walk::AddressSpace space({mapping(100, 200, 0, "a")}, no_file);
  const auto changes = [&](const trace::walk::Mapping& another) {
    const std::uint64_t before = space.modules().generation();
    space.add(another);
    return space.modules().generation() != before;
  };
  EXPECT_TRUE(changes(mapping(200, 300, 0, "b")));
  EXPECT_TRUE(changes(mapping(99, 101, 0, "d")));
  EXPECT_TRUE(changes(mapping(150, 160, 0, "e")));
  EXPECT_FALSE(changes(mapping(160, 160, 0, "nothing")));
  EXPECT_EQ(at(space, 100), "d+1");
  EXPECT_EQ(at(space, 170), "a+70");
}

TEST(AddressSpace, TheLaterMappingHidesWhatItCovers) {
  trace::walk::AddressSpace space({mapping(100, 110, 0, "a"), mapping(120, 130, 0, "b"), mapping(90, 140, 0, "c"),
                                   mapping(5, 5, 0, "empty"), mapping(9, 3, 0, "backwards")},
                                  no_file);
  EXPECT_EQ(space.modules().find(100)->end, 140U);
  EXPECT_EQ(space.modules().find(5), nullptr);
  EXPECT_EQ(at(space, 125), "c+35");
}

}  // namespace
}  // namespace sframe_gen::test
