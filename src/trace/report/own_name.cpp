#include "trace/report/own_name.hpp"

namespace sframe_gen::trace::report {

namespace {

constexpr std::string_view no_name = "(anonymous namespace)", decltype_word = "decltype", operator_word = "operator";

bool is_of_word(char letter) {
  return letter == '_' || (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
         (letter >= 'A' && letter <= 'Z');
}

/// Whether the word `operator` is at `place`: brackets after it belong to the name.
bool has_operator_at(std::string_view name, std::size_t place) {
  if (!name.substr(place).starts_with(operator_word)) return false;
  const std::size_t after = place + operator_word.size();
  return (place == 0 || !is_of_word(name[place - 1])) && (after == name.size() || !is_of_word(name[after]));
}

/// Whether the parenthesis at `place` is part of a type, and not the begin of the parameters.
bool is_in_type(std::string_view name, std::size_t place) {
  std::string_view before = name.substr(0, place);
  if (before.ends_with(' ')) before.remove_suffix(1);
  return before.ends_with(decltype_word);
}

}  // namespace

std::size_t begin_of_own_name(std::string_view name) {
  std::size_t begin = 0, angles = 0, others = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char letter = name[i];
    if (letter == ')' || letter == ']' || letter == '}') {
      if (others > 0) --others;
    } else if (others > 0) {
      if (letter == '(' || letter == '[' || letter == '{') ++others;
    } else if (letter == '<') {
      ++angles;
    } else if (letter == '>' && angles > 0) {
      --angles;
    } else if (name.substr(i).starts_with(no_name)) {
      i += no_name.size() - 1;
    } else if (angles == 0 && letter == '(' && !is_in_type(name, i)) {
      // Only templates have the type that they return in their names.
      return i > 0 && (name[i - 1] == '>' || name[i - 1] == ']') ? begin : 0;
    } else if (letter == '(' || letter == '[' || letter == '{') {
      ++others;
    } else if (angles == 0 && has_operator_at(name, i)) {
      return begin;
    } else if (angles == 0 && letter == ' ') {
      begin = i + 1;
    }
  }
  return 0;
}

std::string short_label(std::string_view name) {
  constexpr std::string_view replacement = "(anon)";
  std::string label(name.substr(begin_of_own_name(name)));
  for (std::size_t at = 0; (at = label.find(no_name, at)) != std::string::npos; at += replacement.size())
    label.replace(at, no_name.size(), replacement);
  return label;
}

}  // namespace sframe_gen::trace::report
