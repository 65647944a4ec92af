// The map of modules beside a plain model, byte by byte; out of memory at each allocation; rows that no longer hold.
//
// The same for another machine, under qemu-user. It takes two minutes to compile, so the gate does not run it.
//
//     machine=aarch64  # or s390x; then two commands, each a line
//     $machine-linux-gnu-g++ -std=c++20 -O1 -ffunction-sections -Wl,--gc-sections -pthread -Isrc -Iinclude -Itests
//         -idirafter /usr/include -I/usr/src/googletest/googletest -I/usr/src/googletest/googletest/include
//         -o /tmp/module-map tests/unwind/module_map_test.cpp src/{unwind,sframe,emit,emit/compact}/*.cpp
//         src/convert/encode_section.cpp src/support/{hash,text,workers}.cpp
//         /usr/src/googletest/googletest/src/gtest{-all,_main}.cc
//     qemu-$machine -L /usr/$machine-linux-gnu /tmp/module-map

#include "sframe_gen/module_map.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>

#include "sframe_gen/encode.hpp"
#include "sframe_gen/stack_walker.hpp"
#include "support/endian.hpp"

namespace {

/// Of this thread: allocations until one fails, if not negative; and bytes that it may have at all.
thread_local long allocations_left = -1;
thread_local std::size_t bytes_left = SIZE_MAX;

}  // namespace

void* operator new(std::size_t size) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  if (size > bytes_left) throw std::bad_alloc();
  if (bytes_left != SIZE_MAX) bytes_left -= size;
  void* const memory = std::malloc(size != 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace sframe_gen::unwind::test {
namespace {

using Section = std::shared_ptr<const PagedSection>;

constexpr std::uint64_t stack_begin = 0x7ffe0000;
constexpr std::uint32_t rsp_number = 7;

/// A stack that has the same return address everywhere.
bool read_anything(void*, std::uint64_t, void* bytes) {
  constexpr std::uint64_t word = 0xbeef;
  std::memcpy(bytes, &word, sizeof word);
  return true;
}

/// A function whose rows say CFA = SP + `cfa_offset`.
sframe::Fde function_at(std::uint64_t start, std::uint32_t size, std::int32_t cfa_offset,
                        std::uint32_t sp = rsp_number) {
  sframe::Fde function;
  function.start = start;
  function.size = size;
  function.add_row(0, {.cfa = sframe::Rule::register_plus(sp, cfa_offset)});
  return function;
}

std::vector<std::byte> encoded(const std::vector<sframe::Fde>& functions) {
  sframe::Section section;
  section.address = 0x8000;
  section.fdes = functions;
  return sframe::encode(section);
}
Section section_of(const std::vector<sframe::Fde>& functions) {
  return std::make_shared<const PagedSection>(encoded(functions), 0x8000);
}

Registers at(std::uint64_t pc) {
  Registers registers;
  registers.pc = pc;
  registers.set(rsp_number, stack_begin);
  registers.set(6, 0);
  return registers;
}

/// Eight functions of 32 bytes, one each 64. Those of `number` begin 8 * `number` bytes later than those of 0, and each
/// has a CFA of its own.
struct Numbered {
  static constexpr std::size_t count = 4;

  static std::vector<sframe::Fde> functions(std::uint64_t number) {
    std::vector<sframe::Fde> made;
    for (std::uint64_t i = 0; i < 8; ++i) {
      const std::uint64_t start = 64 * i + 8 * number;
      made.push_back(function_at(start, 32, cfa_offset(number, start)));
    }
    return made;
  }
  static std::int32_t cfa_offset(std::uint64_t number, std::uint64_t start) {
    return static_cast<std::int32_t>(8 + 8 * (8 * number + start / 64));
  }
  /// 0: there is no row.
  static std::int32_t at(std::uint64_t number, std::uint64_t address) {
    const std::uint64_t distance = address - 8 * number;
    if (address < 8 * number || distance >= 512 || distance % 64 >= 32) return 0;
    return cfa_offset(number, distance / 64 * 64);
  }
};

/// What one byte of the program has.
struct Byte {
  bool is_mapped = false;
  std::uint64_t bias = 0;
  std::size_t first = Numbered::count, second = Numbered::count;  ///< number of a section; count: none

  /// What a step must come to: Stepped with the offset of the CFA, or why not.
  std::pair<Stop, std::int32_t> step(std::uint64_t pc) const {
    if (!is_mapped) return {Stop::NoModule, 0};
    if (first == Numbered::count && second == Numbered::count) return {Stop::NoSection, 0};
    for (const std::size_t number : {first, second}) {
      const std::int32_t offset = number != Numbered::count ? Numbered::at(number, pc - bias) : 0;
      if (offset != 0) return {Stop::Stepped, offset};
    }
    return {Stop::NoRow, 0};
  }
};

constexpr std::uint64_t code = 0x1000, code_size = 512;

/// A map and its model. Maps share their row slots.
struct Modeled {
  ModuleMap map;
  std::array<Byte, code_size> bytes;

  void add(std::uint64_t begin, std::uint64_t end, const Byte& byte,
           const std::array<Section, Numbered::count + 1>& of) {
    map.add(code + begin, code + end, byte.bias, {of[byte.first], of[byte.second], nullptr});
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.begin() + static_cast<std::ptrdiff_t>(end),
              byte);
  }
  void remove(std::uint64_t begin, std::uint64_t end) {
    map.remove(code + begin, code + end);
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.begin() + static_cast<std::ptrdiff_t>(end),
              Byte{});
  }

  void expect_same_step(std::uint64_t place, std::span<RowSlot> rows) const {
    Walked walked;
    walked.modules = map.modules();
    walked.read = read_anything;
    walked.rows = rows;
    walked.generation = map.generation();
    Registers registers = at(code + place);
    const auto [stop, offset] = bytes[place].step(code + place);
    ASSERT_EQ(Unwinder(walked).step(registers), stop) << place;
    ASSERT_EQ(registers.values[rsp_number], stack_begin + static_cast<std::uint64_t>(offset)) << place;
  }

  void expect_same_modules() const {
    std::uint64_t end = 0;
    std::size_t mapped = 0;
    for (const Module& module : map.modules()) {
      ASSERT_LE(end, module.begin);
      ASSERT_LT(module.begin, module.end);
      end = module.end;
      for (std::uint64_t pc = module.begin; pc < module.end; ++pc, ++mapped) {
        ASSERT_TRUE(bytes[pc - code].is_mapped && module.bias == bytes[pc - code].bias) << pc;
        ASSERT_EQ(map.find(pc), &module);
      }
    }
    ASSERT_EQ(mapped, static_cast<std::size_t>(std::ranges::count(bytes, true, &Byte::is_mapped)));
  }
};

TEST(ModuleMap, IsWhatAPlainModelIs) {
  std::array<Section, Numbered::count + 1> sections;
  for (std::size_t i = 0; i < Numbered::count; ++i) sections[i] = section_of(Numbered::functions(i));
  std::mt19937_64 random(20261126);
  const auto below = [&random](std::uint64_t limit) { return random() % limit; };
  std::vector<RowSlot> rows(256);
  Modeled programs[2];
  for (int operation = 0; operation < 100000; ++operation) {
    SCOPED_TRACE(operation);
    Modeled& program = programs[below(2)];
    const std::uint64_t begin = below(code_size), end = std::min(code_size, begin + below(below(8) == 0 ? 400 : 40));
    const std::uint64_t kind = below(100);
    if (kind < 60) {
      program.add(begin, end, {true, code - 16 * below(4), below(Numbered::count + 1), below(Numbered::count + 1)},
                  sections);
    } else if (kind < 99) {
      program.remove(begin, end);
    } else {
      programs[0] = programs[1];  // fork()
    }
    for (const Modeled& each : programs) {
      for (int i = 0; i < 2; ++i) each.expect_same_step(below(code_size), rows);
    }
    if (operation % 64 == 0) program.expect_same_modules();
    if (HasFatalFailure()) return;
  }
}

TEST(ModuleMap, SplitsWhatAnotherModuleOverlaps) {
  ModuleMap map;
  const auto data = std::make_shared<const int>(5);
  map.add(100, 400, 7, {nullptr, nullptr, data});
  map.add(200, 300);
  map.remove(350, 360);
  std::vector<std::array<std::uint64_t, 3>> found;
  for (const Module& module : map.modules()) found.push_back({module.begin, module.end, module.bias});
  EXPECT_EQ(found,
            (std::vector<std::array<std::uint64_t, 3>>{{100, 200, 7}, {200, 300, 0}, {300, 350, 7}, {360, 400, 7}}));
  EXPECT_EQ(map.contents_of(*map.find(399)).data, data);
  EXPECT_EQ(map.contents_of(*map.find(100)).data, data);
  EXPECT_EQ(map.contents_of(*map.find(299)).data, nullptr);
  EXPECT_EQ(map.find(350), nullptr);
  EXPECT_EQ(map.find(400), nullptr);
}

TEST(ModuleMap, EachStateHasAGenerationOfItsOwn) {
  ModuleMap map;
  std::vector<std::uint64_t> seen{0, map.generation()};
  const auto is_new = [&seen](const ModuleMap& changed) {
    const bool was_seen = std::ranges::find(seen, changed.generation()) != seen.end();
    seen.push_back(changed.generation());
    return !was_seen;
  };
  map.add(100, 200);
  EXPECT_TRUE(is_new(map));
  map.add(150, 160);
  EXPECT_TRUE(is_new(map));
  map.remove(100, 110);
  EXPECT_TRUE(is_new(map));
  ModuleMap copy = map;
  EXPECT_TRUE(is_new(copy));
  copy = map;
  EXPECT_TRUE(is_new(copy));
  const ModuleMap moved = std::move(copy);
  EXPECT_TRUE(is_new(moved));
  EXPECT_TRUE(is_new(copy));  // NOLINT(bugprone-use-after-move): it is empty
  EXPECT_TRUE(copy.modules().empty());
  // Nothing changes.
  const std::uint64_t before = map.generation();
  map.add(5, 5);
  map.add(9, 3);
  map.remove(100, 110);
  map.remove(180, 180);
  EXPECT_EQ(map.generation(), before);
}

TEST(ModuleMap, AsksTheSecondSectionWhereTheFirstHasNoRow) {
  StackWalker walker(read_anything);
  const Section own = section_of({function_at(0, 16, 8)}),
                made = section_of({function_at(0, 16, 24), function_at(16, 16, 32)});
  const auto sp_of = [&walker](std::uint64_t pc) {
    Registers registers = at(pc);
    return walker.step(registers) == Stop::Stepped ? registers.values[rsp_number] - stack_begin : 0;
  };
  EXPECT_FALSE(walker.add(0x1000, 0x2000, 0x1000, own, made));
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(sp_of(0x1000), 8U);
    EXPECT_EQ(sp_of(0x1010), 32U);
    EXPECT_EQ(sp_of(0x1020), 0U);
  }
  EXPECT_FALSE(walker.add(0x1000, 0x2000, 0x1000, nullptr, made));
  EXPECT_EQ(sp_of(0x1000), 24U);
  EXPECT_TRUE(
      walker.add(0x1000, 0x2000, 0x1000, std::make_shared<const PagedSection>(std::vector<std::byte>(4), 0), made));
  EXPECT_EQ(sp_of(0x1000), 24U) << "the first one is damaged";
}

/// Another machine's, so that the walk must learn of it.
TEST(StackWalker, GoesOnWithWhatItsFallbackAdds) {
  struct Lazy {
    StackWalker walker{read, this, open};
    int opened = 0;

    static bool read(void*, std::uint64_t address, void* bytes) {
      store<std::uint64_t>({static_cast<std::byte*>(bytes), 8}, address < stack_begin + 0x400 ? 0x1012 : 0,
                           Endian::Big);
      return true;
    }
    static Stop open(void* context, Registers& registers, Stop why) {
      auto& lazy = *static_cast<Lazy*>(context);
      if (why != Stop::NoSection || ++lazy.opened > 1) return why;
      sframe::Section section;
      section.abi = sframe::Abi::S390x;
      sframe::Fde function = function_at(0x1000, 0x100, 160 + 160, 15);
      function.fres.front().recovery->return_address = sframe::Rule::at_cfa(-48);
      section.fdes = {function};
      // Enough for the list to move.
      for (std::uint64_t i = 0; i < 64; ++i) lazy.walker.add(0x10000 + i, 0x10001 + i);
      EXPECT_FALSE(lazy.walker.add(0x1000, 0x2000, 0, sframe::encode(section), section.address));
      return lazy.walker.step(registers);
    }
  } lazy;
  lazy.walker.add(0x1000, 0x2000);
  Registers registers;
  registers.pc = 0x1010;
  registers.set(15, stack_begin);
  registers.set(11, 0);
  std::uint64_t pcs[20];
  Stop stop{};
  EXPECT_EQ(lazy.walker.walk(registers, pcs, stop), 6U);
  EXPECT_EQ(stop, Stop::Outermost) << text_of(stop);
  EXPECT_EQ(pcs[1], 0x1012U);
  EXPECT_EQ(lazy.opened, 1);
}

/// What a failed operation must leave as it was.
std::vector<std::array<std::uint64_t, 4>> state_of(const ModuleMap& map) {
  std::vector<std::array<std::uint64_t, 4>> state;
  for (const Module& module : map.modules()) {
    state.push_back({module.begin, module.end, module.bias, map.contents_of(module).section == nullptr ? 0U : 1U});
  }
  return state;
}

/// Runs `work`, a change, out of memory at its first allocation, at its second, … until it has all that it needs.
template <typename Work, typename Check>
void fail_at_each_allocation(const Work& work, const Check& check_unchanged) {
  for (long allocations = 0;; ++allocations) {
    ASSERT_LT(allocations, 100);
    allocations_left = allocations;
    bool failed = false;
    try {
      work();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allocations_left = -1;
    if (!failed) return;
    SCOPED_TRACE(allocations);
    check_unchanged();
  }
}

TEST(ModuleMap, IsUnchangedIfThereIsNoMemory) {
  // Whatever the vectors have room for: more modules make them grow.
  for (std::uint64_t count = 0; count < 12; ++count) {
    ModuleMap map;
    const Section section = section_of({function_at(0, 16, 8)});
    for (std::uint64_t i = 0; i < count; ++i)
      map.add(0x1000 * (i + 1), 0x1000 * (i + 1) + 0x800, i, {section, nullptr, nullptr});
    const auto expect_unchanged_by = [&](const auto& change) {
      ModuleMap changed = map;
      // A copy has no room to spare.
      const auto before = state_of(changed);
      const std::uint64_t generation = changed.generation();
      const Module* const modules = changed.modules().data();
      fail_at_each_allocation([&] { change(changed); },
                              [&] {
                                EXPECT_EQ(state_of(changed), before);
                                EXPECT_EQ(changed.generation(), generation);
                                EXPECT_EQ(changed.modules().data(), modules);
                              });
    };
    expect_unchanged_by([&](ModuleMap& changed) { changed.add(0x800, 0x900, 1, {section, section, nullptr}); });
    expect_unchanged_by([&](ModuleMap& changed) { changed.add(0x1100, 0x1200, 1, {section, nullptr, nullptr}); });
    expect_unchanged_by([&](ModuleMap& changed) { changed.add(0x1400, 0x9400); });
    expect_unchanged_by([&](ModuleMap& changed) { changed.remove(0x1100, 0x1200); });
    expect_unchanged_by([&](ModuleMap& changed) { changed.remove(0x1400, 0x9400); });
    ModuleMap target;
    target.add(1, 2);
    fail_at_each_allocation([&] { target = map; }, [&] { EXPECT_EQ(target.modules().size(), 1U); });
    EXPECT_EQ(state_of(target), state_of(map));
  }
}

TEST(StackWalker, GoesOnIfThereWasNoMemory) {
  const std::vector<std::byte> bytes = encoded({function_at(0x1000, 0x1000, 16)});
  for (std::uint64_t count = 0; count < 6; ++count) {
    StackWalker walker(read_anything);
    walker.add(0x1000, 0x2000, 0, bytes, 0x8000);
    for (std::uint64_t i = 0; i < count; ++i) walker.add(0x100 * i, 0x100 * i + 0x80);
    const std::size_t modules = walker.modules().size();
    const auto walks_on = [&] {
      Registers registers = at(0x1500);
      EXPECT_EQ(walker.step(registers), Stop::Stepped);
      registers = at(0x3500);
      EXPECT_EQ(walker.step(registers), Stop::NoModule);
      EXPECT_EQ(walker.modules().size(), modules);
    };
    fail_at_each_allocation([&] { walker.add(0x3000, 0x4000, 0x2000, bytes, 0x8000); }, walks_on);
    Registers registers = at(0x3500);
    EXPECT_EQ(walker.step(registers), Stop::Stepped);
    walker.remove(0x3000, 0x4000);
    fail_at_each_allocation([&] { walker.remove(0x1100, 0x1200); }, walks_on);
    registers = at(0x1150);
    EXPECT_EQ(walker.step(registers), Stop::NoModule);
    registers = at(0x1500);
    EXPECT_EQ(walker.step(registers), Stop::Stepped);
  }
}

TEST(StackWalker, ASmallSectionTakesLittleMemory) {
  for (const unsigned bits : {30U, 36U, 40U, 47U}) {
    const std::vector<std::byte> bytes =
        encoded({function_at(0x1000, 16, 8), function_at(0x1000 + (std::uint64_t{1} << bits), 16, 16)});
    EXPECT_LT(bytes.size(), 80U);
    StackWalker walker(read_anything);
    bytes_left = std::size_t{64} << 20U;
    EXPECT_NO_THROW(EXPECT_FALSE(walker.add(0x1000, UINT64_MAX, 0, bytes, 0x8000)));
    bytes_left = SIZE_MAX;
    Registers registers = at(0x1000 + (std::uint64_t{1} << bits));
    EXPECT_EQ(walker.step(registers), Stop::Stepped);
    EXPECT_EQ(registers.values[rsp_number], stack_begin + 16);
  }
}

}  // namespace
}  // namespace sframe_gen::unwind::test
