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
  trace::recorded::KernelNames names() const { return trace::recorded::KernelNames::of_running_kernel(list_); }
  std::string name_at(std::uint64_t pc) const { return std::string(names().name_at(pc)); }

  const Folder folder_;
  const fs::path list_ = folder_ / "list";
};

TEST_F(KernelNames, AreThoseThatBeginBefore) {
  EXPECT_EQ(name_at(far + 0x200), "made_too");
  EXPECT_EQ(name_at(kernel_text), "_stext");
  EXPECT_EQ(name_at(kernel_text + 0xff), "_stext");
  EXPECT_EQ(name_at(kernel_text + 0x1ff), "second");
  EXPECT_EQ(name_at(far + 0xf), "of_module");
  EXPECT_EQ(name_at(kernel_text - 1), "");
  EXPECT_EQ(name_at(0), "");
}

TEST_F(KernelNames, AreThoseOfTheBuildIdThatTheMarkHas) {
  for (const char* const build_id : {"abcd", "abcd00", "ab", ""}) {
    const std::optional<trace::recorded::KernelMark> mark(trace::recorded::KernelMark{"_text", kernel_text, build_id});
    trace::recorded::KernelNames names = this->names();
    names.expect_build_id("abcd");
    names.compare_with(mark);
    EXPECT_EQ(names.name_at(kernel_text), std::string_view(build_id).starts_with("abcd") ? "_stext" : "") << build_id;
  }
}

TEST_F(KernelNames, TellAnotherStart) {
  const auto are_of_another_start = [&](std::uint64_t address, const char* function) {
    const std::optional<trace::recorded::KernelMark> mark(trace::recorded::KernelMark{function, address});
    trace::recorded::KernelNames read = names();
    read.compare_with(mark);
    const bool has_name = !read.name_at(kernel_text).empty();
    EXPECT_NE(has_name, read.are_of_another_start());
    return read.are_of_another_start();
  };
  EXPECT_FALSE(are_of_another_start(kernel_text, "_text"));
  EXPECT_TRUE(are_of_another_start(kernel_text, "second"));
  EXPECT_TRUE(are_of_another_start(kernel_text + 1, "_text"));
}

}  // namespace
}  // namespace sframe_gen::test
