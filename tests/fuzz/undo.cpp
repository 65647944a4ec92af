// Any bytes as the record that gives an original back, and as the numbers in one that is sound.

#include <vector>

#include "rewrite/undo/undo_record.hpp"
#include "target.hpp"

namespace sframe_gen::fuzz {

namespace {

std::vector<std::byte> some(Choices& choices) {
  return std::vector<std::byte>(choices.below(16), std::byte{choices.byte()});
}

}  // namespace

void undo(Bytes input) {
  const std::vector<std::byte> dictionary(64, std::byte{'d'});
  succeeds([&] { rewrite::decode_undo(input, dictionary, {"fuzz", "record"}); });

  Choices choices(input);
  rewrite::UndoRecord record;
  record.literals = some(choices);
  std::uint64_t offset = 0;
  for (std::uint64_t left = record.literals.size(), pieces = choices.below(5); pieces > 0; --pieces) {
    const std::uint64_t literals = pieces == 1 ? left : choices.below(left + 1);
    record.pieces.push_back({literals, choices.below(0x10000), 1 + choices.below(0x10000)});
    left -= literals;
  }
  if (record.pieces.empty()) record.literals.clear();
  for (std::uint64_t indices = choices.below(5); indices > 0; --indices)
    record.new_index_of.push_back(static_cast<std::uint32_t>(choices.below(200)));
  for (std::uint64_t corrections = choices.below(4); corrections > 0; --corrections) {
    offset += choices.below(0x1000);
    record.corrections.push_back({offset, some(choices)});
    offset += record.corrections.back().bytes.size();
  }
  const std::vector<std::byte> encoded = rewrite::encode_undo(record, dictionary).value();
  const auto decoded = rewrite::decode_undo(encoded, dictionary, {"fuzz", "record"});
  require(decoded && decoded->record == record, "a record that was written is read");
}

}  // namespace sframe_gen::fuzz
