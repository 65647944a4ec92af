#include "trace/record/found_programs.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace sframe_gen::test {
namespace {

trace::record::KernelCode code_in(const std::string& kallsyms) {
  std::istringstream list(kallsyms);
  return trace::record::kernel_code(list);
}

TEST(FoundPrograms, KernelBeginsWithTheFirstFunctionThatItLists) {
  const trace::record::KernelCode amd64 = code_in(
      "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _stext\nffffffff81000000 T _text\n"
      "ffffffff822090c8 T _etext\n");
  EXPECT_EQ(amd64.first, "_text");
  EXPECT_EQ(amd64.end, 0xffffffff822090c8);
  const trace::record::KernelCode aarch64 =
      code_in("ffffbf0a8cc10000 T _stext\nffffbf0a8cc10010 T bcm2835_handle_irq\nffffbf0a8d900000 D _etext\n");
  EXPECT_EQ(aarch64.first, "_stext");
  EXPECT_EQ(aarch64.begin, 0xffffbf0a8cc10000);
  EXPECT_EQ(aarch64.end, 0xffffbf0a8d900000);
}

TEST(FoundPrograms, KernelOfHiddenAddressesIsUnknown) {
  EXPECT_EQ(code_in("0000000000000000 T _stext\n0000000000000000 T _etext\n").begin, 0);
}

}  // namespace
}  // namespace sframe_gen::test
