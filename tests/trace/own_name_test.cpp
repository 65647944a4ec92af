#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "trace/walk/demangle.hpp"

namespace sframe_gen::test {
namespace {

TEST(OwnName, BeginsAfterTheTypeThatIsReturned) {
  for (const auto& [whole, label] : {
           std::pair{"main", "main"},
           {"fill(std::vector<int, std::allocator<int> >&)", "fill(std::vector<int, std::allocator<int> >&)"},
           {"void std::__introsort_loop<int*, long>(int*, int*, long)",
            "std::__introsort_loop<int*, long>(int*, int*, long)"},
           {"std::vector<app::Record, std::allocator<app::Record> > app::read<int, (app::Kind)1>(int)",
            "app::read<int, (app::Kind)1>(int)"},
           {"bool std::operator< <char>(A<char> const&, A<char> const&)",
            "std::operator< <char>(A<char> const&, A<char> const&)"},
           {"bool std::operator==<char>(A const&)", "std::operator==<char>(A const&)"},
           {"auto main::{lambda(auto:1)#1}::operator()<int>(int) const",
            "main::{lambda(auto:1)#1}::operator()<int>(int) const"},
           {"app::Text::operator std::string() const", "app::Text::operator std::string() const"},
           {"operator new(unsigned long)", "operator new(unsigned long)"},
           {"(anonymous namespace)::work(int)", "(anon)::work(int)"},
           {"void (anonymous namespace)::work<(anonymous namespace)::Kind>(int)", "(anon)::work<(anon)::Kind>(int)"},
           {"decltype (a->b) app::pick<int>(int)", "app::pick<int>(int)"},
           {"decltype(auto) app::pick<int>(int)", "app::pick<int>(int)"},
           {"void (*app::handler<int>(int))(char)", "void (*app::handler<int>(int))(char)"},
           {"std::string app::name[abi:cxx11]<int>()", "app::name[abi:cxx11]<int>()"},
           {"int std::sum<int>(int) [clone .constprop.0]", "std::sum<int>(int) [clone .constprop.0]"},
           {"non-virtual thunk to app::Shape::area() const", "non-virtual thunk to app::Shape::area() const"},
           {"<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend",
            "<alloc::vec::Vec<T> as core::iter::Extend<T>>::extend"},
           {"runtime.(*mheap).alloc", "runtime.(*mheap).alloc"},
           {"JS:*fib /tmp/a b.js:1", "JS:*fib /tmp/a b.js:1"},
           {"py::<module>:/tmp/a b.py", "py::<module>:/tmp/a b.py"},
           {"> )(<", "> )(<"},
           {"", ""},
       })
    EXPECT_EQ(trace::walk::short_label(whole), label);
}

}  // namespace
}  // namespace sframe_gen::test
