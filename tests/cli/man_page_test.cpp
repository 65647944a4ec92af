// The man page keeps up with the program: options, values, readers.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "cli/options.hpp"
#include "sframe_gen/format.hpp"

namespace sframe_gen::cli {
namespace {

/// Its text with the hyphens as they are printed.
std::string man_page() {
  std::ifstream stream(SFRAME_GEN_SOURCE_DIR "/docs/sframe-gen.1");
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  for (std::size_t at = 0; (at = text.find("\\-", at)) != std::string::npos;) text.erase(at, 1);
  return text;
}

/// The options at the beginnings of its lines.
std::set<std::string> options_of_help() {
  std::istringstream lines(help_text());
  std::set<std::string> options;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("  -", 0) != 0) continue;
    const std::size_t at = line.find("--");
    options.insert(line.substr(at, line.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at) - at));
  }
  return options;
}

TEST(ManPage, HasEveryOption) {
  const std::string page = man_page();
  const auto options = options_of_help();
  EXPECT_GE(options.size(), 17U);
  for (const std::string& option : options) {
    const bool named = page.find("\n.B " + option + "\n") != std::string::npos ||
                       page.find("\n.BR " + option + " \"") != std::string::npos ||
                       page.find("\", \" " + option) != std::string::npos;
    EXPECT_TRUE(named) << option;
  }
}

TEST(ManPage, HasEveryReaderInItsOrder) {
  const std::string page = man_page();
  std::size_t at = page.find(".SH READERS\n");
  ASSERT_NE(at, std::string::npos);
  for (const ReaderTarget& target : reader_targets()) {
    at = page.find("\n.TP\n.B " + std::string(target.name) + "\n", at);
    ASSERT_NE(at, std::string::npos) << target.name;
  }
}

TEST(ManPage, HasEveryFormat) {
  const std::string page = man_page();
  std::size_t at = page.find(".SH FORMATS\n");
  ASSERT_NE(at, std::string::npos);
  for (const char* format : {"3", "2", "1", "ctf"}) {
    at = page.find("\n.TP\n.B " + std::string(format) + "\n", at);
    ASSERT_NE(at, std::string::npos) << format;
  }
}

TEST(Help, NamesEveryReader) {
  for (const ReaderTarget& target : reader_targets()) {
    EXPECT_NE(help_text().find("\n  " + std::string(target.name) + "  "), std::string::npos) << target.name;
  }
}

}  // namespace
}  // namespace sframe_gen::cli
