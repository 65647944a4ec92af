// docs/rules.md, which says what becomes of each rule, is what the program does: every cell of its tables is computed
// here. SFRAME_GEN_UPDATE_GOLDEN=1 rewrites the tables.

#include "emit/rules_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "emit/all_reasons.hpp"
#include "emit/selected.hpp"
#include "emit/spelled_encoder.hpp"
#include "sframe_gen/section.hpp"
#include "support/places.hpp"

namespace sframe_gen::test {
namespace {

using sframe::Abi;

constexpr std::pair<const char*, Abi> machines[]{
    {"x86-64", Abi::Amd64}, {"aarch64", Abi::Aarch64Little}, {"s390x", Abi::S390x}};

const std::string document = sframe_gen::test::source_folder() + "/docs/rules.md";

Spelled selected(const DwarfRule& rule, Abi abi, const emit::Dialect& dialect) {
  SpelledFunction function = usual_function(abi);
  rule.apply(function);
  return select(function, dialect);
}

std::string cell(const Spelled& result) {
  if (!result.holes.empty()) return std::string(key_of(result.holes[0].reason));
  const sframe::Fde& function = result.fdes.at(0);
  if (!function.fres[0].recovery) return "**no data words**";
  if (function.pc_type == sframe::PcType::Mask) return "**default**, repeating";
  std::string text = function.type == sframe::FdeType::Flexible ? "**flexible**" : "**default**";
  if (function.fres[0].recovery->mangled_ra) text += ", signed";
  if (function.fres.size() > 1) text += ", entry by entry";
  if (function.b_key) text += ", B key";
  if (function.signal_frame) text += ", signal";
  return text;
}

/// The cells of one line.
std::vector<std::string> cells(const DwarfRule& rule, Abi abi) {
  std::vector<std::string> result;
  for (const FormatColumn& column : format_columns(abi)) {
    result.push_back(cell(selected(rule, abi, dialect_of(abi, column.format))));
  }
  return result;
}

std::string joined(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += ' ' + cell + " |";
  return text + '\n';
}

/// Rules of which a version, or a switch, makes something else than another.
std::string table_by_version(Abi abi) {
  std::vector<std::string> head{"DWARF"};
  for (const FormatColumn& column : format_columns(abi)) head.emplace_back(column.text);
  std::string text = joined(head) + joined(std::vector<std::string>(head.size(), "---"));
  for (const DwarfRule& rule : dwarf_rules(abi)) {
    std::vector<std::string> line = cells(rule, abi);
    if (std::ranges::count(line, line[0]) == std::ssize(line)) continue;
    line.insert(line.begin(), rule.text);
    text += joined(line);
  }
  return text;
}

/// Rules that every version takes alike.
std::string table_of_the_rest(Abi abi) {
  std::string text = joined({"DWARF", "every version"}) + joined({"---", "---"});
  for (const DwarfRule& rule : dwarf_rules(abi)) {
    const std::vector<std::string> line = cells(rule, abi);
    if (std::ranges::count(line, line[0]) == std::ssize(line)) text += joined({rule.text, line[0]});
  }
  return text;
}

std::string reasons() {
  std::string text = "| key | meaning |\n|---|---|\n";
  for (const Unrepresentable reason : all_reasons())
    text += "| " + std::string(key_of(reason)) + " | " + std::string(sentence_of(reason)) + " |\n";
  return text;
}

/// What belongs below the line "<!-- NAME -->".
std::string computed(const std::string& name) {
  if (name == "reasons") return reasons();
  for (const auto& [prefix, abi] : machines) {
    if (name == std::string(prefix) + " by version") return table_by_version(abi);
    if (name == std::string(prefix) + ", the rest") return table_of_the_rest(abi);
  }
  ADD_FAILURE() << "docs/rules.md asks for " << name;
  return {};
}

std::string read_document() {
  std::ifstream stream(document);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The document with its tables computed again.
std::string rewritten(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  bool in_table = false;
  for (std::string line; std::getline(lines, line);) {
    if (in_table && line.rfind('|', 0) == 0) continue;
    in_table = line.rfind("<!-- ", 0) == 0;
    result += line + '\n';
    if (in_table) result += '\n' + computed(line.substr(5, line.find(" -->") - 5));
    if (in_table) std::getline(lines, line);  // the empty line before the table
  }
  return result;
}

TEST(RulesTable, IsWhatTheProgramDoes) {
  const std::string text = read_document();
  const std::string right = rewritten(text);
  if (std::getenv("SFRAME_GEN_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(document) << right;
  }
  EXPECT_EQ(read_document(), right) << "SFRAME_GEN_UPDATE_GOLDEN=1 rewrites the tables";
}

TEST(RulesTable, HasEveryTable) {
  const std::string text = read_document();
  EXPECT_NE(text.find("<!-- reasons -->"), std::string::npos);
  for (const auto& [name, abi] : machines) {
    for (const char* part : {" by version", ", the rest"}) {
      EXPECT_NE(text.find("<!-- " + std::string(name) + part + " -->"), std::string::npos) << name << part;
    }
  }
}

TEST(RulesTable, ReachesEveryReason) {
  std::string tables;
  for (const auto& [name, abi] : machines) tables += table_by_version(abi) + table_of_the_rest(abi);
  for (const Unrepresentable reason : all_reasons()) {
    const std::string key(key_of(reason));
    EXPECT_NE(tables.find(" " + key + " |"), std::string::npos) << key;
  }
}

TEST(RulesTable, IsTheSameForBothByteOrdersOfAarch64) {
  EXPECT_EQ(table_by_version(Abi::Aarch64Big), table_by_version(Abi::Aarch64Little));
  EXPECT_EQ(table_of_the_rest(Abi::Aarch64Big), table_of_the_rest(Abi::Aarch64Little));
}

class RulesOf : public testing::TestWithParam<Abi> {};

// A cell that names a form is a section that readers take, and says the same when it is read again.
TEST_P(RulesOf, EveryFormCanBeWrittenAndReadAgain) {
  const Abi abi = GetParam();
  std::size_t forms = 0;
  for (const DwarfRule& rule : dwarf_rules(abi)) {
    for (const FormatColumn& column : format_columns(abi)) {
      const emit::Dialect dialect = dialect_of(abi, column.format);
      const Spelled result = selected(rule, abi, dialect);
      if (result.fdes.empty()) continue;
      SpelledEncoder encoder(dialect);
      for (const sframe::Fde& function : result.fdes) encoder.add(function);
      const bool ctf = column.format.version == Version::CtfFrame;
      const sframe::Section section = sframe::decode(encoder.encode(0x2000), 0x2000, {rule.text, column.text}, {},
                                                     ctf ? sframe::Family::CtfFrame : sframe::Family::SFrame);
      EXPECT_EQ(section.fdes, result.fdes) << rule.text << ", " << column.text;
      EXPECT_EQ(section.abi, abi);
      ++forms;
    }
  }
  EXPECT_GT(forms, 50U);
}

INSTANTIATE_TEST_SUITE_P(Machines, RulesOf,
                         testing::Values(Abi::Amd64, Abi::Aarch64Little, Abi::Aarch64Big, Abi::S390x),
                         [](const auto& tested) {
                           const std::string name(sframe::name_of(tested.param));
                           return name == "AArch64 (big-endian)" ? std::string("AArch64Big") : name;
                         });

}  // namespace
}  // namespace sframe_gen::test
