// Each case of corpus/: plain.elf goes through the library, and the result is held against GNU's for the same
// source, against libdwarf, and against the golden dump in the case's folder. SFRAME_GEN_UPDATE_GOLDEN=1 rewrites
// the golden dumps.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cfi/frame_source.hpp"
#include "cli/options.hpp"
#include "corpus/pc_table.hpp"
#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "encode/encode_functions.hpp"
#include "sframe/dump.hpp"
#include "sframe_gen/section.hpp"
#include "support/places.hpp"
#include "verify/verify.hpp"

namespace sframe_gen::test {
namespace {

namespace fs = std::filesystem;

const fs::path corpus_folder = fs::path(sframe_gen::test::source_folder()) / "corpus";

std::string read_text(const fs::path& path) {
  std::ifstream stream(path);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Value of `key` in case.txt.
std::string case_value(const fs::path& folder, const std::string& key) {
  std::istringstream lines(read_text(folder / "case.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key + ": ", 0) == 0) return line.substr(key.size() + 2);
  }
  return {};
}

/// The format that the case's `options:` choose, as the command line reads them.
OutputFormat format_of(const fs::path& folder) {
  std::vector<std::string> words{"sframe-gen", "plain.elf"};
  std::istringstream options(case_value(folder, "options"));
  for (std::string word; options >> word;) words.push_back(word);
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return cli::read_command_line(static_cast<int>(arguments.size()), arguments.data()).convert.format;
}

/// GNU's section of a case: empty bytes where the assembler skipped every function.
struct GnuSection {
  std::vector<std::byte> bytes;
  std::uint64_t address = 0x1000;
  sframe::Section decoded;
};

GnuSection read_gnu(const fs::path& folder) {
  GnuSection gnu;
  if (!fs::exists(folder / "gnu.elf")) return gnu;
  const elf::Image image = elf::Image::open(folder / "gnu.elf");
  const elf::Section* const section = image.find_section(".sframe");
  if (section == nullptr) return gnu;
  const auto bytes = image.bytes_of(*section);
  gnu.bytes.assign(bytes.begin(), bytes.end());
  gnu.address = section->header.sh_addr;
  return gnu;
}

/// The bytes that expected.txt says by hand, for a section at GnuSection's default address: hex, '#' starts a comment.
std::vector<std::byte> read_expected(const fs::path& folder) {
  std::istringstream lines(read_text(folder / "expected.txt"));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "at 0x1000");
  std::vector<std::byte> bytes;
  while (std::getline(lines, line)) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) {
      for (std::size_t i = 0; i + 1 < word.size(); i += 2) {
        bytes.push_back(static_cast<std::byte>(std::stoi(word.substr(i, 2), nullptr, 16)));
      }
    }
  }
  return bytes;
}

class Corpus : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    folder_ = corpus_folder / GetParam();
    keyword_ = case_value(folder_, "gnu");
    plain_.emplace(elf::Image::open(folder_ / "plain.elf"));
    gnu_ = read_gnu(folder_);
    const cfi::FrameSource source(*plain_, *plain_);
    dialect_ = emit::make_dialect(format_of(folder_), elf::machine_of(*plain_).abi, "plain.elf");
    const encode::EncodedFunctions encoded = encode::encode_functions(source, {}, dialect_);
    const emit::SectionEncoder& encoder = encoded.encoder;
    coverage_ = encoded.coverage;
    bytes_ = encoder.encode(gnu_.address);
    const bool ctf_frame = dialect_.version->version == sframe::Version::CtfFrame;
    ours_ = sframe::decode(bytes_, gnu_.address, {"ours", name()}, {.allow_fre_at_end = false},
                           ctf_frame ? sframe::Family::CtfFrame : sframe::Family::SFrame);
  }

  std::string name() const { return std::string(dialect_.version->section_name); }

  /// GNU's table, where its bytes are sound.
  std::vector<PcStretch> gnu_table() const {
    if (gnu_.bytes.empty()) return {};
    return pc_table(sframe::decode(gnu_.bytes, gnu_.address, {"gnu.elf", ".sframe"}));
  }

  fs::path folder_;
  std::string keyword_;
  std::optional<elf::Image> plain_;
  emit::Dialect dialect_;
  GnuSection gnu_;
  Coverage coverage_;
  std::vector<std::byte> bytes_;
  sframe::Section ours_;
};

TEST_P(Corpus, SaysWhatTheDwarfSays) {
  const Verification result = verify::verify(ours_, *plain_, *plain_, [](std::uint64_t, std::uint64_t) {});
  // Where libdwarf errs, it says so.
  std::string error_of_libdwarf = case_value(folder_, "verify");
  constexpr bool is_newer = SFRAME_GEN_LIBDWARF_INTERFACE_A != 0;
  if (is_newer && error_of_libdwarf.empty()) error_of_libdwarf = case_value(folder_, "verify-newer");
  EXPECT_EQ(result.unchecked_count > 0, !error_of_libdwarf.empty());
  EXPECT_EQ(result.difference_count, 0U);
  for (const Verification::Difference& difference : result.differences) {
    if (error_of_libdwarf.empty()) ADD_FAILURE() << text_of(difference);
  }
  EXPECT_EQ(result.claimed_bytes, coverage_.covered_bytes);
  if (!ours_.fdes.empty()) {
    EXPECT_GT(result.checked_pcs, 0U);
  }
}

TEST_P(Corpus, AgreesWithGnuAsFarAsGnuIsRight) {
  const std::vector<PcStretch> ours = pc_table(ours_);
  if (keyword_ == "identical") {
    EXPECT_TRUE(bytes_ == gnu_.bytes) << "descriptors or rows differ from GNU's";
    EXPECT_EQ(ours, gnu_table());
  } else if (keyword_ == "same-rows" || keyword_ == "left-out") {
    EXPECT_EQ(ours, gnu_table());
  } else if (keyword_ == "more") {
    const auto gnu = gnu_table();
    for (const PcStretch& stretch : gnu) {
      for (std::uint64_t pc = stretch.begin; pc < stretch.end; ++pc) {
        const PcStretch* const our = find(ours, pc);
        ASSERT_TRUE(our != nullptr) << hex(pc);
        EXPECT_EQ(our->recovery, stretch.recovery) << hex(pc);
      }
    }
    const auto size = [](const std::vector<PcStretch>& table) {
      std::uint64_t bytes = 0;
      for (const PcStretch& stretch : table) bytes += stretch.end - stretch.begin;
      return bytes;
    };
    EXPECT_GT(size(ours), size(gnu));
  } else if (keyword_ == "none") {
    EXPECT_FALSE(fs::exists(folder_ / "gnu.elf"));
    EXPECT_EQ(bytes_, read_expected(folder_));
  } else {
    ASSERT_EQ(keyword_, "wrong");
    bool differs = false;
    try {
      differs = gnu_table() != ours;
    } catch (const MalformedInput&) {
      differs = true;  // not even well formed
    }
    EXPECT_TRUE(differs) << "GNU's rows are said to be wrong, but ours are the same";
    EXPECT_FALSE(case_value(folder_, "why").empty());
  }
}

/// Readelf's text of a dump, without what the assembler said.
std::string readelf_text(const fs::path& file) {
  const std::string text = read_text(file);
  const std::size_t said = text.find("\nas said:");
  return said == std::string::npos ? text : text.substr(0, said + 1);
}

TEST_P(Corpus, DumpsAsReadelfDoes) {
  std::ostringstream ours;
  if (fs::exists(folder_ / "expected-2.47.txt")) {
    sframe::dump(ours_, name(), ours);
    EXPECT_EQ(ours.str(), readelf_text(folder_ / "expected-2.47.txt"));
  } else if (fs::exists(folder_ / "gnu-2.47.txt") && !gnu_.bytes.empty() && keyword_ != "wrong") {
    const InputOrigin origin{"gnu.elf", ".sframe"};
    sframe::dump(sframe::decode(gnu_.bytes, gnu_.address, origin), ".sframe", ours);
    EXPECT_EQ(ours.str(), readelf_text(folder_ / "gnu-2.47.txt"));
  }
}

TEST_P(Corpus, MatchesTheGoldenDump) {
  std::ostringstream text;
  sframe::dump(ours_, name(), text);
  text << "\nleft out:\n";
  for (const NamedCoverageHole& named : coverage_.holes) {
    text << "  " << hex(named.hole.begin) << ".." << hex(named.hole.end) << ' ' << sentence_of(named.hole.reason)
         << '\n';
  }
  const fs::path golden = folder_ / "ours.txt";
  if (std::getenv("SFRAME_GEN_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(golden) << text.str();
  }
  EXPECT_EQ(text.str(), read_text(golden)) << "SFRAME_GEN_UPDATE_GOLDEN=1 rewrites " << golden;
}

/// "amd64/leaf", …
std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(corpus_folder)) {
    if (entry.path().filename() != "case.txt") continue;
    names.push_back(fs::relative(entry.path().parent_path(), corpus_folder).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Case, Corpus, testing::ValuesIn(case_names()), [](const auto& instance) {
  std::string name = instance.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '/'; }, '_');
  return name;
});

TEST(CorpusFolder, HoldsAllItsCases) {
  const std::vector<std::pair<std::string, std::size_t>> least{{"amd64/", 90}, {"aarch64/", 12}, {"s390x/", 12},
                                                               {"v2/", 10},    {"v1/", 6},       {"ctf/", 4}};
  const auto names = case_names();
  for (const auto& wanted : least) {
    const auto found =
        std::count_if(names.begin(), names.end(), [&](const auto& name) { return name.starts_with(wanted.first); });
    EXPECT_GE(static_cast<std::size_t>(found), wanted.second) << wanted.first;
  }
}

}  // namespace
}  // namespace sframe_gen::test
