#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "rows/proof/assembled.hpp"

namespace sframe_gen::rows::proof::test {

/// What must become of each case of an assembly file, by the name of its function: NAME__RESULT. The result `label` is
/// that of places which are no functions.
class Cases {
 public:
  explicit Cases(const Assembled& assembled) {
    for (const auto& [symbol, address] : assembled.symbols()) {
      const auto mark = symbol.find("__");
      if (mark == std::string::npos || mark == 0 || symbol.ends_with(".cold")) continue;
      std::string name = symbol.substr(0, mark), result = symbol.substr(mark + 2);
      name[0] = static_cast<char>(std::tolower(name[0]));  // V8's names begin with a capital
      std::ranges::replace(result, '_', '-');              // as reasons are spelled
      cases_[symbol] = {address, name, result};
    }
  }

  struct Case {
    std::uint64_t address = 0;
    std::string name, result;
  };
  /// By symbol.
  const std::map<std::string, Case>& all() const { return cases_; }

  /// How many pairs there are: two cases of the same name, one of which alone has the result that is `good`. Names that
  /// are no pair are told to `complain`.
  template <typename Complain>
  std::size_t pairs(const std::string& good, Complain&& complain) const {
    std::map<std::string, std::pair<int, int>> counts;  // good ones, others
    for (const auto& [symbol, one] : cases_)
      if (one.result != "label") ++(one.result == good ? counts[one.name].first : counts[one.name].second);
    for (const auto& [name, count] : counts)
      if (count != std::pair(1, 1)) complain(name);
    return counts.size();
  }

 private:
  std::map<std::string, Case> cases_;
};

}  // namespace sframe_gen::rows::proof::test
