#include "trace/recorded/kernel_names.hpp"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>

#include "support/folder.hpp"

namespace sframe_gen::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t text = 0xffffffff81000000, far = 0xffffffffc0000000;

class KernelNames : public testing::Test {
 protected:
  trace::KeptFunctions functions() const { return {folder_.path(), "abcd"}; }
  void keep() const {
    constexpr std::array<trace::KernelFunction, 8> list{{{text, "_text", ""},
                                                         {text, "_stext", ""},
                                                         {text + 0x100, "second", ""},
                                                         {text + 0x200, "last", ""},
                                                         {far, "of_module", "[module]"},
                                                         {far + 0x10, "last_of_module", "[module]"},
                                                         {far + 0x100, "made", "[bpf]"},
                                                         {far + 0x200, "made_too", "[bpf]"}}};
    functions().keep(list);
  }

  const Folder folder_;
};

TEST_F(KernelNames, KeptOnesAreThoseThatLast) {
  EXPECT_FALSE(functions().find());
  keep();
  trace::KeptFunctions kept = functions();
  ASSERT_TRUE(kept.find());
  EXPECT_EQ(kept.name_at(text), "_stext");
  EXPECT_EQ(kept.name_at(text + 0xff), "_stext");
  EXPECT_EQ(kept.name_at(text + 0x1ff), "second");
  EXPECT_EQ(kept.name_at(far + 0xf), "of_module");
  // Something may have been loaded since, or made.
  for (const std::uint64_t pc :
       {std::uint64_t{0}, text - 1, text + 0x200, far - 1, far + 0x10, far + 0x100, far + 0x300}) {
    EXPECT_EQ(kept.name_at(pc), std::nullopt) << std::hex << pc;
  }
  EXPECT_TRUE(kept.has(text, "_text"));
  EXPECT_FALSE(kept.has(text, "second"));
  EXPECT_FALSE(kept.has(text + 1, "_text"));
}

TEST_F(KernelNames, OfAnotherStartAreNotFound) {
  keep();
  const fs::path path = *fs::directory_iterator(folder_.path());
  trace::KeptFile::keep(path, Digest{std::byte{1}}, {});
  EXPECT_FALSE(functions().find());
  keep();
  EXPECT_TRUE(functions().find());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(KernelNames, DamagedAreNotFound) {
  keep();
  const fs::path path = *fs::directory_iterator(folder_.path());
  const auto size = fs::file_size(path);
  std::ofstream(path, std::ios::binary | std::ios::in).seekp(static_cast<std::streamoff>(size) - 1).put('#');
  EXPECT_FALSE(functions().find());
  keep();
  fs::resize_file(path, size / 2);
  EXPECT_FALSE(functions().find());
}

TEST_F(KernelNames, KeptAndReadAreTheSame) {
  trace::KernelNames read(trace::read_list("/proc/kallsyms"));
  trace::KernelNames first = trace::KernelNames::of_running_kernel(functions());
  trace::KernelNames second = trace::KernelNames::of_running_kernel(functions());
  std::ifstream list("/proc/kallsyms");
  std::uint64_t number = 0;
  constexpr std::uint64_t each = 37;
  for (std::string line; std::getline(list, line);) {
    const std::uint64_t begin = std::stoull(line, nullptr, 16);
    if (++number % each != 0) continue;
    for (const std::uint64_t pc : {begin - 1, begin, begin + 1}) {
      const std::string_view expected = read.name_at(pc);
      ASSERT_EQ(first.name_at(pc), expected) << line;
      ASSERT_EQ(second.name_at(pc), expected) << line;
    }
  }
  EXPECT_NE(number, 0U);
}

TEST_F(KernelNames, NothingIsKeptWithoutAFolder) {
  trace::KeptFunctions nowhere({}, "abcd");
  nowhere.keep(std::array<trace::KernelFunction, 1>{{{text, "_text", ""}}});
  EXPECT_FALSE(nowhere.find());
}

}  // namespace
}  // namespace sframe_gen::test
