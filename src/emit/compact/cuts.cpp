#include "emit/compact/cuts.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "support/hash.hpp"
#include "support/workers.hpp"

namespace sframe_gen::emit::compact {

namespace {

/// At most so many rows are in a run, but for those of its last function.
constexpr std::uint32_t most_rows_of_run = 8192;

/// Bytes without a row after which a descriptor may begin: an epilogue begins there, which others may have as well.
constexpr std::uint32_t stretch_before_cut = 8;

/// More rows without a cut would leave few ways to fill a descriptor.
constexpr std::uint32_t most_rows_without_cut = 8;

/// What a row needs to know of its rule.
struct RuleFacts {
  std::uint8_t plain, flexible;  ///< bytes of the tail
  std::uint8_t only_flexible;    ///< 0 or 1
  std::uint64_t hash;            ///< of the rule's bytes: numbers of rules are arbitrary
};

std::vector<RuleFacts> facts_of(const EncodedRules& encoded_rules) {
  std::vector<RuleFacts> facts;
  for (EncodedRuleId id = 0; id < encoded_rules.size(); ++id) {
    const RowTail& plain = encoded_rules.tail(id, sframe::FdeType::Default);
    const RowTail& flexible = encoded_rules.tail(id, sframe::FdeType::Flexible);
    const bool only_flexible = plain.size() == 0;
    facts.push_back({static_cast<std::uint8_t>(plain.size()), static_cast<std::uint8_t>(flexible.size()),
                     static_cast<std::uint8_t>(only_flexible ? 1 : 0),
                     hash_of_bytes((only_flexible ? flexible : plain).bytes(), only_flexible ? 1 : 0)});
  }
  return facts;
}

/// Makes runs of functions, without their cuts.
class RunMaker {
 public:
  explicit RunMaker(std::span<const RowStream::Function> functions) : functions_(functions) {}

  std::vector<Run> make() {
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const RowStream::Function& function = functions_[i];
      if (!joins(function)) {
        runs_.push_back({function.start, 0, function.signal_frame, false, functions_.subspan(i, 0), {}, {}, {}});
        rows_ = 0;
        key_is_known_ = false;
      }
      Run& run = runs_.back();
      run.functions = {run.functions.data(), run.functions.size() + 1};
      run.size = static_cast<std::uint32_t>(function.start + function.size - run.start);
      if (function.has_signed_row) run.b_key = function.b_key;
      key_is_known_ |= function.has_signed_row;
      rows_ += function.rows;
    }
    return std::move(runs_);
  }

 private:
  bool joins(const RowStream::Function& function) const {
    if (!function.follows || runs_.empty() || rows_ >= most_rows_of_run) return false;
    const Run& run = runs_.back();
    if (run.signal_frame != function.signal_frame) return false;
    if (function.has_signed_row && key_is_known_ && run.b_key != function.b_key) return false;
    return function.start + function.size - run.start <= std::numeric_limits<std::uint32_t>::max();
  }

  std::span<const RowStream::Function> functions_;
  std::vector<Run> runs_;
  // Facts about the last run.
  std::uint32_t rows_ = 0;
  bool key_is_known_ = false;
};

/// Makes the cuts of a run.
class CutMaker {
 public:
  CutMaker(const RowStream& stream, std::span<const RuleFacts> facts, std::uint32_t most_rows, Run& run)
      : stream_(stream),
        facts_(facts),
        most_rows_of_block_(most_rows),
        most_rows_(std::min(most_rows, most_rows_without_cut)),
        run_(run) {}

  void make() {
    std::size_t rows = 0;
    for (const RowStream::Function& function : run_.functions) rows += function.rows;
    run_.cuts.reserve(rows / 2);  // more than most runs have
    run_.hashes.reserve(rows / 2);
    for (const RowStream::Function& function : run_.functions) add(function);
    at_.rows = nullptr;
    at_.row_count = 0;
    at_.repeats = false;
    at_.offset = at_.code_end = run_.size;
    run_.cuts.push_back(at_);
    run_.hashes.emplace_back();
    run_.repeated_blocks.resize(run_.cuts.size());
    set_reaches();
  }

 private:
  void add(const RowStream::Function& function) {
    const auto base = static_cast<std::uint32_t>(function.start - run_.start);
    const std::span<const EncodedRow> rows = stream_.rows_of(function);
    const bool repeats = !run_.cuts.empty() && rows.front().rule == last_rule_;
    // If several functions add no row, a descriptor gains only by a beginning at the last: from the others, the starts
    // of the rows that follow would be larger.
    if (repeats && run_.cuts.back().repeats && run_.cuts.back().row_count == 1) {
      run_.cuts.pop_back();
      run_.hashes.pop_back();
      before_ = at_.last_row;
    }
    for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
      for (end = begin + 1; end < rows.size() && end - begin < most_rows_; ++end)
        if (rows[end].pc_offset - rows[end - 1].pc_offset >= stretch_before_cut) break;
      if (begin != 0) at_.code_end = base + rows[begin].pc_offset;
      add_cut(rows.subspan(begin, end - begin), base, repeats && begin == 0);
    }
    at_.code_end = base + function.size;
    last_rule_ = rows.back().rule;
  }

  void add_cut(std::span<const EncodedRow> rows, std::uint32_t base, bool repeats) {
    const RuleFacts& first = facts_[rows.front().rule];
    const std::span<const EncodedRow> written = rows.subspan(repeats ? 1 : 0);
    at_.rows = rows.data();
    at_.row_count = static_cast<std::uint8_t>(rows.size());
    at_.offset = base + rows.front().pc_offset;
    at_.repeats = repeats;
    at_.repeated_plain = repeats ? first.plain : 0;
    at_.repeated_flexible = repeats ? first.flexible : 0;
    at_.repeated_only_flexible = repeats ? first.only_flexible : 0;
    const std::uint32_t kind = (run_.signal_frame ? 2U : 0U) + (run_.b_key ? 1U : 0U);
    // A block may begin at the cut before, which may have no row that is written: from there the distance counts, too.
    run_.hashes.push_back({hash_of(rows, rows.front().pc_offset, kind), written.empty()
                                                                            ? hash_of({}, 0, at_.offset - before_)
                                                                            : hash_of(written, before_ - base, 0)});
    before_ = base + rows.back().pc_offset;
    run_.cuts.push_back(at_);
    for (const EncodedRow& row : written) {
      const RuleFacts& facts = facts_[row.rule];
      at_.plain_bytes += facts.plain;
      at_.flexible_bytes += facts.flexible;
      at_.only_flexible += facts.only_flexible;
    }
    at_.rows_before += static_cast<std::uint32_t>(written.size());
    if (!written.empty()) at_.last_row = base + written.back().pc_offset;
  }

  /// Hashes the rules, and the distances between rows. `before`: the offset of the row before the first.
  std::uint64_t hash_of(std::span<const EncodedRow> rows, std::uint32_t before, std::uint64_t seed) const {
    std::uint64_t hash = seed + 1;
    for (const EncodedRow& row : rows) {
      hash = hash * 0x9e3779b97f4a7c15U + (facts_[row.rule].hash ^ (row.pc_offset - before) * 0xff51afd7ed558ccdU);
      before = row.pc_offset;
    }
    return std::max(with_count(mixed(hash), rows.size()), std::uint64_t{1});
  }

  /// The farther a block reaches, the later it has to begin: no first begin is before that of an earlier cut.
  void set_reaches() {
    const std::vector<Cut>& cuts = run_.cuts;
    std::size_t first = 0, wide = 0, narrow = 0;
    for (std::size_t end = 1; end < cuts.size(); ++end) {
      Cut& cut = run_.cuts[end];
      const auto is_default = [&](const Cut& begin, std::uint32_t most) {
        return is_plain(begin, cut) && last_start(begin, cut) <= most;
      };
      while (first + 1 < end && (rows_between(cuts[first], cut) > most_rows_of_block_ || end - first > UINT8_MAX))
        ++first;
      wide = std::max(wide, first);
      while (wide < end && !is_default(cuts[wide], UINT16_MAX)) ++wide;
      narrow = std::max(narrow, wide);
      while (narrow < end && !is_default(cuts[narrow], UINT8_MAX)) ++narrow;
      cut.reach = static_cast<std::uint8_t>(end - first);
      cut.wide_reach = static_cast<std::uint8_t>(end - wide);
      cut.narrow_reach = static_cast<std::uint8_t>(end - narrow);
    }
  }

  const RowStream& stream_;
  std::span<const RuleFacts> facts_;
  std::uint32_t most_rows_of_block_;
  std::uint32_t most_rows_;
  Run& run_;
  Cut at_;                    ///< the next cut
  std::uint32_t before_ = 0;  ///< offset of the last row, or of the last cut without one
  EncodedRuleId last_rule_ = 0;
};

/// A place where a block begins.
struct BlockPlace {
  std::uint64_t hash;  ///< of the block
  std::uint32_t cut;   ///< counted in all runs
  std::uint32_t rows;  ///< of the block
};

/// The rows from a cut to the next that a block gains that ended at the cut.
struct NextRows {
  std::uint64_t hash;  ///< see RowHashes
  std::uint32_t rows;
};

/// Large files have one repeated block for two cuts, but a file can be made whose every cut begins as many as a
/// descriptor may have rows.
constexpr std::size_t most_blocks_per_place = 4, most_blocks_of_few_places = 256;

/// Finds the blocks that begin at a group of places.
class BlockFinder {
 public:
  /// `next`, `longest`: by cut.
  BlockFinder(std::uint32_t most_rows, std::size_t places, std::span<const NextRows> next,
              std::span<std::uint32_t> longest)
      : most_rows_(most_rows),
        most_blocks_(places * most_blocks_per_place + most_blocks_of_few_places),
        next_(next),
        longest_(longest) {}

  /// Finds the blocks of `cuts` cuts that repeat among `places`, where blocks with `head` begin, and all longer ones.
  /// Calls itself once for each cut of a block: less often than a descriptor has rows twice.
  void find(std::span<BlockPlace> places, std::uint32_t cuts, std::uint32_t head) {
    // Most places of a block go on alike.
    if (!std::ranges::is_sorted(places, {}, &BlockPlace::hash)) std::ranges::sort(places, {}, &BlockPlace::hash);
    for (auto begin = places.begin(), end = begin; begin != places.end(); begin = end) {
      end = std::find_if(begin, places.end(),
                         [hash = begin->hash](const BlockPlace& place) { return place.hash != hash; });
      if (end - begin >= 2 && blocks.size() < most_blocks_) add({begin, end}, cuts, head);
    }
  }

  std::vector<RepeatedBlock> blocks;  ///< without their bytes; numbers count from 1

 private:
  /// Adds the block that begins at all these places.
  void add(std::span<BlockPlace> places, std::uint32_t cuts, std::uint32_t head) {
    blocks.push_back({head, cuts, static_cast<std::uint32_t>(places.size()), 0});
    const auto block = static_cast<std::uint32_t>(blocks.size());
    auto longer = places.begin();
    for (const BlockPlace& place : places) {
      longest_[place.cut] = block;
      const NextRows& next = next_[place.cut + cuts];
      const std::uint32_t rows = place.rows + next.rows;
      if (next.hash != 0 && rows <= most_rows_)
        *longer++ = {with_count(chained(place.hash, next.hash), rows), place.cut, rows};
    }
    find({places.begin(), longer}, cuts + 1, block);
  }

  std::uint32_t most_rows_;
  std::size_t most_blocks_;
  std::span<const NextRows> next_;
  std::span<std::uint32_t> longest_;
};

/// The places of all runs, in groups by the hash of the rows up to the next cut. Equal blocks are in one group.
class Groups {
 public:
  explicit Groups(std::span<const Run> runs) {
    std::size_t cuts = 0;
    for (const Run& run : runs) cuts += run.cuts.size();
    constexpr std::size_t places_per_group = 128;
    const auto bits = static_cast<unsigned>(std::bit_width(cuts / places_per_group)) + 1;
    shift_ = 64 - bits;
    ends_.resize(std::size_t{1} << bits);
    const auto for_each_place = [&](const auto& visit) {
      for (std::uint32_t cut = 0; const Run& run : runs) {
        for (std::size_t i = 0; i < run.cuts.size(); ++i, ++cut)
          if (run.hashes[i].next != 0) visit(BlockPlace{run.hashes[i].first, cut, run.cuts[i].row_count});
      }
    };
    for_each_place([&](const BlockPlace& place) { ++ends_[group_of(place.hash)]; });
    std::exclusive_scan(ends_.begin(), ends_.end(), ends_.begin(), 0U);
    places_.resize(cuts);
    for_each_place([&](const BlockPlace& place) { places_[ends_[group_of(place.hash)]++] = place; });
  }

  std::size_t size() const { return ends_.size(); }
  std::size_t cuts() const { return places_.size(); }
  std::size_t group_of(std::uint64_t hash) const { return hash >> shift_; }
  std::span<BlockPlace> operator[](std::size_t group) {
    const std::uint32_t begin = group == 0 ? 0 : ends_[group - 1];
    return std::span(places_).subspan(begin, ends_[group] - begin);
  }

 private:
  unsigned shift_;
  std::vector<std::uint32_t> ends_;  ///< by group
  std::vector<BlockPlace> places_;
};

}  // namespace

std::vector<Run> make_runs(const RowStream& stream, const Dialect& dialect) {
  const std::vector<RuleFacts> facts = facts_of(stream.encoded_rules());
  std::vector<Run> runs = RunMaker(stream.functions()).make();
  for_each_run(runs.size(), [&](std::size_t i) { CutMaker(stream, facts, dialect.compact_rows, runs[i]).make(); });
  return runs;
}

std::vector<RepeatedBlock> find_repeated_blocks(std::span<Run> runs, const Dialect& dialect) {
  Groups groups(runs);
  std::vector<NextRows> next;
  next.reserve(groups.cuts());
  for (const Run& run : runs)
    for (std::size_t i = 0; i < run.cuts.size(); ++i)
      next.push_back({run.hashes[i].next, run.cuts[i].row_count - (run.cuts[i].repeats ? 1U : 0U)});
  std::vector<std::uint32_t> longest(next.size());
  std::vector<std::vector<RepeatedBlock>> found(groups.size());
  parallel_for(groups.size(), workers_for(runs.size(), 2), [&](std::size_t i, std::size_t) {
    BlockFinder finder(dialect.compact_rows, groups[i].size(), next, longest);
    finder.find(groups[i], 1, no_block);
    found[i] = std::move(finder.blocks);
  });

  std::vector<std::uint32_t> shifts{0};
  for (const std::vector<RepeatedBlock>& of_group : found)
    shifts.push_back(shifts.back() + static_cast<std::uint32_t>(of_group.size()));
  std::vector<RepeatedBlock> blocks(1);
  blocks.reserve(shifts.back() + 1);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (RepeatedBlock block : std::exchange(found[i], {})) {  // frees memory while the other grows
      if (block.head != no_block) block.head += shifts[i];
      blocks.push_back(block);
    }
  }
  std::size_t cut = 0;
  for (Run& run : runs) {
    for (std::size_t i = 0; i < run.cuts.size(); ++i) {
      std::uint32_t block = longest[cut++];
      if (block == no_block) continue;
      block += shifts[groups.group_of(run.hashes[i].first)];
      run.repeated_blocks[i] = block;
      // One place tells how many bytes the block and its heads have.
      for (; blocks[block].bytes == 0 && block != no_block; block = blocks[block].head)
        blocks[block].bytes = attribute_size(dialect) + shape_of(run.cuts[i], run.cuts[i + blocks[block].cuts]).bytes;
    }
    std::exchange(run.hashes, {});  // frees memory: the rest has no use for them
  }
  return blocks;
}

}  // namespace sframe_gen::emit::compact
