#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"
#include "cli/wrong_usage.hpp"
#include "sframe_gen/check.hpp"
#include "sframe_gen/format.hpp"

/// The lists in the completions of bash, zsh and fish, made from the option table.
namespace sframe_gen::cli::test {

using command_line::Argument;
using command_line::ArgumentKind;
using command_line::Choice;
using command_line::Option;

/// "-o", "--output"
inline std::vector<std::string> spellings_of(const Option& option) {
  std::vector<std::string> spellings;
  if (option.letter != 0) spellings.push_back(std::string("-") + option.letter);
  spellings.push_back("--" + std::string(option.name));
  return spellings;
}

inline std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(between)) + word;
  return text;
}

inline std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

struct Word {
  std::string text, meaning;
};

/// What an option takes, if that is one of some words.
inline std::vector<Word> words_of(const Argument& argument) {
  std::vector<Word> words;
  for (const Choice& choice : argument.choices)
    words.push_back({std::string(choice.name), std::string(choice.meaning)});
  if (argument.kind == ArgumentKind::Reader || argument.kind == ArgumentKind::Target) {
    for (const ReaderTarget& target : reader_targets())
      if (argument.kind == ArgumentKind::Reader || why_no_format(target).empty())
        words.push_back({std::string(target.name), std::string(target.meaning)});
  }
  return words;
}

inline std::vector<std::string> texts_of(const std::vector<Word>& words) {
  std::vector<std::string> texts;
  for (const Word& word : words) texts.push_back(word.text);
  return texts;
}

/// A word in single quotes, as all three shells read it.
inline std::string quoted(const std::string& text) {
  return '\'' + replaced(text, "'", "'\\''") + '\'';
}

inline std::string bash_options() {
  std::string names = "_sframe_gen_options='", values;
  std::string_view heading = option_table().front().heading;
  for (const Option& option : option_table()) {
    if (&option != &option_table().front()) names += option.heading == heading ? " " : "\n  ";
    heading = option.heading;
    names += joined(spellings_of(option), " ");
  }
  for (const Option& option : option_table()) {
    const std::vector<Word> words = words_of(option.argument);
    if (words.empty()) continue;
    const std::string name = "--" + std::string(option.name);
    values += "    " + (option.argument.alone.empty() ? name + " | " + name + "=" : name + "=") + ") echo " +
              joined(texts_of(words), " ") + " ;;\n";
  }
  return names +
         "'\n\n"
         "# Prints the values that option $1, with or without \"=\" after it, accepts, or nothing if they are files.\n"
         "_sframe_gen_values() {\n"
         "  case $1 in\n" +
         values + "  esac\n}\n";
}

/// An option with an argument that it takes.
inline std::string typed(const Option& option) {
  const Argument& argument = option.argument;
  const std::string name = "--" + std::string(option.name);
  if (argument.kind == ArgumentKind::None || !argument.alone.empty()) return name;
  if (argument.kind == ArgumentKind::Target) return name + "=kernel";
  return name + '=' + (argument.choices.empty() ? "8" : std::string(argument.choices.front().name));
}

inline bool is_action(const Option& option) {
  const std::vector<std::string_view> actions{"emit",  "remove", "dump",         "lookup", "verify",
                                              "check", "launch", "list-readers", "help",   "version"};
  return std::ranges::find(actions, option.name) != actions.end();
}

/// Whether no command line can have both.
inline bool exclude_each_other(const Option& one, const Option& other) {
  if (&one == &other) return false;
  if (is_action(one) && is_action(other)) return true;
  const std::string first = typed(one), second = typed(other);
  const std::string message = refusal_of({first.c_str(), second.c_str(), "a"});
  return message.find(" cannot be combined with ") != std::string::npos;
}

inline bool ends_the_line(const Option& option) {
  return option.name == "help" || option.name == "version" || option.name == "list-readers";
}

/// What zsh does not offer any more after `option`.
inline std::string zsh_exclusions(const Option& option) {
  if (ends_the_line(option)) return "- *";
  std::vector<std::string> excluded;
  for (const Option& other : option_table()) {
    if (ends_the_line(other) || (&other != &option && !exclude_each_other(option, other))) continue;
    if (&other == &option && option.letter == 0) continue;
    for (std::string& spelling : spellings_of(other)) excluded.push_back(std::move(spelling));
  }
  return joined(excluded, " ");
}

inline std::string zsh_argument(const Argument& argument) {
  std::string label(argument.name);
  for (char& letter : label) letter = static_cast<char>(letter - 'A' + 'a');
  switch (argument.kind) {
    case ArgumentKind::None:
      return {};
    case ArgumentKind::Choice:
      return ':' + label + ":(" + joined(texts_of(words_of(argument)), " ") + ')';
    case ArgumentKind::Reader:
      return ':' + label + ":{_describe reader readers}";
    case ArgumentKind::Target:
      return ':' + label + ":{_describe reader targets}";
    case ArgumentKind::File:
      return ':' + label + ":_files";
    case ArgumentKind::Text:
      return ':' + label + ':';
  }
  return {};
}

inline std::string zsh_words(std::string_view array, ArgumentKind kind) {
  std::string text = "  local -a " + std::string(array) + "=(\n";
  for (const Word& word : words_of({.kind = kind}))
    text += "    " + quoted(word.text + ':' + replaced(word.meaning, ":", "\\:")) + '\n';
  return text + "  )\n";
}

inline std::string zsh_options() {
  std::string options = "  local -a options=(\n";
  for (const Option& option : option_table()) {
    // "=-": in the same word.
    const std::string equals = option.argument.kind == ArgumentKind::None ? ""
                               : !option.argument.alone.empty()           ? "=-"
                                                                          : "=";
    const std::string exclusions = zsh_exclusions(option);
    const std::string list = exclusions.empty() ? "" : '(' + exclusions + ')';
    const std::string colon = !option.argument.alone.empty() ? ":" : "";
    const std::string text = '[' + std::string(option.help) + ']' + colon + zsh_argument(option.argument);
    const std::string name = joined(spellings_of(option), ",") + equals;
    options += "    " +
               (option.letter == 0 ? quoted(list + name + text) : quoted(list) + '{' + name + '}' + quoted(text)) +
               '\n';
  }
  return zsh_words("readers", ArgumentKind::Reader) + zsh_words("targets", ArgumentKind::Target) + options + "  )\n";
}

inline std::string fish_argument(const Argument& argument) {
  if (argument.kind == ArgumentKind::None) return {};
  if (argument.kind == ArgumentKind::File) return " -r -F";
  std::vector<std::string> lines;
  for (const Word& word : words_of(argument))
    lines.push_back(word.text + "\\t" + replaced(quoted(word.meaning), "'\\''", "\\'"));
  if (!argument.alone.empty()) return " -a \"" + joined(lines, "\n") + '"';
  return lines.empty() ? " -x" : " -x -a \"" + joined(lines, "\n") + '"';
}

inline std::string fish_options() {
  std::string text;
  for (const Option& option : option_table()) {
    text += "complete -c sframe-gen";
    if (option.letter != 0) text += std::string(" -s ") + option.letter;
    text += " -l " + std::string(option.name) + " -d '" + std::string(option.help) + '\'' +
            fish_argument(option.argument) + '\n';
  }
  return text;
}

}  // namespace sframe_gen::cli::test
