#include "trace/walk/jit_dump.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"

namespace sframe_gen::test {
namespace {

/// Writes a dump, record by record.
class WrittenDump {
 public:
  explicit WrittenDump(std::uint32_t machine = EM_X86_64) {
    bytes_.u32(0x4a695444);
    bytes_.u32(1);
    bytes_.u32(40);
    bytes_.u32(machine);
    for (int i = 0; i < 2; ++i) bytes_.u32(0);
    for (int i = 0; i < 2; ++i) bytes_.u64(0);
  }

  void load(std::uint64_t time, std::uint64_t address, std::uint64_t index, const std::string& name, std::size_t size) {
    head(0, time, 8 + 4 * 8 + name.size() + 1 + size);
    bytes_.u64(0);
    for (const std::uint64_t word : {address, address, std::uint64_t{size}, index}) bytes_.u64(word);
    bytes_.append_bytes(std::as_bytes(std::span(name.c_str(), name.size() + 1)));
    for (std::size_t i = 0; i < size; ++i) bytes_.u8(0x90);
  }

  void move(std::uint64_t time, std::uint64_t address, std::uint64_t index) {
    head(1, time, 8 + 5 * 8);
    bytes_.u64(0);
    for (const std::uint64_t word : {address, std::uint64_t{0}, address, std::uint64_t{0}, index}) bytes_.u64(word);
  }

  trace::walk::JitDump dump() const {
    std::string path = testing::TempDir() + "jit-XXXXXX";
    const int file = ::mkstemp(path.data());
    EXPECT_EQ(::write(file, bytes_.bytes().data(), bytes_.size()), static_cast<ssize_t>(bytes_.size()));
    ::close(file);
    trace::walk::JitDump dump{MappedFile(path), sframe::Abi::Amd64};
    ::unlink(path.c_str());
    return dump;
  }

 private:
  void head(std::uint32_t type, std::uint64_t time, std::size_t size) {
    bytes_.u32(type);
    bytes_.u32(static_cast<std::uint32_t>(16 + size));
    bytes_.u64(time);
  }

  ByteWriter bytes_{Endian::Little};
};

const trace::walk::TranslationOptions default_options;
const trace::FileRoot this_system;

std::string named_at(trace::walk::JitCode& code, std::uint64_t time, std::uint64_t pc) {
  code.go_to(time);
  const auto part = code.part_at(pc);
  if (!part) return "none";
  const std::size_t function = code.function_of(*part);
  const trace::walk::FunctionPlace place =
      code.file_of(function)->function_at(pc - part->begin + trace::walk::jit_code_address);
  EXPECT_EQ(code.name_of(function), place.name);
  return std::string(place.name) + "+" + std::to_string(place.offset);
}

TEST(JitDump, MayLeaveTheMachineOut) {
  WrittenDump written(EM_NONE);
  written.load(1, 0x1000, 1, "first", 16);
  EXPECT_EQ(written.dump().function(0).name, "first");
  EXPECT_THROW(WrittenDump(EM_AARCH64).dump(), Refused);
}

TEST(JitDump, TellsWhatIsWhereAtATime) {
  WrittenDump written;
  written.load(10, 0x1000, 1, "first", 0x40);
  written.load(20, 0x1020, 2, "second", 0x40);
  written.move(30, 0x2000, 1);
  written.load(30, 0x1000, 3, "third", 0x10);
  trace::walk::JitCode code([&] { return written.dump(); }, default_options, this_system);
  EXPECT_EQ(named_at(code, 9, 0x1000), "none");
  EXPECT_EQ(named_at(code, 10, 0x103f), "first+63");
  EXPECT_EQ(named_at(code, 20, 0x1000), "none");
  EXPECT_EQ(named_at(code, 29, 0x1020), "second+0");
  EXPECT_EQ(named_at(code, 30, 0x2001), "first+1");
  EXPECT_EQ(named_at(code, 30, 0x100f), "third+15");
  EXPECT_EQ(named_at(code, 30, 0x1010), "none");
}

/// As threads write it.
TEST(JitDump, OrdersRecordsByTime) {
  WrittenDump written;
  written.load(20, 0x1000, 2, "later", 8);
  written.load(10, 0x1000, 1, "earlier", 8);
  trace::walk::JitCode code([&] { return written.dump(); }, default_options, this_system);
  EXPECT_EQ(named_at(code, 10, 0x1000), "earlier+0");
  EXPECT_EQ(named_at(code, 20, 0x1000), "later+0");
}

TEST(JitDump, EndsOfTheAddressSpaceAreCode) {
  WrittenDump written;
  written.load(10, ~std::uint64_t{0} - 4, 1, "last", 64);
  written.load(10, 0, 2, "first", 1);
  written.load(10, 0x1000, 3, "empty", 0);
  trace::walk::JitCode code([&] { return written.dump(); }, default_options, this_system);
  EXPECT_EQ(named_at(code, 10, ~std::uint64_t{0} - 1), "last+3");
  EXPECT_EQ(named_at(code, 10, 0), "first+0");
  EXPECT_EQ(named_at(code, 10, 0x1000), "none");
}

TEST(JitDump, SaysWhyItCannotBeUsed) {
  trace::walk::JitCode code([]() -> trace::walk::JitDump { throw Refused("jit-1.dump", "gone"); }, default_options,
                            this_system);
  EXPECT_EQ(named_at(code, 10, 0x1000), "none");
  EXPECT_EQ(code.why_not(), "jit-1.dump: gone");
}

}  // namespace
}  // namespace sframe_gen::test
