#pragma once

#include <cctype>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/options.hpp"
#include "sframe_gen/format.hpp"

/// The lists in the manual, by the tables of options and readers.
namespace sframe_gen::cli::test {

using command_line::Option;

inline std::string roff_hyphens(const std::string& text) {
  return std::regex_replace(text, std::regex("-"), "\\-");
}

/// "FILE|FORM|OUT": the words that stand for what a user gives.
inline std::string argument_names() {
  std::string names = "FILE";
  for (const Option& option : option_table()) {
    if (!option.argument.name.empty()) names += '|' + std::string(option.argument.name);
  }
  return names;
}

/// Text as roff: options and what stands between stars bold, the names of arguments in italics.
inline std::string roff_of(const std::string& text) {
  const std::regex marked(R"(\*([^*]+)\*|(--[a-z][a-z-]*(?:=[a-z]+)?)|\b()" + argument_names() + R"()\b)");
  std::string result;
  std::size_t plain = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), marked), end; match != end; ++match) {
    const auto at = static_cast<std::size_t>(match->position());
    result += text.substr(plain, at - plain);
    const bool italic = (*match)[3].matched;
    const std::string words = (*match)[1].matched ? (*match)[1].str() : match->str();
    result += (italic ? "\\fI" : "\\fB") + roff_hyphens(words) + "\\fR";
    plain = at + static_cast<std::size_t>(match->length());
  }
  return result + text.substr(plain);
}

/// Lines of at most 120 columns, a new one for each sentence, as roff likes it.
inline std::string roff_paragraph(std::string_view text) {
  std::istringstream words(roff_of(std::string(text)));
  std::string result, line;
  for (std::string word; words >> word;) {
    const bool sentence = line.ends_with('.');
    if (!line.empty() && (sentence || line.size() + 1 + word.size() > 120)) {
      result += line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return result + line + '\n';
}

/// ".BR \-o ", " \-\-output " \fIOUT\fR""
inline std::string roff_tag(const Option& option) {
  std::string tag = option.letter == 0 ? "" : std::string("\\-") + option.letter + " \", \" ";
  tag += "\\-\\-" + roff_hyphens(std::string(option.name));
  const bool optional = !option.argument.alone.empty();
  const std::string before = optional ? " \"[=\\fI" : " \" \\fI";
  const std::string after = optional ? "\\fR]\"" : "\\fR\"";
  if (!option.argument.name.empty()) tag += before + std::string(option.argument.name) + after;
  return (tag.find(' ') == std::string::npos ? ".B " : ".BR ") + tag + '\n';
}

/// The headings and options that the page lists under OPTIONS, in its order.
inline std::string listed_options() {
  std::string text, heading;
  for (const Option& option : option_table()) {
    if (option.heading != heading) text += ".SS " + std::string(option.heading) + '\n';
    heading = option.heading;
    text += roff_tag(option);
  }
  return text;
}

inline std::string manual_readers() {
  std::string text;
  for (const ReaderTarget& target : reader_targets()) {
    text += ".TP\n.B " + std::string(target.name) + '\n' + roff_paragraph(std::string(target.meaning) + '.');
  }
  return text;
}

}  // namespace sframe_gen::cli::test
