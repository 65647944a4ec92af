#include "rows/proof/checker/checker.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "elf/symbol_names.hpp"
#include "rows/proof/assembled.hpp"
#include "rows/proof/checker/steps.hpp"

namespace sframe_gen::checker {
namespace {

/// What the engine claims of a file.
std::vector<Function> claims_of(const elf::Image& image) {
  std::vector<Function> functions;
  list_proved(image, [&](const Function& function) { functions.push_back(function); });
  return functions;
}

/// The faults, one a line.
std::string faults_of(const elf::Image& image, const std::vector<Function>& functions, Counts* counts = nullptr) {
  Checker checker(image);
  for (const Function& function : functions) checker.check(function);
  checker.finish();
  std::string text;
  for (const Fault& fault : checker.faults()) text += fault.fact + " " + fault.reason + "\n";
  if (counts != nullptr) *counts = checker.counts();
  return text;
}

/// A listing with one lie in it.
class FalseClaims : public testing::Test {
 protected:
  static const elf::Image& image() {
    static const rows::proof::test::Assembled assembled("checked");
    return assembled.image();
  }

  /// Faults when the function with this name is listed otherwise.
  static std::string faults(const std::string& name, const std::function<void(Function&)>& falsify) {
    std::vector<Function> functions = claims_of(image());
    const auto named = elf::SymbolNames(image()).find(name);
    const auto function = std::ranges::find(functions, named.value().begin, &Function::start);
    if (function == functions.end()) throw std::runtime_error(name + " is not proved");
    for (std::size_t i = 0; i < function->steps.size(); ++i) {  // each step gets facts of its own
      function->facts.push_back(Facts(function->facts[function->steps[i].facts]));
      function->steps[i].facts = function->facts.size() - 1;
    }
    falsify(*function);
    return faults_of(image(), functions);
  }

  static Facts& facts(Function& function, std::size_t step) { return function.facts[function.steps[step].facts]; }
};

TEST_F(FalseClaims, TrueOnesPass) {
  EXPECT_EQ(faults("frame", [](Function&) {}), "");
}

TEST_F(FalseClaims, WrongOffsetFromTheCfa) {
  const auto lie = [](Function& function) { facts(function, 4).registers[rsp].place.offset -= 8; };
  EXPECT_NE(faults("frame", lie).find("4=c-56 does not follow"), std::string::npos) << faults("frame", lie);
}

TEST_F(FalseClaims, WrongOffsetEverywhereAfterAnInstruction) {
  const auto lie = [](Function& function) {
    for (std::size_t i = 2; i < function.steps.size() - 1; ++i) facts(function, i).registers[rsp].place.offset += 8;
  };
  EXPECT_NE(faults("frame", lie), "");
}

TEST_F(FalseClaims, FramePointerThatIsNotKept) {
  const auto lie = [](Function& function) { facts(function, 3).registers[rbp] = entry_of(rbp); };
  EXPECT_NE(faults("frame", lie).find("5=e5 does not follow"), std::string::npos) << faults("frame", lie);
}

TEST_F(FalseClaims, SlotThatHoldsSomethingElse) {
  const auto lie = [](Function& function) { facts(function, 8).slots.push_back({{0, -40}, entry_of(12)}); };
  EXPECT_NE(faults("frame", lie).find("[c-40=e12 does not follow"), std::string::npos) << faults("frame", lie);
}

TEST_F(FalseClaims, RegisterThatACallDoesNotKeep) {
  const auto lie = [](Function& function) {
    for (std::size_t i = 0; i < 7; ++i) facts(function, i).registers[6] = entry_of(6);
  };
  EXPECT_EQ(faults("frame", lie), "");
  const auto over_the_call = [&](Function& function) {
    lie(function);
    facts(function, 7).registers[6] = entry_of(6);
  };
  EXPECT_NE(faults("frame", over_the_call).find("6=e6 does not follow"), std::string::npos);
}

TEST_F(FalseClaims, ReturnAddressThatIsNotInPlace) {
  const auto lie = [](Function& function) {
    for (std::size_t i = 0; i < function.steps.size(); ++i) facts(function, i).slots = {{{0, -8}, entry_of(rbp)}};
  };
  EXPECT_NE(faults("callee", lie).find("[c-8=e5 does not follow"), std::string::npos);
  EXPECT_NE(faults("callee", lie).find("it returns without the return address in place"), std::string::npos);
}

TEST_F(FalseClaims, StepsThatAreMissing) {
  const std::size_t count = 11;
  for (std::size_t i = 0; i < count; ++i) {
    const auto lie = [&](Function& function) {
      ASSERT_EQ(function.steps.size(), count);
      function.steps.erase(function.steps.begin() + static_cast<std::ptrdiff_t>(i));
    };
    EXPECT_NE(faults("frame", lie).find("not listed"), std::string::npos) << i;
  }
}

TEST_F(FalseClaims, InstructionsThatOverlap) {
  const auto lie = [](Function& function) {
    Step inside = function.steps[4];
    ++inside.pc;
    function.steps.insert(function.steps.begin() + 5, inside);
  };
  EXPECT_NE(faults("frame", lie).find("it overlaps another instruction"), std::string::npos);
}

TEST_F(FalseClaims, AlignedPlaceThatMayHitASlot) {
  const auto lie = [](Function& function) {
    for (std::size_t i = 8; i < 10; ++i) facts(function, i).slots.push_back({{0, -24}, entry_of(rbp)});
  };
  EXPECT_NE(faults("aligned", lie).find("[c-24=e5 does not follow"), std::string::npos);
  const auto other = [](Function& function) { facts(function, 11).registers[rsp].place.offset += 32; };
  EXPECT_NE(faults("aligned", other), "");
}

TEST_F(FalseClaims, LoopOfProbesThatEndsElsewhere) {
  EXPECT_EQ(faults("probes", [](Function&) {}), "");
  const auto lie = [](Function& function) { facts(function, 5).registers[rsp].place.offset += 8; };
  EXPECT_NE(faults("probes", lie).find("does not follow"), std::string::npos);
  const auto in_the_loop = [](Function& function) { facts(function, 2).registers[rsp] = at({0, -0x1008}); };
  EXPECT_NE(faults("probes", in_the_loop).find("does not follow"), std::string::npos);
}

Step& jump_of(Function& function) {
  return *std::ranges::find_if(function.steps, [](const Step& step) { return !step.targets.empty(); });
}

TEST_F(FalseClaims, TablesThatLeadElsewhere) {
  EXPECT_EQ(faults("table", [](Function&) {}), "");
  const auto fewer = [](Function& function) { jump_of(function).targets.pop_back(); };
  EXPECT_NE(faults("table", fewer).find("its table leads to"), std::string::npos);
  const auto more = [](Function& function) { jump_of(function).targets.push_back(function.steps[1].pc); };
  EXPECT_NE(faults("table", more).find("its table does not lead to"), std::string::npos);
  const auto other = [](Function& function) { jump_of(function).table->address += 4; };
  EXPECT_NE(faults("table", other).find("nothing takes the table's address"), std::string::npos);
  const auto none = [](Function& function) { jump_of(function).targets.clear(); };
  EXPECT_NE(faults("table", none).find("it jumps to an unknown place with another SP"), std::string::npos);
}

TEST_F(FalseClaims, JumpToAnotherFunctionWithAFrame) {
  const auto lie = [](Function& function) {
    function.steps.erase(function.steps.begin() + 1, function.steps.end() - 1);
    facts(function, 1).registers[rsp].place.offset -= 8;
  };
  EXPECT_NE(faults("table", lie).find("it jumps to another function with another SP"), std::string::npos);
}

TEST(Checker, FindsNothingToObjectToInWhatIsProved) {
  for (const char* name : {"checked", "conditions", "contradictions"}) {
    const rows::proof::test::Assembled assembled(name);
    Counts counts;
    EXPECT_EQ(faults_of(assembled.image(), claims_of(assembled.image()), &counts), "") << name;
    EXPECT_GT(counts.functions, 4U) << name;
  }
}

TEST(Checker, FindsNothingToObjectToInBash) {
  const elf::Image image = elf::Image::open("/bin/bash");
  Checker checker(image);
  list_proved(image, [&](const Function& function) { checker.check(function); });
  checker.finish();
  for (const Fault& fault : checker.faults())
    ADD_FAILURE() << std::hex << fault.pc << ": " << fault.fact << ' ' << fault.reason;
  EXPECT_GT(checker.counts().functions, 1500U);
  EXPECT_LT(checker.counts().unknown_instructions, 100U);
}

TEST(Capstone, KnowsTheSizesOfVectorInstructions) {
  const std::vector<std::vector<int>> instructions{
      {0x62, 0xf2, 0x1d, 0x40, 0x04, 0xe4},              // vpmaddubsw %zmm4,%zmm28,%zmm4
      {0x62, 0xf3, 0x6d, 0x48, 0x3a, 0x14, 0x16, 0x01},  // vinserti32x8 $0x1,(%rsi,%rdx,1),%zmm2,%zmm2
      {0x62, 0xc2, 0x7d, 0x48, 0x58, 0x71, 0xee},        // vpbroadcastd -0x48(%r9),%zmm22
      {0x62, 0xf1, 0x7f, 0x4a, 0x6f, 0x1d, 1, 2, 3, 4},  // vmovdqu8 0x4030201(%rip),%zmm3{%k2}
      {0x62, 0xf1, 0x65, 0x48, 0x71, 0xd3, 0x04},        // vpsrlw $0x4,%zmm3,%zmm3
      {0xc4, 0xe3, 0x7d, 0x39, 0xc1, 0x01},              // vextracti128 $0x1,%ymm0,%xmm1
      {0xc4, 0xe2, 0x7d, 0x59, 0x84, 0x24, 1, 2, 3, 4},  // vpbroadcastq 0x4030201(%rsp),%ymm0
      {0xc5, 0xfd, 0x6f, 0x04, 0x25, 1, 2, 3, 4},        // vmovdqa 0x4030201,%ymm0
      {0xc5, 0xfd, 0x70, 0xc1, 0xd8}};                   // vpshufd $0xd8,%ymm1,%ymm0
  for (const auto& numbers : instructions) {
    std::vector<std::byte> bytes;
    for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
    EXPECT_EQ(size_of_vector_instruction(std::span(bytes).first(bytes.size() - 1)), 0U);
    bytes.resize(15, std::byte{0x90});
    EXPECT_EQ(size_of_vector_instruction(bytes), numbers.size());
  }
  const std::array other{std::byte{0xc3}, std::byte{0x62}, std::byte{0xc5}};
  EXPECT_EQ(size_of_vector_instruction(other), 0U);
}

TEST(Capstone, DoesNotTakeAComparisonForAWrite) {
  Capstone capstone;
  for (const auto& numbers : std::vector<std::vector<int>>{{0xa8, 0x01}, {0xa9, 1, 0, 0, 0}, {0x3c, 0x01}}) {
    std::vector<std::byte> bytes;
    for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
    ASSERT_TRUE(capstone.read(bytes, 0));
    EXPECT_EQ(capstone.written(), 0U) << capstone.mnemonic();
  }
}

/// A function of instructions that Capstone does not know goes on in the next one.
TEST_F(FalseClaims, FallOverInstructionsThatAreUnknown) {
  EXPECT_EQ(faults("falls", [](Function&) {}), "");
  const auto lie = [](Function& function) { facts(function, 1).registers[rsp].place.offset -= 8; };
  EXPECT_NE(faults("falls", lie).find("does not follow"), std::string::npos);
}

TEST(Listing, IsReadAsItWasWritten) {
  const rows::proof::test::Assembled assembled("checked");
  for (const Function& function : claims_of(assembled.image())) {
    const std::string text = text_of(function);
    std::istringstream in(text);
    std::string header;
    Function read;
    ASSERT_TRUE(read_function(in, header, read));
    EXPECT_EQ(text_of(read), text);
    EXPECT_FALSE(read_function(in, header, read));
  }
}

TEST(Listing, RejectsOtherText) {
  for (const char* text : {"X", "F 10", "F 10 20\nS 10 4=x", "F 10 20\nS 10 99=r", "F 10 20\nS 10 ="}) {
    std::istringstream in(text);
    std::string header;
    Function function;
    EXPECT_ANY_THROW(read_function(in, header, function)) << text;
  }
}

}  // namespace
}  // namespace sframe_gen::checker
