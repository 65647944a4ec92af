#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sframe_gen/check.hpp"

namespace sframe_gen::readers {

struct Finding {
  Fact fact{};
  std::uint64_t offset = no_offset;  ///< in the section
  std::string text;                  ///< a clause: "its index is not flagged as sorted"

  static constexpr std::uint64_t no_offset = ~std::uint64_t{0};
};

/// The first of each fact, in the order of the section.
class Findings {
 public:
  void add(Fact fact, std::uint64_t offset, std::string text) {
    if (find(fact) == nullptr) findings_.push_back({fact, offset, std::move(text)});
  }
  void add(Fact fact, std::string text) { add(fact, Finding::no_offset, std::move(text)); }

  const Finding* find(Fact fact) const {
    for (const Finding& finding : findings_)
      if (finding.fact == fact) return &finding;
    return nullptr;
  }
  bool has(Fact fact) const { return find(fact) != nullptr; }

 private:
  std::vector<Finding> findings_;
};

}  // namespace sframe_gen::readers
