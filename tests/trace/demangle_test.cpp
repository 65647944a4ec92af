#include <gtest/gtest.h>

#include <string>

#include "trace/walk/code_file.hpp"

namespace sframe_gen::test {
namespace {

TEST(Demangle, NamesOfCppAndRust) {
  EXPECT_EQ(trace::demangled("_ZNSt6vectorIiSaIiEE2atEm"), "std::vector<int, std::allocator<int> >::at(unsigned long)");
  EXPECT_EQ(trace::demangled("_RNvC6_123foo3bar"), "123foo::bar");
  EXPECT_EQ(trace::demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
}

TEST(Demangle, LeavesOtherNamesAlone) {
  for (const char* const name : {"", "_", "main", "_start", "_Zwrong", "_R", "__libc_start_main"}) {
    EXPECT_EQ(trace::demangled(name), name);
  }
}

// Each argument is X<A, A> of the one before it, A: 2^30 letters.
TEST(Demangle, GivesUpOnNamesThatDouble) {
  std::string symbol = "_Z1f1XIiiE";
  for (const char before : std::string("0123456789ABCDEFGHIJKLMNOPQRST")) {
    symbol += std::string("S_IS") + before + "_S" + before + "_E";
  }
  EXPECT_EQ(trace::demangled(symbol), symbol);
}

}  // namespace
}  // namespace sframe_gen::test
