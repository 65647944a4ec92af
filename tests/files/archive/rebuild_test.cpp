#include "files/archive/rebuild.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>

#include "archive_text.hpp"

namespace sframe_gen::files::archive::test {
namespace {

using namespace std::string_literals;

std::string rebuilt(const std::string& text, const std::map<std::size_t, std::string>& contents) {
  const Archive archive(bytes_of(text), "x.a");
  NewContents spans;
  for (const auto& [place, bytes] : contents) spans[place] = bytes_of(bytes);
  const Rebuilt result = rebuild(archive, spans);
  EXPECT_EQ(result.size(), text_of(result).size());
  return text_of(result);
}

template <class Work>
std::string failure_of(Work work) {
  try {
    work();
  } catch (const Refused& refused) {
    return refused.what();
  }
  return {};
}

TEST(Rebuild, ChangesSizeBytesAndPaddingOnly) {
  EXPECT_EQ(rebuilt(regular + member("a/", "aaa") + member("b/", "bb"), {{0, "new"}}),
            regular + member("a/", "new") + member("b/", "bb"));
  EXPECT_EQ(rebuilt(regular + member("a/", "aaa") + member("b/", "bb"), {{0, "even"}}),
            regular + member("a/", "even") + member("b/", "bb"));
  EXPECT_EQ(rebuilt(regular + member("a/", "aaaa") + member("b/", "bb"), {{0, "odd"}, {1, "longer"}}),
            regular + member("a/", "odd") + member("b/", "longer"));
  EXPECT_EQ(rebuilt(regular + member("a/", "aaaa") + member("b/", "bb"), {{1, ""}}),
            regular + member("a/", "aaaa") + member("b/", ""));
}

TEST(Rebuild, WithoutChangeGivesTheSameBytes) {
  // Padding that is no newline, and none at the end.
  const std::string text = regular + header("a/", "3") + "odd\0"s + header("b/", "1") + "x";
  const Archive archive(bytes_of(text), "x.a");
  EXPECT_TRUE(rebuild(archive, {}).is_unchanged());
  EXPECT_EQ(rebuilt(text, {}), text);
  EXPECT_EQ(rebuilt(text, {{0, "odd"}, {1, "x"}}), text);
  EXPECT_TRUE(rebuild(archive, {{0, archive.data_of(archive.members()[0])}}).is_unchanged());
  EXPECT_EQ(rebuilt(regular, {}), regular);
}

TEST(Rebuild, LeavesOddPaddingOfOthersAlone) {
  const std::string others = header("b/", "1") + "x";
  EXPECT_EQ(rebuilt(regular + header("a/", "3") + "odd\0"s + others, {{1, "y"}}),
            regular + header("a/", "3") + "odd\0"s + header("b/", "1") + "y\n");
  EXPECT_EQ(rebuilt(regular + header("a/", "3") + "odd\0"s + others, {{0, "four"}}),
            regular + header("a/", "4") + "four" + others);
}

TEST(Rebuild, IndexFollowsTheMembers) {
  const auto text = [](const std::string& a, const std::string& b, const std::string& c) {
    const std::uint64_t at_a = 8 + 60 + 24;
    const std::uint64_t at_b = at_a + member("a/", a).size();
    const std::uint64_t at_c = at_b + member("a/", b).size();
    return regular + member("/", index_data({at_c, at_a, at_b}, "f\0g\0h\0\0\0"s)) + member("a/", a) + member("a/", b) +
           member("a/", c);
  };
  const std::string before = text("one", "two", "three");
  EXPECT_EQ(rebuilt(before, {{0, "o"}}), text("o", "two", "three"));
  EXPECT_EQ(rebuilt(before, {{0, "grown"}, {1, ""}}), text("grown", "", "three"));
  EXPECT_EQ(rebuilt(before, {{0, "much longer"}, {1, "two."}, {2, ""}}), text("much longer", "two.", ""));
  EXPECT_EQ(rebuilt(before, {{2, "3"}}), text("one", "two", "3"));
}

TEST(Rebuild, WideIndexFollowsToo) {
  const auto text = [](const std::string& a) {
    const std::uint64_t at_a = 8 + 60 + 28;
    return regular + member("/SYM64/", index_data({at_a + member("a/", a).size(), at_a}, "f\0g\0"s, 8)) +
           member("a/", a) + member("b/", "b");
  };
  EXPECT_EQ(rebuilt(text("a"), {{0, "as long as this"}}), text("as long as this"));
}

TEST(Rebuild, KeepsLongNames) {
  const std::string table = member("//", "a_long_name.o/\n\n");
  EXPECT_EQ(rebuilt(regular + table + member("/0", "abc"), {{0, "d"}}), regular + table + member("/0", "d"));
}

TEST(Rebuild, KeepsBsdNames) {
  EXPECT_EQ(rebuilt(regular + member("#1/8", "a b.o\0\0\0data"s) + member("b", "x"), {{0, "other"}}),
            regular + member("#1/8", "a b.o\0\0\0other"s) + member("b", "x"));
  // The name's size makes the member's end odd.
  EXPECT_EQ(rebuilt(regular + member("#1/3", "a.odata"), {{0, "other"}}), regular + member("#1/3", "a.oother"));
}

TEST(Rebuild, RefusesToChangeBsdIndexes) {
  const std::string text = regular + member("__.SYMDEF", "whatever") + member("a.o", "data");
  EXPECT_EQ(failure_of([&] { rebuilt(text, {{0, "other"}}); }), "x.a: symbol index of BSD's form (run GNU ranlib)");
  EXPECT_EQ(rebuilt(text, {{0, "data"}}), text);
}

/// Bytes that are there only when somebody looks: the writer never does.
class Huge {
 public:
  explicit Huge(std::size_t size)
      : size_(size), address_(::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Huge() { ::munmap(address_, size_); }
  Huge(const Huge&) = delete;
  Huge& operator=(const Huge&) = delete;
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }

 private:
  std::size_t size_;
  void* address_;
};

TEST(Rebuild, RefusesOffsetsBeyondFourGibibytes) {
  const Huge huge(std::size_t{4} << 30);
  const auto grown = [&](const std::string& text, std::uint64_t less) {
    const Archive archive(bytes_of(text), "x.a");
    return rebuild(archive, {{0, huge.bytes().subspan(less)}}).size();
  };
  const std::string narrow =
      regular + member("/", index_data({8 + 60 + 10 + 62}, "f\0"s)) + member("a/", "aa") + member("b/", "b");
  // The largest offset of an even place: 0xfffffffe.
  const std::uint64_t at_b = 8 + 60 + 10 + 60;
  const std::uint64_t fits = 0xfffffffe - at_b;
  const std::uint64_t spare = huge.bytes().size() - fits;
  EXPECT_EQ(grown(narrow, spare), 0xfffffffeULL + 62);
  EXPECT_EQ(failure_of([&] { grown(narrow, spare - 2); }),
            "x.a: would grow beyond 4 GiB, which the 32-bit offsets of its symbol index cannot address");
  const std::string without = regular + member("a/", "aa") + member("b/", "b");
  EXPECT_GT(grown(without, 0), 0xfffff000U);
  const std::string wide =
      regular + member("/SYM64/", index_data({8 + 60 + 18 + 62}, "f\0"s, 8)) + member("a/", "aa") + member("b/", "b");
  EXPECT_GT(grown(wide, 0), 0xfffff000U);
}

TEST(Rebuild, RefusesSizesOfMoreThanTenDigits) {
  const Huge huge(10'000'000'000);
  const std::string text = regular + member("a/", "a");
  const Archive archive(bytes_of(text), "x.a");
  EXPECT_EQ(failure_of([&] {
              rebuild(archive, {{0, huge.bytes()}});
            }),
            "x.a(a): too large for the ten digits of its size in an archive");
  EXPECT_EQ(rebuild(archive, {{0, huge.bytes().subspan(1)}}).size(), 8U + 60 + 10'000'000'000);
}

TEST(Resize, SetsSizesOfThinArchives) {
  const auto text = [](const std::string& a, const std::string& b) {
    return thin + member("/", index_data({8 + 60 + 10 + 60 + 10}, "f\0"s)) + member("//", "a.o/\nb.o/\n") +
           header("/0", a) + header("/5", b);
  };
  const std::string before = text("1234", "5");
  const Archive archive(bytes_of(before), "x.a");
  EXPECT_EQ(text_of(resize(archive, {{0, 1235}, {1, 70000}})), text("1235", "70000"));
  EXPECT_EQ(text_of(resize(archive, {{1, 4}})), text("1234", "4"));
  EXPECT_TRUE(resize(archive, {{0, 1234}}).is_unchanged());
  EXPECT_EQ(text_of(resize(archive, {})), before);
}

}  // namespace
}  // namespace sframe_gen::files::archive::test
