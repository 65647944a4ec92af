#include "files/archive/archive.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "archive_text.hpp"

namespace sframe_gen::files::archive::test {
namespace {

using namespace std::string_literals;

std::string failure_of(const std::string& text) {
  try {
    const Archive archive(bytes_of(text), "x.a");
  } catch (const MalformedInput& malformed) {
    return malformed.what();
  } catch (const Refused& refused) {
    return "refused "s + refused.what();
  }
  return {};
}

std::vector<std::string> names_of(const std::string& text) {
  const Archive archive(bytes_of(text), "x.a");
  std::vector<std::string> names;
  for (const Member& member : archive.members()) names.emplace_back(member.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(Archive, KnowsOneByItsFirstBytes) {
  EXPECT_TRUE(is_archive(bytes_of(regular)));
  EXPECT_TRUE(is_archive(bytes_of(thin)));
  EXPECT_FALSE(is_archive(bytes_of("!<arch>"s)));
  EXPECT_FALSE(is_archive(bytes_of("\177ELF and more"s)));
  EXPECT_FALSE(is_archive({}));
}

TEST(Archive, MayBeEmpty) {
  const Archive archive(bytes_of(regular), "x.a");
  EXPECT_TRUE(archive.members().empty());
  EXPECT_FALSE(archive.index());
  EXPECT_FALSE(archive.is_thin());
}

TEST(Archive, HasMembersWithTheirBytes) {
  const std::string text = regular + member("a.o/", "odd") + member("b c/", "even") + member("a.o/", "");
  const Archive archive(bytes_of(text), "x.a");
  ASSERT_EQ(archive.members().size(), 3U);
  EXPECT_EQ(names_of(text), (Names{"a.o", "b c", "a.o"}));
  EXPECT_EQ(text_of(archive.data_of(archive.members()[0])), "odd");
  EXPECT_EQ(text_of(archive.data_of(archive.members()[1])), "even");
  EXPECT_EQ(text_of(archive.data_of(archive.members()[2])), "");
  EXPECT_EQ(archive.members()[1].header_offset, 8U + 60 + 4);
  EXPECT_EQ(archive.name_of(archive.members()[1]), "x.a(b c)");
}

TEST(Archive, ReadsLongNames) {
  const std::string table = "a_long_name.o/\nanother name.o/\n";
  EXPECT_EQ(names_of(regular + member("//", table) + member("/15", "x") + member("/0", "y")),
            (Names{"another name.o", "a_long_name.o"}));
}

TEST(Archive, RefusesANameThatIsLongerThanAnyPath) {
  const std::string longest(longest_name, 'x');
  EXPECT_EQ(names_of(regular + member("//", longest + "/\n") + member("/0", "")), (Names{longest}));
  const std::string why = ": a member's name is longer than any file's";
  const std::string table = longest + "x/\n";
  EXPECT_EQ(failure_of(regular + member("//", table) + member("/0", "")), "x.a: archive+0x1048" + why);
  EXPECT_EQ(failure_of(regular + member("#1/4097", longest + "x")), "x.a: archive+0x8" + why);
}

TEST(Archive, RefusesMembersThatShareALongName) {
  std::string text = regular + member("//", std::string(longest_name, 'x') + "/\n");
  for (int i = 0; i < 400; ++i) text += member("/0", "");
  EXPECT_EQ(failure_of(text), "refused x.a: member names more than four times as large as the file");
}

TEST(Archive, ReadsBsdNames) {
  const std::string text = regular + member("#1/8", "a b.o\0\0\0data"s) + member("short.o", "more");
  const Archive archive(bytes_of(text), "x.a");
  EXPECT_EQ(names_of(text), (Names{"a b.o", "short.o"}));
  EXPECT_EQ(text_of(archive.data_of(archive.members()[0])), "data");
}

TEST(Archive, ReadsIndexes) {
  const std::uint64_t first = 8 + 60 + 16, second = first + 60 + 2;
  const std::string members = member("a.o/", "aa") + member("b.o/", "bb");
  const std::string text = regular + member("/", index_data({second, first}, "f\0g\0"s)) + members;
  const Archive archive(bytes_of(text), "x.a");
  ASSERT_TRUE(archive.index());
  EXPECT_EQ(archive.index()->kind, Index::Kind::Gnu);
  EXPECT_EQ(archive.index()->header_offsets, (std::vector<std::uint64_t>{second, first}));
  EXPECT_EQ(archive.members().size(), 2U);

  const std::string wide =
      regular + member("/SYM64/", index_data({first + 12}, "function_name\0"s, 8) /* 30 */) + members;
  EXPECT_NE(failure_of(wide), "");
  const std::string right = regular + member("/SYM64/", index_data({8 + 60 + 18}, "f\0"s, 8)) + members;
  const Archive wide_archive(bytes_of(right), "x.a");
  EXPECT_EQ(wide_archive.index()->kind, Index::Kind::GnuWide);
}

TEST(Archive, AnIndexMayBeEmpty) {
  const std::string text = regular + member("/", index_data({}, "")) + member("a/", "text");
  EXPECT_TRUE(Archive(bytes_of(text), "x.a").index()->header_offsets.empty());
}

TEST(Archive, KnowsBsdIndexes) {
  for (const auto& index : {member("__.SYMDEF", "whatever"), member("#1/20", "__.SYMDEF SORTED\0\0\0\0whatever"s)}) {
    const std::string text = regular + index + member("#1/4", "a.o\0data"s);
    const Archive archive(bytes_of(text), "x.a");
    ASSERT_TRUE(archive.index());
    EXPECT_EQ(archive.index()->kind, Index::Kind::Bsd);
    EXPECT_EQ(names_of(text), Names{"a.o"});
  }
}

TEST(Archive, ThinOnesHaveNoData) {
  const std::string text = thin + member("/", index_data({8 + 60 + 10 + 60 + 26}, "f\0"s)) +
                           member("//", "a.o/\n../b/c.o/\n/abs/d.o/\n\n") + header("/0", "1234") + header("/5", "5") +
                           header("/15", "77");
  const Archive archive(bytes_of(text), "x.a");
  EXPECT_TRUE(archive.is_thin());
  EXPECT_EQ(names_of(text), (Names{"a.o", "../b/c.o", "/abs/d.o"}));
  EXPECT_EQ(archive.members()[0].size, 1234U);
  EXPECT_TRUE(archive.data_of(archive.members()[0]).empty());
  EXPECT_FALSE(archive.members()[0].is_nested);
}

TEST(Archive, ThinOnesMayNameMembersOfOthers) {
  const std::string text = thin + member("//", "n.a/\n\n") + header("/0:78", "1234") + header("/0", "2000");
  const Archive archive(bytes_of(text), "x.a");
  EXPECT_TRUE(archive.members()[0].is_nested);
  EXPECT_EQ(archive.members()[0].name, "n.a");
  EXPECT_FALSE(archive.members()[1].is_nested);
}

TEST(Archive, TheLastPaddingMayBeMissing) {
  const std::string text = regular + header("a/", "3") + "odd";
  const Archive archive(bytes_of(text), "x.a");
  EXPECT_EQ(text_of(archive.data_of(archive.members()[0])), "odd");
  EXPECT_EQ(archive.members()[0].end, text.size());
}

// No tool reads them alike.
TEST(MalformedArchive, Headers) {
  const std::string good = regular + member("a.o/", "data");
  EXPECT_EQ(failure_of(regular + "\n"),
            "x.a: archive+0x8: a member's header needs 60 bytes, but the file ends after 1 of them");
  EXPECT_EQ(failure_of(good.substr(0, 67)),
            "x.a: archive+0x8: a member's header needs 60 bytes, but the file ends after 59 of them");
  EXPECT_EQ(failure_of(good + good), "x.a: archive+0x82: a member's header has no end mark");
  EXPECT_EQ(failure_of(good.substr(0, 71)),
            "x.a: archive+0x38: a member of 4 bytes does not fit in the file, which has 3 more");
  EXPECT_EQ(failure_of(regular + header("a/", "9999999999")),
            "x.a: archive+0x38: a member of 9999999999 bytes does not fit in the file, which has 0 more");
  for (const char* size : {"", "-1", "0x4", "4 4", " 4", "+4", "4."})
    EXPECT_EQ(failure_of(regular + header("a/", size) + "data"),
              "x.a: archive+0x38: a member's size is not a decimal number")
        << size;
}

TEST(MalformedArchive, LongNames) {
  const std::string table = member("//", "a_long_name.o/\nno end here");
  EXPECT_EQ(failure_of(regular + table + member("/15", "")),
            "x.a: archive+0x5e: the name at 0xf has no end inside the table of long names (size 26)");
  EXPECT_EQ(failure_of(regular + table + member("/9999999999999", "")),
            "x.a: archive+0x5e: the name at 0x9184e729fff has no end inside the table of long names (size 26)");
  EXPECT_EQ(failure_of(regular + member("/0", "")),
            "x.a: archive+0x8: the name at 0x0 has no end inside the table of long names (size 0)");
  EXPECT_EQ(failure_of(regular + table + table), "x.a: archive+0x5e: a second table of long names");
  EXPECT_EQ(failure_of(regular + table + member("/0:78", "")),
            "x.a: archive+0x5e: a member of another archive, but this is not a thin archive");
}

TEST(MalformedArchive, BsdNames) {
  const std::string fault = "x.a: archive+0x8: the size of a BSD name is not a number up to the member's size, 0x4";
  EXPECT_EQ(failure_of(regular + member("#1/5", "name")), fault);
  EXPECT_EQ(failure_of(regular + member("#1/", "name")), fault);
  EXPECT_EQ(failure_of(regular + member("#1/x", "name")), fault);
  EXPECT_EQ(failure_of(regular + member("#1/4", "name")), "");
  EXPECT_EQ(failure_of(thin + header("#1/4", "4")),
            "refused x.a: thin archive with BSD's long names, which no toolchain writes");
}

TEST(MalformedArchive, Indexes) {
  const std::string object = member("a.o/", "data");
  const auto with = [&](const std::string& index) { return failure_of(regular + member("/", index) + object); };
  EXPECT_EQ(with(index_data({82}, "f\0"s)), "x.a: archive+0x48: the index leads to 0x52, where no member begins");
  EXPECT_EQ(with(index_data({78}, "f\0"s)), "");
  EXPECT_EQ(with(index_data({78, 8}, "fg\0\0"s)), "x.a: archive+0x48: the index leads to 0x4e, where no member begins");
  EXPECT_EQ(with(index_data({84, 8}, "fg\0\0"s)), "x.a: archive+0x4c: the index leads to 0x8, where no member begins");
  EXPECT_EQ(with(index_data({0xffffffff}, "f\0"s)),
            "x.a: archive+0x48: the index leads to 0xffffffff, where no member begins");
  EXPECT_EQ(with("\0\0\1"s), "x.a: archive+0x44: number of symbols in the index needs 4 bytes, but only 3 are left");
  EXPECT_EQ(with("\0\0\0\2\0\0\0\1"s), "x.a: archive+0x44: the index says it has 2 symbols, but is too short for them");
  EXPECT_EQ(with(big_endian(0xffffffff, 4)),
            "x.a: archive+0x44: the index says it has 4294967295 symbols, but is too short for them");
  EXPECT_EQ(with(index_data({80}, "name")), "x.a: archive+0x4c: the index has 1 symbol, but only 0 names");
  EXPECT_EQ(failure_of(regular + member("/SYM64/", big_endian(~0ULL, 8)) + object),
            "x.a: archive+0x44: the index says it has 18446744073709551615 symbols, but is too short for them");
  EXPECT_EQ(failure_of(regular + object + member("/", index_data({8}, "f\0"s))),
            "x.a: archive+0x48: the symbol index comes after a member, where no linker looks");
}

TEST(RefusedArchive, OfOtherSystems) {
  EXPECT_EQ(failure_of("\177ELF"), "refused x.a: not an archive");
  const std::string index = member("/", index_data({}, ""));
  EXPECT_EQ(failure_of(regular + index + index),
            "refused x.a: second symbol index, which only libraries of Windows have");
  EXPECT_EQ(failure_of(regular + member("/<ECSYMBOLS>/", "")),
            "refused x.a: member name \"/<ECSYMBOLS>/\", which has a meaning of its own elsewhere");
}

// Reading never goes beyond the bytes: each prefix lies in a block of its own, where the sanitizer sees it.
TEST(MalformedArchive, AnyPrefixIsReadOrRefused) {
  const std::string whole = regular + member("/", index_data({8 + 60 + 10 + 60 + 16}, "f\0"s)) +
                            member("//", "a_long_name.o/\n\n") + member("/0", "some data") + member("#1/4", "name");
  EXPECT_EQ(failure_of(whole), "");
  std::size_t read = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<char> copy(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    try {
      const Archive archive(std::as_bytes(std::span(copy)), "x.a");
      ++read;
    } catch (const Failure&) {
    }
  }
  // Those that end where a member does, with no index that leads beyond: the magic, and the last member's padding.
  EXPECT_EQ(read, 3U);
}

/// Each byte in turn is another one: what is read then still lies in the bytes.
TEST(MalformedArchive, AnyByteMayBeWrong) {
  const std::string whole = regular + member("/", index_data({8 + 60 + 10 + 60 + 16}, "f\0"s)) +
                            member("//", "a_long_name.o/\n\n") + member("/0", "some data") + member("#1/4", "name");
  std::size_t read = 0, refused = 0;
  for (const char value : {'\0', '0', '9', ' ', '/', '\n', '\xff'}) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::vector<char> changed(whole.begin(), whole.end());
      changed[i] = value;
      const auto bytes = std::as_bytes(std::span(changed));
      try {
        const Archive archive(bytes, "x.a");
        for (const Member& found : archive.members()) {
          if (archive.is_thin()) continue;
          const auto data = archive.data_of(found);
          EXPECT_GE(data.data(), bytes.data());
          EXPECT_LE(data.data() + data.size(), bytes.data() + bytes.size());
        }
        ++read;
      } catch (const Failure&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(read, 500U);  // names, dates, owners, data
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace sframe_gen::files::archive::test
