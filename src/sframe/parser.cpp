#include "sframe/parser.hpp"

#include <string_view>

#include "sframe/problem_texts.hpp"
#include "support/text.hpp"

namespace sframe_gen::sframe {

std::string sentence_of(const Fault& fault, const Header& header) {
  const auto* value = fault.values.data();
  const auto filled = [&](std::string_view blank) -> std::string {
    if (blank == "what") return fault.what;
    if (blank == "version") return std::string(header.version->name);
    if (blank == "abi") return std::string(name_of(static_cast<Abi>(*value++)));
    if (blank == "x") return hex(*value++);
    if (blank == "d") return std::to_string(*value++);
    if (blank == "left") return std::to_string(*value) + (*value == 1 ? " is" : " are");  // the last one
    if (blank == "i") return std::to_string(static_cast<std::int64_t>(*value++));
    return count_of(*value++, blank);
  };
  std::string_view left = text_for(fault.problem).sentence;
  std::string text;
  for (auto begin = left.find('{'); begin != std::string_view::npos; begin = left.find('{')) {
    const auto end = left.find('}');
    text.append(left.substr(0, begin)).append(filled(left.substr(begin + 1, end - begin - 1)));
    left.remove_prefix(end + 1);
  }
  return text.append(left);
}

}  // namespace sframe_gen::sframe
