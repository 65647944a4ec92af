#include <array>

#include "sframe_gen/coverage.hpp"

namespace sframe_gen {

namespace {

struct Words {
  std::string_view key, sentence;
};

constexpr std::array<Words, unrepresentable_count> words{{
#define SFRAME_GEN_REASON(name, key, sentence) {key, sentence},
#include "sframe_gen/unrepresentable.def"
#undef SFRAME_GEN_REASON
}};

}  // namespace

std::string_view key_of(Unrepresentable reason) {
  return words[static_cast<std::size_t>(reason)].key;
}

std::string_view sentence_of(Unrepresentable reason) {
  return words[static_cast<std::size_t>(reason)].sentence;
}

}  // namespace sframe_gen
