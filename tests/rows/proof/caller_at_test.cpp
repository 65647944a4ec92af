// Where the caller is, by the few instructions that decide it.

#include "rows/proof/caller_at.hpp"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>

#include "elf/symbol_names.hpp"
#include "rows/proof/assembled.hpp"

namespace sframe_gen::rows::proof {
namespace {

/// "rsp+24 (sp 32, fp 8)": where the return address is, and from there on what the caller's registers are or where.
std::string text_of(const std::optional<CallerPlace>& caller) {
  if (!caller) return "none";
  const std::string fp = caller->frame_pointer            ? std::to_string(*caller->frame_pointer)
                         : caller->frame_pointer_is_known ? "rbp"
                                                          : "unknown";
  return (caller->base == rsp ? "rsp+" : "rbp+") + std::to_string(caller->return_address) + " (sp " +
         std::to_string(caller->stack_pointer) + ", fp " + fp + ")";
}

class CallerAt : public testing::Test {
 protected:
  std::uint64_t address_of(const std::string& label) const { return labels_.at(label); }

  /// From the function's begin: its name and an underline begin that of the label.
  WayIn way_to(const std::string& label) const {
    const elf::SymbolNames names(assembled_.image());
    for (std::size_t end = label.size(); end != std::string::npos && end != 0; end = label.rfind('_', end - 1)) {
      const auto function = names.find(label.substr(0, end));
      // Labels have no size.
      if (function && function->end - function->begin > 1)
        return way_in(assembled_.image(), decoder_, {function->begin, function->end}, address_of(label));
    }
    throw std::invalid_argument(label);
  }
  std::string by_entry(const std::string& label) const { return text_of(way_to(label).caller); }
  std::string by_return(const std::string& label) const {
    return text_of(caller_by_return(assembled_.image(), decoder_, address_of(label)));
  }

  test::Assembled assembled_{"callers"};
  std::map<std::string, std::uint64_t> labels_ = assembled_.symbols();
  Decoder decoder_{"callers"};
};

TEST_F(CallerAt, IsKnownWhereEveryWayFromTheEntryHasOneDepth) {
  for (const auto& [label, expected] : std::map<std::string, std::string>{
           {"leaf", "rsp+0 (sp 8, fp rbp)"},
           {"leaf_body", "rsp+0 (sp 8, fp rbp)"},
           {"leaf_end", "rsp+0 (sp 8, fp rbp)"},
           {"pushes_one", "rsp+8 (sp 16, fp rbp)"},
           {"pushes_two", "rsp+16 (sp 24, fp 0)"},
           {"pushes_meet", "rsp+16 (sp 24, fp 0)"},
           {"pushes_differ", "none"},
           {"calls_before", "rsp+40 (sp 48, fp 32)"},
           {"calls_after", "rbp+8 (sp 16, fp 0)"},
           {"calls_restored", "rsp+8 (sp 16, fp 0)"},
           {"calls_left", "rsp+0 (sp 8, fp rbp)"},
           {"dead_code_body", "rsp+0 (sp 8, fp rbp)"},
           {"overwrites_before", "rsp+0 (sp 8, fp rbp)"},
           {"overwrites_argument", "rsp+0 (sp 8, fp rbp)"},
           {"overwrites_after", "none"},
       })
    EXPECT_EQ(by_entry(label), expected) << label;
}

TEST_F(CallerAt, IsNotKnownWhereCodeMayComeBackWithAnotherDepth) {
  EXPECT_EQ(by_entry("comes_back_body"), "none");
  EXPECT_EQ(by_entry("by_table_body"), "none");
  EXPECT_EQ(by_entry("by_object_body"), "rsp+0 (sp 8, fp rbp)") << "the function has no address to compute one from";
}

TEST_F(CallerAt, IsNotWhereTheFramePointerLeadsThatIsTheCallers) {
  EXPECT_TRUE(way_to("leaf_body").has_callers_frame_pointer);
  EXPECT_TRUE(way_to("calls_left").has_callers_frame_pointer);
  EXPECT_FALSE(way_to("calls_after").has_callers_frame_pointer);
}

TEST_F(CallerAt, IsNotKnownWhereAByteIsNotUnderstood) {
  EXPECT_EQ(by_entry("not_understood_body"), "none");
}

TEST_F(CallerAt, IsWhereStraightCodeReturnsTo) {
  for (const auto& [label, expected] : std::map<std::string, std::string>{
           {"leaves_way", "rbp+8 (sp 32, fp 0)"},
           {"leaves_leave", "rbp+8 (sp 32, fp 0)"},
           {"leaves_ret", "rsp+0 (sp 24, fp rbp)"},
           {"pops_way", "rsp+16 (sp 24, fp 8)"},
           {"pops_ret", "rsp+0 (sp 8, fp rbp)"},
           {"pops_none", "none"},
           {"pops_stores", "none"},
           {"pops_calls", "none"},
           {"pops_exchanges", "none"},
           {"leaf_end", "none"},
       })
    EXPECT_EQ(by_return(label), expected) << label;
}

TEST(BeginOfProgram, IsTheStraightCodeToTheFirstCall) {
  const test::Assembled program("begin_of_program", "-e begin__entry_point");
  const Decoder decoder("begin_of_program");
  const std::uint64_t entry = program.image().header().e_entry, first_call = 9, call_size = 5;
  const auto is_begin = [&](std::uint64_t offset) {
    return is_before_first_call(program.image(), decoder, entry + offset);
  };
  EXPECT_TRUE(is_begin(0));
  EXPECT_TRUE(is_begin(first_call));
  EXPECT_TRUE(is_begin(first_call + call_size - 1)) << "before its return address";
  EXPECT_FALSE(is_begin(first_call + call_size));
  EXPECT_FALSE(is_begin(1)) << "inside of an instruction";
  EXPECT_FALSE(is_before_first_call(program.image(), decoder, entry - 1));
}

}  // namespace
}  // namespace sframe_gen::rows::proof
