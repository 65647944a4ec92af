// Completions and manual agree with the tables of options and readers. The parts between ">>> NAME" and "<<<" are made
// from these; SFRAME_GEN_UPDATE_GOLDEN=1 rewrites them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <ostream>
#include <set>
#include <sstream>
#include <string>

#include "cli/completion_lists.hpp"
#include "cli/manual_lists.hpp"
#include "cli/options.hpp"
#include "support/places.hpp"

namespace sframe_gen::cli::test {
namespace {

struct Part {
  const char* file;
  const char* name;
  std::string (*make)();
};

void PrintTo(const Part& part, std::ostream* out) {
  *out << part.file << ": " << part.name;
}

const Part parts[]{
    {"completions/sframe-gen.bash", "options", bash_options},
    {"completions/_sframe-gen", "options", zsh_options},
    {"completions/sframe-gen.fish", "options", fish_options},
    {"docs/sframe-gen.1", "readers", manual_readers},
};

std::string path_of(const std::string& file) {
  return sframe_gen::test::source_folder() + "/" + file;
}

std::string read(const std::string& file) {
  std::ifstream stream(path_of(file));
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// `text` with the part made again.
std::string rewritten(const std::string& text, const Part& part) {
  std::istringstream lines(text);
  std::string result;
  bool inside = false, found = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with("<<<")) inside = false;
    if (!inside) result += line + '\n';
    if (line.find(">>> " + std::string(part.name) + ',') == std::string::npos) continue;
    result += part.make();
    inside = found = true;
  }
  EXPECT_TRUE(found && !inside) << part.file << " has no part for " << part.name;
  return result;
}

class MadeText : public testing::TestWithParam<Part> {};

TEST_P(MadeText, IsWhatTheTableSays) {
  const Part& part = GetParam();
  const std::string right = rewritten(read(part.file), part);
  if (std::getenv("SFRAME_GEN_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path_of(part.file)) << right;
  }
  EXPECT_EQ(read(part.file), right) << "SFRAME_GEN_UPDATE_GOLDEN=1 rewrites " << part.file;
}

INSTANTIATE_TEST_SUITE_P(Texts, MadeText, testing::ValuesIn(parts));

// The table itself.
TEST(OptionTable, IsSound) {
  std::set<std::string> spellings;
  std::set<std::string_view> headings;
  std::string_view heading;
  for (const Option& option : option_table()) {
    for (const std::string& spelling : spellings_of(option)) EXPECT_TRUE(spellings.insert(spelling).second) << spelling;
    EXPECT_FALSE(option.help.empty()) << option.name;
    EXPECT_EQ(option.argument.kind == ArgumentKind::None, option.argument.name.empty()) << option.name;
    EXPECT_EQ(option.argument.kind == ArgumentKind::Choice, option.argument.choices.size() != 0) << option.name;
    // zsh would read them otherwise.
    EXPECT_EQ(option.help.find_first_of("[]:'\\"), std::string::npos) << option.name;
    // Options with one heading are one piece of the table.
    if (option.heading != heading) {
      EXPECT_TRUE(headings.insert(option.heading).second) << option.heading;
    }
    heading = option.heading;
  }
}

const Option& option_named(std::string_view name) {
  return *std::ranges::find(option_table(), name, &Option::name);
}

TEST(OptionTable, ExclusionGoesBothWays) {
  for (const Option& one : option_table()) {
    EXPECT_FALSE(exclude_each_other(one, one)) << one.name;
    for (const Option& other : option_table())
      EXPECT_EQ(exclude_each_other(one, other), exclude_each_other(other, one)) << one.name << ' ' << other.name;
  }
  EXPECT_TRUE(exclude_each_other(option_named("quiet"), option_named("verbose")));
  EXPECT_TRUE(exclude_each_other(option_named("dump"), option_named("output")));
  EXPECT_FALSE(exclude_each_other(option_named("emit"), option_named("output")));
}

// The manual's text of each option is its own; the list is the table's.
TEST(Manual, ListsEveryOption) {
  const std::string page = read("docs/sframe-gen.1");
  const std::size_t begin = page.find(".SH OPTIONS\n");
  std::istringstream lines(page.substr(begin, page.find("\n.SH ", begin) - begin));
  std::string listed;
  bool has_text = true;
  for (std::string line; std::getline(lines, line);) {
    const bool is_tag = line.starts_with(".B \\-") || line.starts_with(".BR \\-");
    if (is_tag || line.starts_with(".SS ")) listed += line + '\n';
    EXPECT_TRUE(has_text || !line.starts_with('.')) << "no text before " << line;
    has_text = !is_tag;
  }
  EXPECT_EQ(listed, listed_options());
}

// What no table makes.
TEST(Manual, HasEveryFormat) {
  const std::string page = read("docs/sframe-gen.1");
  std::size_t at = page.find(".SH FORMATS\n");
  ASSERT_NE(at, std::string::npos);
  for (const Choice& version : option_named("sframe-version").argument.choices) {
    at = page.find("\n.TP\n.B " + std::string(version.name) + "\n", at);
    ASSERT_NE(at, std::string::npos) << version.name;
  }
}

TEST(Help, NamesEveryOption) {
  for (const Option& option : option_table())
    EXPECT_NE(help_text().find("--" + std::string(option.name)), std::string::npos) << option.name;
}

TEST(Readers, AreAllListed) {
  for (const ReaderTarget& target : reader_targets())
    EXPECT_NE(("\n" + readers_text()).find("\n" + std::string(target.name) + "  "), std::string::npos) << target.name;
  EXPECT_NE(readers_text().find("for --check only"), std::string::npos);
}

}  // namespace
}  // namespace sframe_gen::cli::test
