#include "trace/recorded/kernel_names.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/folder.hpp"

namespace sframe_gen::test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kernel_text = 0xffffffff81000000, far = 0xffffffffc0000000;

class KernelNames : public testing::Test {
 protected:
  KernelNames() {
    write(
        "ffffffff81000000 T _text\nffffffff81000000 T _stext\nffffffff81000100 t second\nffffffff81000200 T last\n"
        "ffffffffc0000000 t of_module\t[module]\nffffffffc0000010 t last_of_module\t[module]\n"
        "ffffffffc0000100 t made\t[bpf]\nffffffffc0000200 t made_too\t[bpf]\n");
  }

  void write(const std::string& list) const { std::ofstream(list_) << list; }
  trace::KernelNames names() const { return trace::KernelNames::of_running_kernel(kept_, "abcd", list_); }
  std::string name_at(std::uint64_t pc) const { return std::string(names().name_at(pc)); }

  const Folder folder_;
  const fs::path list_ = folder_ / "list", kept_ = folder_ / "kept";
};

TEST_F(KernelNames, KeptOnesAreThoseThatLast) {
  EXPECT_EQ(name_at(far + 0x200), "made_too");
  write("ffffffff80000000 T other\n");
  EXPECT_EQ(name_at(kernel_text), "_stext");
  EXPECT_EQ(name_at(kernel_text + 0xff), "_stext");
  EXPECT_EQ(name_at(kernel_text + 0x1ff), "second");
  EXPECT_EQ(name_at(far + 0xf), "of_module");
  // Something may have been loaded since, or made.
  for (const std::uint64_t pc : {kernel_text - 1, kernel_text + 0x200, far - 1, far + 0x10, far + 0x100, far + 0x300}) {
    EXPECT_EQ(name_at(pc), "other") << std::hex << pc;
  }
  EXPECT_EQ(name_at(0), "");
}

TEST_F(KernelNames, AreThoseOfTheBuildIdThatTheMarkHas) {
  for (const char* const build_id : {"abcd", "abcd00", "ab", ""}) {
    const std::optional<trace::KernelMark> mark(trace::KernelMark{"_text", kernel_text, build_id});
    trace::KernelNames names = this->names();
    names.expect_build_id("abcd");
    names.compare_with(mark);
    EXPECT_EQ(names.name_at(kernel_text), std::string_view(build_id).starts_with("abcd") ? "_stext" : "") << build_id;
  }
}

TEST_F(KernelNames, KeptOnesTellAnotherStart) {
  name_at(kernel_text);
  write("");
  const auto are_of_another_start = [&](std::uint64_t address, const char* function) {
    const std::optional<trace::KernelMark> mark(trace::KernelMark{function, address});
    trace::KernelNames kept = names();
    kept.compare_with(mark);
    const bool has_name = !kept.name_at(kernel_text).empty();
    EXPECT_NE(has_name, kept.are_of_another_start());
    return kept.are_of_another_start();
  };
  EXPECT_FALSE(are_of_another_start(kernel_text, "_text"));
  EXPECT_TRUE(are_of_another_start(kernel_text, "second"));
  EXPECT_TRUE(are_of_another_start(kernel_text + 1, "_text"));
}

TEST_F(KernelNames, IgnoresNamesOfAnotherBoot) {
  name_at(kernel_text);
  const fs::path path = *fs::directory_iterator(kept_);
  write("ffffffff81000000 T other\n");
  files::KeptFile::keep(path, Digest{std::byte{1}}, {});
  EXPECT_EQ(name_at(kernel_text), "other");
  write("");
  EXPECT_FALSE(files::KeptFile::find(path, Digest{std::byte{1}}));
  EXPECT_EQ(std::distance(fs::directory_iterator(kept_), {}), 1);
}

TEST_F(KernelNames, DamagedAreNotFound) {
  name_at(kernel_text);
  const fs::path path = *fs::directory_iterator(kept_);
  const auto size = fs::file_size(path);
  write("ffffffff81000000 T other\n");
  std::ofstream(path, std::ios::binary | std::ios::in).seekp(static_cast<std::streamoff>(size) - 1).put('#');
  EXPECT_EQ(name_at(kernel_text), "other");
  write("ffffffff81000000 T third\n");
  fs::resize_file(path, fs::file_size(path) / 2);
  EXPECT_EQ(name_at(kernel_text), "third");
}

TEST_F(KernelNames, KeptAndReadAreTheSame) {
  trace::KernelNames read(trace::read_list("/proc/kallsyms"));
  trace::KernelNames first = trace::KernelNames::of_running_kernel(kept_, "abcd");
  trace::KernelNames second = trace::KernelNames::of_running_kernel(kept_, "abcd");
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
  EXPECT_EQ(trace::KernelNames::of_running_kernel({}, "abcd", list_).name_at(kernel_text), "_stext");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

}  // namespace
}  // namespace sframe_gen::test
