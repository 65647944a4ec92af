// What a converted file keeps of the original, and that nothing else is ever given back.

#include <gtest/gtest.h>

#include "elf/records.hpp"
#include "rewrite/undo/undo_record.hpp"
#include "toolbox.hpp"

namespace sframe_gen::elf::test {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

const rewrite::UndoRecord example{.pieces = {{5, 1000, 70}, {0, 900, 20}, {2, 0, 0}},
                                  .literals = bytes_of("literal"),
                                  .new_index_of = {0, 2, 1, 3, 70000},
                                  .corrections = {{3, bytes_of("ab")}, {std::uint64_t{1} << 40, bytes_of("c")}}};

TEST(Deflate, DictionaryHasToBeTheSame) {
  const auto text = bytes_of("what a converted file says in its headers");
  const auto dictionary = bytes_of("a converted file says in its");
  const auto stream = rewrite::deflate(text, dictionary);
  EXPECT_LT(stream.size(), deflate(text, {}).size());
  EXPECT_EQ(inflate(stream, text.size(), dictionary), text);
  EXPECT_FALSE(inflate(stream, text.size(), {}));
  EXPECT_FALSE(inflate(stream, text.size(), bytes_of("a converted file says in itS")));
}

TEST(Deflate, DamageAndWrongSizesAreNoticed) {
  const auto text = bytes_of(std::string(5000, 'x') + "tail");
  const auto stream = rewrite::deflate(text, {});
  EXPECT_EQ(inflate(stream, text.size(), {}), text);
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{5003}, std::uint64_t{5005}, UINT64_MAX})
    EXPECT_FALSE(inflate(stream, size, {})) << size;
  EXPECT_FALSE(inflate(std::span(stream).first(stream.size() - 1), text.size(), {}));
  auto longer = stream;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(inflate(longer, text.size(), {}));
}

TEST(UndoRecord, ComesBackAsItWas) {
  for (const rewrite::UndoRecord& record : {rewrite::UndoRecord{}, example}) {
    const auto dictionary = bytes_of("dictionary");
    auto encoded = rewrite::encode_undo(record, dictionary).value();
    rewrite::digest_of(encoded)[15] = std::byte{7};
    const auto decoded = rewrite::decode_undo(encoded, dictionary, {"file", "record"});
    ASSERT_TRUE(decoded);
    EXPECT_EQ(decoded->record, record);
    EXPECT_EQ(decoded->digest[15], std::byte{7});
    EXPECT_FALSE(decode_undo(encoded, bytes_of("another"), {"file", "record"}));
  }
}

TEST(UndoRecord, OfAnotherFormatIsNamed) {
  auto encoded = rewrite::encode_undo(example, {}).value();
  encoded[3] = std::byte{2};
  EXPECT_EQ(failure_of([&] {
              decode_undo(encoded, {}, {"file", "record"});
            }),
            "file: converted by another version of sframe-gen; use that one for --remove");
}

/// Any body may stand in a stream that is itself sound.
TEST(UndoRecord, HostileBodiesAreMalformed) {
  const auto good = rewrite::encode_undo(example, {}).value();
  const auto body_of = [](std::span<const std::byte> encoded) {
    return *rewrite::inflate(encoded.subspan(21), std::to_integer<std::uint64_t>(encoded[20]), {});
  };
  const auto body = body_of(good);
  std::size_t decoded = 0;
  for (std::size_t at = 0; at < body.size(); ++at) {
    for (const std::byte poked : {std::byte{0}, std::byte{0x7f}, std::byte{0x80}, std::byte{0xff}}) {
      auto bad = body;
      bad[at] = poked;
      std::vector<std::byte> encoded(good.begin(), good.begin() + 21);
      const auto stream = rewrite::deflate(bad, {});
      encoded.insert(encoded.end(), stream.begin(), stream.end());
      try {
        if (rewrite::decode_undo(encoded, {}, {"file", "record"})) ++decoded;
      } catch (const MalformedInput& failure) {
        EXPECT_NE(std::string(failure.what()).find("file: record+0x"), std::string::npos);
      }
    }
  }
  EXPECT_LT(decoded, 4 * body.size());
}

/// Whoever reads a record can be made to take time and memory by a larger one.
TEST(UndoRecord, IsWrittenOnlyIfItWouldBeRead) {
  rewrite::UndoRecord record;
  record.pieces.resize(rewrite::most_undo_pieces);
  const auto largest = rewrite::encode_undo(record, {});
  ASSERT_TRUE(largest);
  EXPECT_EQ(decode_undo(*largest, {}, {"file", "record"})->record, record);
  record.pieces.emplace_back();
  EXPECT_FALSE(encode_undo(record, {}));

  rewrite::UndoRecord zeros{{{std::uint64_t{32} << 20U, 0, 0}}, std::vector<std::byte>(std::size_t{32} << 20U), {}, {}};
  EXPECT_FALSE(encode_undo(zeros, {}));
}

TEST(IndexTables, RenumberingIsTakenBack) {
  // Sections 1 and 2 changed places, and one was added in front of 3.
  const std::vector<std::uint32_t> new_index_of{0, 2, 1, 4};
  const std::vector<std::uint16_t> now{0, 2, 1, 4, SHN_ABS, SHN_COMMON, 5000};
  const std::vector<std::uint16_t> before{0, 1, 2, 3, SHN_ABS, SHN_COMMON, 5000};
  for (const Endian endian : {Endian::Little, Endian::Big}) {
    std::vector<std::byte> symbols(now.size() * sizeof(Elf64_Sym));
    const auto index_at = [&](std::size_t i) {
      return std::span(symbols).subspan(i * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_shndx), 2);
    };
    for (std::size_t i = 0; i < now.size(); ++i) store(index_at(i), now[i], endian);
    rewrite::restore_section_indices(symbols, SHT_SYMTAB, endian, new_index_of);
    for (std::size_t i = 0; i < now.size(); ++i) EXPECT_EQ(load<std::uint16_t>(index_at(i), endian), before[i]);

    std::vector<std::byte> group(3 * sizeof(std::uint32_t));
    const auto word_at = [&](std::size_t i) { return std::span(group).subspan(4 * i, 4); };
    for (std::size_t i = 0; i < 3; ++i) store<std::uint32_t>(word_at(i), i == 2 ? 4 : 1, endian);
    rewrite::restore_section_indices(group, SHT_GROUP, endian, new_index_of);
    EXPECT_EQ(load<std::uint32_t>(word_at(0), endian), 1U);  // flags
    EXPECT_EQ(load<std::uint32_t>(word_at(1), endian), 2U);
    EXPECT_EQ(load<std::uint32_t>(word_at(2), endian), 3U);
  }
}

class Undo : public testing::Test {
 protected:
  void SetUp() override { inject(small_library(), folder_ / "converted", 0x100); }

  std::string restore(const std::string& name) {
    return failure_of(
        [&] { rewrite::write_original(Image::open(folder_ / name), sframe_section, folder_ / "restored"); });
  }
  void expect_changed(const std::string& name) {
    EXPECT_NE(restore(name).find("modified since its conversion"), std::string::npos) << name;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "restored"));
  }

  Folder folder_;
};

TEST_F(Undo, GivesBackTheOriginal) {
  EXPECT_EQ(restore("converted"), "");
  EXPECT_TRUE(read_text(folder_ / "restored") == read_text(small_library()));
  EXPECT_LT(Image::open(folder_ / "converted").find_section(".sframe_undo")->header.sh_size, 512U);
}

TEST_F(Undo, EveryChangedByteIsNoticed) {
  const std::string good = read_text(folder_ / "converted");
  std::size_t step = 1;
  for (std::size_t at = 0; at < good.size(); at += step) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    std::ofstream(folder_ / "bad", std::ios::binary) << bad;
    const std::string why = restore("bad");
    EXPECT_NE(why, "") << at;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "restored")) << at;
    step = 7;
  }
}

TEST_F(Undo, AppendedBytesAreNoticed) {
  std::ofstream(folder_ / "converted", std::ios::app) << "payload";
  expect_changed("converted");
}

TEST_F(Undo, WhatOtherToolsMadeOfItIsNot) {
  for (const std::string tool : {"strip", "objcopy", "eu-strip", "patchelf --set-rpath /nowhere"}) {
    std::filesystem::copy_file(folder_ / "converted", folder_ / "changed",
                               std::filesystem::copy_options::overwrite_existing);
    ASSERT_EQ(run(tool + " " + (folder_ / "changed").string()).status, 0) << tool;
    ASSERT_NE(read_text(folder_ / "changed"), read_text(folder_ / "converted")) << tool;
    EXPECT_NE(restore("changed"), "") << tool;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "restored")) << tool;
  }
}

TEST_F(Undo, FilesOfOthersHaveNothingToUndo) {
  EXPECT_NE(failure_of([&] {
              write_original(Image::open(small_library()), sframe_section, folder_ / "restored");
            }).find("no .sframe section to remove"),
            std::string::npos);
  drop_record(folder_ / "converted");
  EXPECT_NE(restore("converted").find("no undo record ("), std::string::npos);
}

TEST_F(Undo, AnotherSectionIsUndoneFirst) {
  inject(folder_ / "converted", folder_ / "both", 0x40, ctf_frame_section);
  expect_changed("both");
  rewrite::write_original(Image::open(folder_ / "both"), ctf_frame_section, folder_ / "restored");
  EXPECT_TRUE(read_text(folder_ / "restored") == read_text(folder_ / "converted"));
}

TEST_F(Undo, TrailingZerosComeBack) {
  change(small_library(), folder_ / "zeros", [](Fields& f) { f.bytes += std::string(100000, '\0'); });
  inject(folder_ / "zeros", folder_ / "converted", 64);  // compares
  EXPECT_LT(Image::open(folder_ / "converted").find_section(".sframe_undo")->header.sh_size, 1024U);
}

}  // namespace
}  // namespace sframe_gen::elf::test
