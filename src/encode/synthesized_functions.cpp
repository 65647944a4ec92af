#include "encode/synthesized_functions.hpp"

#include <cstdint>
#include <utility>

#include "support/range.hpp"

namespace sframe_gen::encode {

namespace {

class SynthesizedFunctions final : public cfi::OtherFunctions {
 public:
  SynthesizedFunctions(std::shared_ptr<const cfi::OtherFunctions> others, std::vector<cfi::Function> pieces,
                       std::unique_ptr<cfi::RuleTable> rules)
      : others_(std::move(others)), pieces_(std::move(pieces)), rules_(std::move(rules)) {
    const std::vector<Range> none;
    const std::vector<Range>& before = others_ == nullptr ? none : others_->ranges();
    ranges_.reserve(before.size() + pieces_.size());
    std::size_t other = 0, piece = 0;
    while (other < before.size() || piece < pieces_.size()) {
      const bool is_piece =
          other == before.size() || (piece < pieces_.size() && pieces_[piece].start < before[other].begin);
      ranges_.push_back(is_piece ? Range{pieces_[piece].start, pieces_[piece].end()} : before[other]);
      places_.push_back({is_piece, static_cast<std::uint32_t>(is_piece ? piece++ : other++)});
    }
  }

  const std::vector<Range>& ranges() const override { return ranges_; }

  RowSource source_of(std::size_t index) const override {
    return places_[index].is_piece ? RowSource::Proof : others_->source_of(places_[index].number);
  }

  void read(std::size_t index, cfi::Function& function, cfi::RuleTable& rules) const override {
    const Place& place = places_[index];
    if (!place.is_piece) return others_->read(place.number, function, rules);
    function = pieces_[place.number];
    for (cfi::Row& row : function.rows) row.rule = rules.intern((*rules_)[row.rule]);
  }

 private:
  struct Place {
    bool is_piece;
    std::uint32_t number;
  };

  std::shared_ptr<const cfi::OtherFunctions> others_;
  std::vector<cfi::Function> pieces_;
  std::unique_ptr<cfi::RuleTable> rules_;
  std::vector<Range> ranges_;
  std::vector<Place> places_;
};

}  // namespace

std::shared_ptr<const cfi::OtherFunctions> with_proved_pieces(std::shared_ptr<const cfi::OtherFunctions> others,
                                                              std::vector<cfi::Function> pieces,
                                                              std::unique_ptr<cfi::RuleTable> rules) {
  return std::make_shared<SynthesizedFunctions>(std::move(others), std::move(pieces), std::move(rules));
}

}  // namespace sframe_gen::encode
