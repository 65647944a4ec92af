#include "encode/row_sources.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "elf/go_table.hpp"
#include "rows/go/functions.hpp"

namespace sframe_gen::encode {

RowSources::RowSources(const cfi::FrameSource& source, const rows::stubs::StubList& stubs) {
  auto run = stubs.runs.begin();
  const auto add_stub = [&] {
    pieces_.push_back({{run->start, run->end()}, RowSource::Instructions, run->entries});
    ++run;
  };
  for (const cfi::FrameSource::Record& record : source.records()) {
    while (run != stubs.runs.end() && run->start < record.pcs.begin) add_stub();
    std::uint64_t begin = record.pcs.begin, records = 1;
    for (;;) {
      // FDEs overlap, and so do stubs and FDEs.
      if (!pieces_.empty()) begin = std::max(begin, pieces_.back().pcs.end);
      const std::uint64_t end = run == stubs.runs.end() ? record.pcs.end : std::min(record.pcs.end, run->start);
      if (begin < end) {
        pieces_.push_back({{begin, end}, record.source, records});
        records = 0;
      }
      if (end == record.pcs.end) break;
      add_stub();
    }
  }
  while (run != stubs.runs.end()) add_stub();
}

std::optional<RowSource> RowSources::at(std::uint64_t pc, std::uint64_t start) const {
  const auto after = std::ranges::upper_bound(pieces_, pc, {}, [](const Piece& piece) { return piece.pcs.begin; });
  if (after == pieces_.begin() || std::prev(after)->pcs.end <= start) return std::nullopt;
  return std::prev(after)->source;
}

namespace {

cfi::UnknownReason reason_of(rows::go::Gap gap) {
  switch (gap) {
    case rows::go::Gap::SwitchesStacks:
      return cfi::UnknownReason::GoSwitchesStacks;
    case rows::go::Gap::NotCalled:
      return cfi::UnknownReason::GoNotCalled;
    case rows::go::Gap::Registers:
      return cfi::UnknownReason::GoRegisters;
    case rows::go::Gap::Instructions:
      break;
  }
  return cfi::UnknownReason::GoInstructions;
}

class GoFunctions final : public cfi::OtherFunctions {
 public:
  GoFunctions(const elf::Image& image, elf::GoTable table) : functions_(image, std::move(table)) {
    ranges_.reserve(functions_.size());
    for (const elf::GoTable::Entry& entry : functions_.table().entries())
      ranges_.push_back({entry.start, functions_.table().end_of_code(entry)});
  }

  const std::vector<Range>& ranges() const override { return ranges_; }
  RowSource source_of(std::size_t) const override { return RowSource::GoTable; }

  void read(std::size_t index, cfi::Function& function, cfi::RuleTable& rules) const override {
    const rows::go::GoFunction read = functions_.function(index);
    function = {read.start, read.size, read.signal_frame, {}};
    if (read.gap) function.rows.push_back({0, rules.intern(cfi::unknown_rules(reason_of(*read.gap)))});
    for (const rows::go::GoRow& row : read.rows) function.rows.push_back({row.pc_offset, rules.intern(row.rules)});
  }

 private:
  rows::go::Functions functions_;
  std::vector<Range> ranges_;
};

}  // namespace

std::shared_ptr<const cfi::OtherFunctions> go_functions_of(const elf::Image& image) {
  auto table = elf::GoTable::find(image);
  if (!table) return nullptr;
  return std::make_shared<GoFunctions>(image, std::move(*table));
}

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

cfi::Function without_disproved(const cfi::Function& function, const RangeSet& disproved, cfi::RuleTable& rules) {
  if (function.repeat_size != 0 || !disproved.overlaps({function.start, function.end()})) return function;
  cfi::Function rest = function;
  rest.rows.clear();
  const cfi::RuleId none = rules.intern(cfi::unknown_rules(cfi::UnknownReason::ContradictedByCode));
  const auto add = [&](std::uint64_t pc, cfi::RuleId rule) {
    if (rest.rows.empty() || rest.rows.back().rule != rule)
      rest.rows.push_back({static_cast<std::uint32_t>(pc - function.start), rule});
  };
  for (auto row = function.rows.begin(); row != function.rows.end(); ++row) {
    std::uint64_t pc = function.start + row->pc_offset;
    const std::uint64_t end =
        std::next(row) == function.rows.end() ? function.end() : function.start + std::next(row)->pc_offset;
    for (auto wrong = disproved.find(pc); pc < end; ++wrong) {
      const bool is_last = wrong == disproved.end() || wrong->begin >= end;
      if (is_last || pc < wrong->begin) add(pc, row->rule);
      if (is_last) break;
      add(std::max(pc, wrong->begin), none);
      pc = wrong->end;
    }
  }
  return rest;
}

}  // namespace sframe_gen::encode
