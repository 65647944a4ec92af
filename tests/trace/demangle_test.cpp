#include "trace/walk/demangle.hpp"

#include <gtest/gtest.h>

#include <string>

namespace sframe_gen::test {
namespace {

TEST(Demangle, NamesOfCppAndRust) {
  EXPECT_EQ(trace::walk::demangled("_ZNSt6vectorIiSaIiEE2atEm"),
            "std::vector<int, std::allocator<int> >::at(unsigned long)");
  EXPECT_EQ(trace::walk::demangled("_RNvC6_123foo3bar"), "123foo::bar");
  EXPECT_EQ(trace::walk::demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
}

TEST(Demangle, LeavesOtherNamesAlone) {
  for (const char* const name : {"", "_", "main", "_start", "_Zwrong", "_R", "__libc_start_main"}) {
    EXPECT_EQ(trace::walk::demangled(name), name);
  }
}

// Each argument is X<A, A> of the one before it, A: 2^30 letters.
TEST(Demangle, GivesUpOnNamesThatDouble) {
  std::string symbol = "_Z1f1XIiiE";
  for (const char before : std::string("0123456789ABCDEFGHIJKLMNOPQRST")) {
    symbol += std::string("S_IS") + before + "_S" + before + "_E";
  }
  EXPECT_EQ(trace::walk::demangled(symbol), symbol);
}

/// A pack of function types in each of which the one before is twice, by its number: libiberty looks at 2^depth of
/// them.
std::string doubling_pack(int depth) {
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string type = "FviiE";
  for (int made = 0; made < depth; ++made) {
    const int number = made - 1;
    std::string text = made == 0 ? "" : std::string(1, digits[static_cast<std::size_t>(number % 36)]);
    if (number >= 36) text.insert(0, "1");
    type = "Fv" + type + "S" + text + "_E";
  }
  return "_Z1fDp" + type;
}

// Each takes minutes at least.
TEST(Demangle, GivesUpOnNamesThatTakeTooLong) {
  const std::string pack = doubling_pack(39);
  std::string conversion = "_ZN1AcvT_";  // the arguments of a template in a conversion operator are parsed twice
  for (int i = 0; i < 40; ++i) conversion += "IT_";
  conversion += "i" + std::string(40, 'E') + "Ev";
  const std::string lifetimes = "_RMINtC1a1bFGzzzzzzzzz_EuEp";  // for<…>, which is not printed
  for (const std::string& symbol : {pack, conversion, lifetimes}) EXPECT_EQ(trace::walk::demangled(symbol), symbol);
}

/// Has more numbers than any that is demangled without a process of its own.
const std::string real_pack =
    "_ZNSt5tupleIJNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES5_S5_S5_EEC2IJS5_S5_S5_RKS5_ELb1ELb1EEEDpOT_";
const std::string real_pack_text =
    "std::tuple<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >::tuple";

TEST(Demangle, GoesOnAfterNamesThatTookTooLong) {
  trace::walk::Demangler demangler;
  EXPECT_EQ(demangler.demangled(real_pack).substr(0, real_pack_text.size()), real_pack_text);
  const std::string slow = doubling_pack(39);
  for (int i = 0; i < trace::walk::Demangler::most_slow_names; ++i) {
    EXPECT_EQ(demangler.demangled(slow), slow);
    if (i > 0) continue;
    EXPECT_EQ(demangler.demangled(real_pack).substr(0, real_pack_text.size()), real_pack_text);
  }
  EXPECT_EQ(demangler.demangled(real_pack), real_pack) << "as many slow names as are allowed";
  EXPECT_EQ(trace::walk::demangled(real_pack).substr(0, real_pack_text.size()), real_pack_text);
}

}  // namespace
}  // namespace sframe_gen::test
