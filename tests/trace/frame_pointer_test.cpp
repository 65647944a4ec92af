#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/endian.hpp"
#include "support/text.hpp"
#include "trace/walk/code_patterns.hpp"
#include "trace/walk/stack.hpp"
#include "trace/walk/stack_end.hpp"

namespace sframe_gen::test {
namespace {

using trace::walk::FramePointerFault;
using trace::walk::FramePointers;
using unwind::Stop;

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t made_up_stack = 0x7fff'0000'0000, made_up_code = 0x40'0000;

/// Pages of memory, whose words are 0 unless they are set.
class MadeUpMemory {
 public:
  MadeUpMemory(std::uint64_t begin, std::uint64_t end) : begin_(begin), end_(end) {}

  void set(std::uint64_t address, std::uint64_t value) { words_[address] = value; }
  void add_frame(std::uint64_t record, std::uint64_t caller_record, std::uint64_t return_address) {
    set(record, caller_record);
    set(record + 8, return_address);
  }
  void take_out(std::uint64_t one_page) { gap_ = one_page; }

  static bool read(void* context, std::uint64_t address, void* bytes) {
    const auto& self = *static_cast<const MadeUpMemory*>(context);
    if (address < self.begin_ || address + 8 > self.end_ || address / page * page == self.gap_) return false;
    const auto found = self.words_.find(address);
    const std::uint64_t value = found != self.words_.end() ? found->second : 0;
    std::memcpy(bytes, &value, sizeof value);
    return true;
  }

 private:
  std::uint64_t begin_, end_;
  std::optional<std::uint64_t> gap_;
  std::map<std::uint64_t, std::uint64_t> words_;
};

trace::walk::AddressSpace made_up_program(const char* path) {
  trace::walk::Mapping mapping;
  mapping.begin = made_up_code;
  mapping.end = made_up_code + page;
  mapping.path = path;
  return {{mapping}, [](const trace::walk::Mapping&) { return trace::walk::OpenedFile{nullptr, "not a file"}; }};
}

unwind::Registers registers_at(const sframe::AbiTraits& abi, std::uint64_t pc, std::uint64_t sp, std::uint64_t fp) {
  unwind::Registers registers;
  registers.pc = pc;
  registers.set(abi.stack_pointer, sp);
  registers.set(abi.frame_pointer, fp);
  return registers;
}

class FramePointerSteps : public testing::Test {
 protected:
  /// What a step from the frame whose record is at `record` comes to.
  std::string step(std::uint64_t record) {
    registers_ = registers_at(sframe::amd64_traits, made_up_code + 5, made_up_stack, record);
    FramePointerFault fault = FramePointerFault::None;
    const Stop stop = trace::walk::FramePointerStep(sframe::amd64_traits)
                          .step(space_, MadeUpMemory::read, &memory_, registers_, fault);
    if (fault != FramePointerFault::None) return text_of(fault, false);
    return stop == Stop::Stepped ? hex(registers_.pc) : unwind::text_of(stop);
  }

  static constexpr std::uint64_t size_ = std::uint64_t{4} << 20U;
  MadeUpMemory memory_{made_up_stack, made_up_stack + size_};
  trace::walk::AddressSpace space_ = made_up_program("//anon");
  unwind::Registers registers_;
};

constexpr const char* below = "no row, and the frame pointer is below the stack pointer";
constexpr const char* outside = "no row, and the frame pointer is outside the stack";
constexpr const char* not_rising = "no row, and the caller's frame pointer is not above";
constexpr const char* other_return = "no row, and the frame pointer may leave out a caller";
constexpr const char* no_code = "no row, and the frame pointer's return address is not in code";

TEST_F(FramePointerSteps, LeadToTheCaller) {
  memory_.add_frame(made_up_stack + 32, made_up_stack + 96, made_up_code + 0x100);
  EXPECT_EQ(step(made_up_stack + 32), "0x400100");
  EXPECT_EQ(registers_.pc_is_exact, 0U);
  EXPECT_EQ(registers_.values[sframe::amd64_traits.stack_pointer], made_up_stack + 48);
  EXPECT_EQ(registers_.values[sframe::amd64_traits.frame_pointer], made_up_stack + 96);
  EXPECT_EQ(registers_.known, 1U << sframe::amd64_traits.stack_pointer | 1U << sframe::amd64_traits.frame_pointer);
}

TEST_F(FramePointerSteps, HaveToRise) {
  memory_.add_frame(made_up_stack, 0, made_up_code + 1);
  EXPECT_EQ(step(made_up_stack), "0x400001");
  EXPECT_EQ(step(made_up_stack - 8), below);
  EXPECT_EQ(step(0), below);
}

TEST_F(FramePointerSteps, StayInsideTheStack) {
  constexpr std::uint64_t most = std::uint64_t{1} << 20U;
  for (const std::uint64_t record : {made_up_stack + 3 * page, made_up_stack + most, made_up_stack + most + 16})
    memory_.add_frame(record, 0, made_up_code + 1);
  EXPECT_EQ(step(made_up_stack + 3 * page), "0x400001");
  EXPECT_EQ(step(made_up_stack + most), "0x400001");
  EXPECT_EQ(step(made_up_stack + most + 16), outside);
  EXPECT_EQ(step(~std::uint64_t{0} - 8), outside);
  EXPECT_EQ(step(made_up_stack + size_ - 8), outside);
  memory_.take_out(made_up_stack + 2 * page);
  EXPECT_EQ(step(made_up_stack + 3 * page), outside) << "there is another memory above the gap";
}

TEST_F(FramePointerSteps, LandInCode) {
  constexpr std::uint64_t record = made_up_stack + 32;
  for (const auto& [address, expected] :
       std::map<std::uint64_t, std::string>{{made_up_code, no_code},  // the call would be before it
                                            {made_up_code + page, "0x401000"},
                                            {made_up_code + page + 1, no_code},
                                            {made_up_stack, no_code},
                                            {0, unwind::text_of(Stop::Outermost)}}) {
    memory_.add_frame(record, made_up_stack + 96, address);
    EXPECT_EQ(step(record), expected);
  }
}

TEST(FramePointer, IsNotThereWhereItIsUnknownOrTheMachineHasNone) {
  unwind::Registers registers;
  const trace::walk::FramePointerStep amd64(sframe::amd64_traits), s390x(sframe::s390x_traits);
  EXPECT_FALSE(amd64.is_possible(registers));
  for (std::uint32_t number = 0; number < unwind::Registers::count; ++number) registers.set(number, made_up_stack);
  EXPECT_TRUE(amd64.is_possible(registers));
  EXPECT_FALSE(s390x.is_possible(registers));
}

TEST(FramePointer, LeavesTheStackPointerUnknownOnAArch64AndStripsSignatures) {
  const sframe::AbiTraits& abi = sframe::aarch64_traits;
  MadeUpMemory memory(made_up_stack, made_up_stack + page);
  memory.add_frame(made_up_stack + 32, made_up_stack + 96, 0x0055'0000'0000'0000 | (made_up_code + 0x100));
  trace::walk::AddressSpace space = made_up_program("");
  unwind::Registers registers = registers_at(abi, made_up_code, made_up_stack, made_up_stack + 32);
  FramePointerFault fault = FramePointerFault::None;
  EXPECT_EQ(trace::walk::FramePointerStep(abi).step(space, MadeUpMemory::read, &memory, registers, fault),
            Stop::Stepped);
  EXPECT_EQ(registers.pc, made_up_code + 0x100);
  EXPECT_FALSE(registers.knows(abi.stack_pointer));
  EXPECT_EQ(registers.values[abi.stack_pointer], made_up_stack + 48) << "the next frame is not below";
}

class FramePointerWalk : public testing::TestWithParam<FramePointers> {
 protected:
  FramePointerWalk() {
    memory_.add_frame(made_up_stack + 32, made_up_stack + 96, made_up_code + 0x100);
    memory_.add_frame(made_up_stack + 96, made_up_stack + 8, made_up_code + 0x200);
  }

  trace::walk::Stack walk(trace::walk::AddressSpace& space, std::uint64_t pc) {
    trace::walk::Walker walker(9, false, GetParam(), sframe::Abi::Amd64);
    return walker.walk(space, registers_at(sframe::amd64_traits, pc, made_up_stack, made_up_stack + 32),
                       MadeUpMemory::read, &memory_);
  }
  static std::string reason_of(const trace::walk::Stack& stack) { return trace::walk::cut_of(stack)->reason; }

  MadeUpMemory memory_{made_up_stack, made_up_stack + page};
};

INSTANTIATE_TEST_SUITE_P(All, FramePointerWalk,
                         testing::Values(FramePointers::Auto, FramePointers::Always, FramePointers::Never));

TEST_P(FramePointerWalk, GoesThroughCodeOfNoFile) {
  for (const char* path : {"", "//anon", "[heap]", "/memfd:doublemapper (deleted)"}) {
    trace::walk::AddressSpace space = made_up_program(path);
    const trace::walk::Stack stack = walk(space, made_up_code + 7);
    if (GetParam() == FramePointers::Never) {
      EXPECT_EQ(stack.frames.size(), 1U);
      EXPECT_EQ(reason_of(stack), "not a file");
      continue;
    }
    // The frame pointer of the third frame is below that of the second.
    const bool is_always = GetParam() == FramePointers::Always;
    ASSERT_EQ(stack.frames.size(), is_always ? 3U : 2U) << path;
    EXPECT_FALSE(stack.frames[0].by_frame_pointer);
    EXPECT_TRUE(stack.frames[1].by_frame_pointer && stack.frames.back().by_frame_pointer);
    EXPECT_EQ(stack.frames[1].pc, made_up_code + 0x100);
    EXPECT_EQ(reason_of(stack), is_always ? below : not_rising);
    memory_.set(made_up_stack + 96, made_up_stack + 160);
    EXPECT_TRUE(walk(space, made_up_code + 7).is_whole());
    memory_.set(made_up_stack + 96, 0);
    EXPECT_EQ(walk(space, made_up_code + 7).frames.size(), 3U) << "the last function has no frame pointer";
    memory_.set(made_up_stack + 96, made_up_stack + 8);
  }
}

TEST_P(FramePointerWalk, DoesNotLeaveOutACallerInCodeOfNoFile) {
  if (GetParam() == FramePointers::Never) return;
  constexpr std::uint64_t record = made_up_stack + 32, other = made_up_code + 0x300;
  const std::string refused = GetParam() == FramePointers::Auto ? other_return : "whole";
  trace::walk::AddressSpace space = made_up_program("//anon");
  const auto end = [&] {
    const trace::walk::Stack stack = walk(space, made_up_code + 7);
    return stack.is_whole() ? "whole" : reason_of(stack);
  };
  memory_.set(made_up_stack + 96, made_up_stack + 160);
  EXPECT_EQ(end(), "whole");
  memory_.set(made_up_stack + 8, other);
  EXPECT_EQ(end(), "whole") << "one that is left from another call";
  memory_.set(made_up_stack, record);
  EXPECT_EQ(end(), refused) << "the frame pointer was saved";
  memory_.set(made_up_stack, other);
  EXPECT_EQ(end(), refused) << "at the first instruction";
  memory_.set(made_up_stack, made_up_code);
  EXPECT_EQ(end(), "whole") << "no return address";
}

TEST_P(FramePointerWalk, TakesWhatIsLeftOfCallsForThatInAProgramThatKeepsFramePointers) {
  if (GetParam() != FramePointers::Auto) return;
  constexpr std::uint64_t record = made_up_stack + 32, other = made_up_code + 0x300;
  trace::walk::AddressSpace space = made_up_program("//anon");
  const auto end = [&](std::uint64_t frame_pointer) {
    trace::walk::Walker walker(9, false, GetParam(), sframe::Abi::Amd64);
    const trace::walk::Stack stack =
        walker.walk(space, registers_at(sframe::amd64_traits, made_up_code + 7, made_up_stack, frame_pointer),
                    MadeUpMemory::read, &memory_);
    return stack.is_whole() ? "whole" : reason_of(stack);
  };
  memory_.set(made_up_stack + 96, made_up_stack + 160);
  memory_.set(made_up_stack + 64, other);
  for (unsigned i = 0; i < trace::walk::AddressSpace::enough_frame_pointers / 2; ++i) {
    memory_.set(made_up_stack + 56, made_up_stack + 96);
    EXPECT_EQ(end(record), other_return) << i;
    memory_.set(made_up_stack + 56, 0);
    EXPECT_EQ(end(record), "whole") << i;
  }
  memory_.set(made_up_stack + 56, made_up_stack + 96);
  EXPECT_EQ(end(record), "whole");
  memory_.set(made_up_stack, other);
  EXPECT_EQ(end(record), other_return) << "at the first instruction";
  memory_.set(made_up_stack, record);
  memory_.set(made_up_stack + 8, other);
  EXPECT_EQ(end(record), other_return) << "at the second instruction";
  memory_.set(made_up_stack, 0);
  memory_.set(made_up_stack + 16, record);
  memory_.set(made_up_stack + 24, other);
  EXPECT_EQ(end(record), other_return) << "in room for a frame, before the frame pointer is set";
  memory_.set(made_up_stack + 16, 0);
  EXPECT_EQ(end(record), "whole");
  EXPECT_EQ(end(made_up_stack - 8), below);
  EXPECT_EQ(end(record), other_return) << "the register is not always a frame pointer";
}

TEST_P(FramePointerWalk, DoesNotLeaveOutACallerWhoseReturnAddressIsInARegister) {
  if (GetParam() != FramePointers::Auto) return;
  constexpr std::uint32_t rax = 0, r10 = 10;
  constexpr std::uint64_t other = made_up_code + 0x301, begin = made_up_code + 0x300;
  memory_.set(made_up_stack + 96, made_up_stack + 160);
  trace::walk::AddressSpace space = made_up_program("//anon");
  const auto end = [&](std::uint32_t number, std::uint64_t value) {
    unwind::Registers registers =
        registers_at(sframe::amd64_traits, made_up_code + 7, made_up_stack, made_up_stack + 32);
    registers.set(number, value);
    trace::walk::Walker walker(9, false, GetParam(), sframe::Abi::Amd64);
    const trace::walk::Stack stack = walker.walk(space, registers, MadeUpMemory::read, &memory_);
    return stack.is_whole() ? "whole" : reason_of(stack);
  };
  for (const std::uint32_t number : {2U, 4U, 9U, r10}) EXPECT_EQ(end(number, other), other_return) << number;
  EXPECT_EQ(end(r10, begin), "whole") << "a function";
  EXPECT_EQ(end(r10, made_up_stack), "whole") << "no code";
  EXPECT_EQ(end(rax, other), "whole") << "another register";
}

TEST_P(FramePointerWalk, GoesThroughOtherCodeOnlyIfItIsAskedTo) {
  for (const char* path : {"/usr/bin/gone", "[vdso]"}) {
    trace::walk::AddressSpace space = made_up_program(path);
    const bool is_asked = GetParam() == FramePointers::Always;
    EXPECT_EQ(walk(space, made_up_code + 7).frames.size(), is_asked ? 3U : 1U) << path;
    EXPECT_EQ(walk(space, 0).frames.size(), is_asked ? 3U : 1U) << "a PC in no module";
  }
}

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(std::byte(value));
  return bytes;
}

TEST(FramePointerSetup, OfAmd64IsTheLastOneWithNoEndOfAFunctionAfterIt) {
  const auto found = [](std::initializer_list<unsigned> code, std::uint64_t address = 0) {
    const auto setup = trace::walk::find_frame_pointer_setup(sframe::Abi::Amd64, bytes_of(code), address);
    return setup ? static_cast<int>(*setup) : -1;
  };
  EXPECT_EQ(found({}), -1);
  EXPECT_EQ(found({0x55, 0x48, 0x89, 0xe5}), 0);
  EXPECT_EQ(found({0x90, 0x55, 0x48, 0x8b, 0xec, 0x90}), 1);
  EXPECT_EQ(found({0x55, 0x48, 0x89, 0xe5, 0x55, 0x48, 0x89, 0xe5}), 4);
  EXPECT_EQ(found({0x55, 0x48, 0x89}), -1) << "before the frame pointer is set";
  EXPECT_EQ(found({0x55, 0x48, 0x89, 0xe5, 0xc3, 0x31, 0xc0}), 0) << "one of several returns";
  EXPECT_EQ(found({0x55, 0x48, 0x89, 0xe5, 0xc3, 0x66, 0x90}), -1) << "another function";
  EXPECT_EQ(found({0x55, 0x48, 0x89, 0xe5, 0xc3, 0x0f, 0x1f, 0x00}), -1) << "another function";
  EXPECT_EQ(found({0x55, 0x48, 0x89, 0xe5, 0xcc, 0xcc}, 10), -1) << "padding";
  EXPECT_EQ(found({0x55, 0x48, 0x89, 0xe5, 0xcc, 0xcc}, 11), 0) << "after calls that do not return";
  EXPECT_EQ(found({0x41, 0xff, 0x72, 0xf8, 0x55, 0x48, 0x89, 0xe5}), -1) << "of a stack that was realigned";
  EXPECT_EQ(found({0x90, 0x41, 0x5f, 0x55, 0x48, 0x89, 0xe5}), -1) << "after the return address was popped";
  EXPECT_EQ(found({0x74, 0x5a, 0x55, 0x48, 0x89, 0xe5}), 2) << "after je";
}

TEST(FramePointerSetup, OfAArch64StoresAFrameRecordFirst) {
  const auto found = [](std::initializer_list<std::uint32_t> code) {
    std::vector<std::byte> bytes(4 * code.size());
    std::size_t place = 0;
    for (const std::uint32_t instruction : code)
      store(std::span(bytes).subspan(4 * place++), instruction, Endian::Little);
    const auto setup = trace::walk::find_frame_pointer_setup(sframe::Abi::Aarch64Little, bytes, 0);
    return setup ? static_cast<int>(*setup) : -1;
  };
  constexpr std::uint32_t store_record = 0xa9bd7bfd, store_other = 0xa90153f3, set = 0x910003fd, set_above = 0x910083fd,
                          ret = 0xd65f03c0, nop = 0xd503201f;
  EXPECT_EQ(found({nop, store_record, set, nop}), 4);
  EXPECT_EQ(found({0xa9027bfd, store_other, set_above}), 0);
  EXPECT_EQ(found({store_record, nop}), -1);
  EXPECT_EQ(found({set, nop}), -1);
  EXPECT_EQ(found({store_record, set, ret, nop}), -1) << "another function";
  EXPECT_EQ(found({store_record, set, ret, set_above}), 0) << "one of several returns";
  std::vector<std::byte> after_half(10);
  store(std::span(after_half).subspan(2), store_record, Endian::Little);
  store(std::span(after_half).subspan(6), set, Endian::Little);
  EXPECT_EQ(trace::walk::find_frame_pointer_setup(sframe::Abi::Aarch64Little, after_half, 0x1002), 2U);
}

TEST(FramePointerReturn, ComesAfterACallOrGoesToTheEndOfAHandler) {
  const auto may = [](sframe::Abi abi, std::initializer_list<unsigned> before, std::initializer_list<unsigned> after) {
    return trace::walk::may_return_between(abi, bytes_of(before), bytes_of(after));
  };
  constexpr sframe::Abi amd64 = sframe::Abi::Amd64, aarch64 = sframe::Abi::Aarch64Little;
  EXPECT_FALSE(may(amd64, {}, {}));
  EXPECT_FALSE(may(amd64, {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, {0xc3}));
  EXPECT_TRUE(may(amd64, {0x90, 0x90, 0xe8, 1, 0, 0, 0}, {})) << "call rel32";
  EXPECT_FALSE(may(amd64, {0xe8, 1, 0, 0}, {})) << "cut";
  EXPECT_FALSE(may(amd64, {0xe9, 1, 0, 0, 0}, {})) << "jmp rel32";
  EXPECT_TRUE(may(amd64, {0xff, 0xd7}, {})) << "call *%rdi";
  EXPECT_TRUE(may(amd64, {0x41, 0xff, 0xd3}, {})) << "call *%r11";
  EXPECT_TRUE(may(amd64, {0xff, 0x10}, {})) << "call *(%rax)";
  EXPECT_TRUE(may(amd64, {0xff, 0x50, 8}, {})) << "call *8(%rax)";
  EXPECT_FALSE(may(amd64, {0xff, 0x50}, {})) << "without its distance";
  EXPECT_TRUE(may(amd64, {0xff, 0x15, 1, 2, 3, 4}, {})) << "call *distance(%rip)";
  EXPECT_TRUE(may(amd64, {0xff, 0x14, 0xc3}, {})) << "call *(%rbx,%rax,8)";
  EXPECT_TRUE(may(amd64, {0xff, 0x54, 0x24, 8}, {})) << "call *8(%rsp)";
  EXPECT_TRUE(may(amd64, {0xff, 0x14, 0x25, 1, 2, 3, 4}, {})) << "call *address";
  EXPECT_TRUE(may(amd64, {0xff, 0x94, 0x24, 1, 2, 3, 4}, {})) << "call *distance(%rsp)";
  EXPECT_FALSE(may(amd64, {0xff, 0xe0}, {})) << "jmp *%rax";
  EXPECT_TRUE(may(amd64, {0x90}, {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05})) << "__restore_rt";
  EXPECT_TRUE(may(aarch64, {0, 0, 0, 0x94}, {})) << "bl";
  EXPECT_TRUE(may(aarch64, {0x20, 0, 0x3f, 0xd6}, {})) << "blr x1";
  EXPECT_TRUE(may(aarch64, {0x3f, 0x08, 0x3f, 0xd6}, {})) << "blraaz x1";
  EXPECT_TRUE(may(aarch64, {0x22, 0x0c, 0x3f, 0xd7}, {})) << "blrab x1, x2";
  EXPECT_FALSE(may(aarch64, {0x20, 0, 0x1f, 0xd6}, {})) << "br x1";
  EXPECT_FALSE(may(aarch64, {0, 0, 0, 0x14}, {})) << "b";
  EXPECT_TRUE(may(aarch64, {}, {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4})) << "the vDSO's rt_sigreturn";
}

TEST(FramePointerSetup, IsLeftAtAReturn) {
  EXPECT_TRUE(trace::walk::begins_with_return(sframe::Abi::Amd64, bytes_of({0xc3})));
  EXPECT_FALSE(trace::walk::begins_with_return(sframe::Abi::Amd64, bytes_of({0x5d, 0xc3})));
  EXPECT_FALSE(trace::walk::begins_with_return(sframe::Abi::Amd64, {}));
  EXPECT_TRUE(trace::walk::begins_with_return(sframe::Abi::Aarch64Little, bytes_of({0xc0, 0x03, 0x5f, 0xd6})));
  EXPECT_FALSE(trace::walk::begins_with_return(sframe::Abi::Aarch64Little, bytes_of({0xc0, 0x03, 0x5f})));
}

}  // namespace
}  // namespace sframe_gen::test
