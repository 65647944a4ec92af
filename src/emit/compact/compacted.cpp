#include "emit/compact/compacted.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "emit/compact/cuts.hpp"
#include "emit/compact/planner.hpp"
#include "support/hash.hpp"

namespace sframe_gen::emit::compact {

namespace {

std::uint32_t checked_offset(std::size_t offset) {
  if (offset > std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("more rows than the 32-bit offsets of an SFrame section can reach");
  return static_cast<std::uint32_t>(offset);
}

/// The row sub-section: each block once, as far as readers allow it. Blocks are equal if their bytes are.
class BlockPool {
 public:
  explicit BlockPool(const Dialect& dialect)
      : shares_(dialect.shares_rows), shares_heads_(dialect.shares_rows && !dialect.version->splits_descriptor) {}

  /// Returns the block's number.
  std::uint32_t add(std::span<const std::byte> block);

  struct Placed {
    std::vector<std::uint32_t> offsets;  ///< by number
    ByteChunks bytes;
  };
  /// Returns where each block is, in the order they came in. Throws std::length_error past 4 GiB. Nothing is left.
  Placed release();

 private:
  bool shares_;
  bool shares_heads_;  ///< a block that another begins with is a part of that
  using Block = std::span<const std::byte>;

  std::vector<std::uint32_t> holders() const;

  ByteChunks bytes_;
  std::vector<Block> blocks_;  ///< into `bytes_`
  HashedNumbers numbers_;
};

std::uint32_t BlockPool::add(std::span<const std::byte> block) {
  if (shares_) {
    const std::uint64_t hash = hash_of_bytes(block, seed_of_run());
    const auto known = numbers_.find(hash, [&](std::uint32_t number) { return equal_bytes(blocks_[number], block); });
    if (known) return *known;
    numbers_.add(hash);
  }
  blocks_.push_back(bytes_.append(block));
  return static_cast<std::uint32_t>(blocks_.size() - 1);
}

/// Returns for each block the one that it is the beginning of, or itself: blocks sorted by their bytes are followed by
/// those that begin with them.
std::vector<std::uint32_t> BlockPool::holders() const {
  std::vector<std::uint32_t> holders(blocks_.size());
  std::iota(holders.begin(), holders.end(), 0U);
  std::vector<std::uint32_t> sorted = holders;
  std::ranges::sort(sorted, [&](std::uint32_t a, std::uint32_t b) {
    return std::ranges::lexicographical_compare(blocks_[a], blocks_[b]);
  });
  for (std::size_t i = sorted.size(); i-- > 1;) {
    const Block head = blocks_[sorted[i - 1]], longer = blocks_[sorted[i]];
    const bool begins = head.size() <= longer.size() && equal_bytes(head, longer.first(head.size()));
    if (begins) holders[sorted[i - 1]] = holders[sorted[i]];
  }
  return holders;
}

BlockPool::Placed BlockPool::release() {
  Placed placed{std::vector<std::uint32_t>(blocks_.size()), {}};
  if (!shares_heads_) {
    std::size_t offset = 0;
    for (std::size_t i = 0; i < blocks_.size(); offset += blocks_[i++].size())
      placed.offsets[i] = checked_offset(offset);
    placed.bytes = std::move(bytes_);
    return placed;
  }
  const std::vector<std::uint32_t> holders = this->holders();
  for (std::uint32_t block = 0; block < blocks_.size(); ++block) {
    if (holders[block] != block) continue;
    placed.offsets[block] = checked_offset(placed.bytes.size());
    placed.bytes.append(blocks_[block]);
  }
  for (std::uint32_t block = 0; block < blocks_.size(); ++block) placed.offsets[block] = placed.offsets[holders[block]];
  return placed;
}

/// Descriptors and the bytes of their blocks, one after the other.
class Blocks {
 public:
  explicit Blocks(const Dialect& dialect) : dialect_(dialect), bytes_(dialect.abi->endian) {}

  void add(const EncodedRules& encoded_rules, const Run& run, const Path& path) {
    for (std::size_t i = 0; i < path.size(); ++i) {
      const std::size_t begin = path[i].begin, end = i + 1 < path.size() ? path[i + 1].begin : run.cuts.size() - 1;
      const Cut& first = run.cuts[begin];
      const BlockShape shape = shape_of(first, run.cuts[end]);
      const sframe::FdeInfo info = info_of(shape.width, sframe::PcType::Increment, run.b_key, run.signal_frame);
      begin_block({run.start + first.offset, run.cuts[end].code_end - first.offset, 0, shape.rows, info, 0},
                  shape.type);
      for (std::size_t cut = begin; cut < end; ++cut) {
        const Cut& at = run.cuts[cut];
        const bool skips_first = at.repeats && cut != begin;
        const std::span rows = std::span(at.rows, at.row_count).subspan(skips_first ? 1 : 0);
        append_rows(rows, at.offset - first.offset - at.rows[0].pc_offset, shape.width, shape.type, encoded_rules);
      }
      end_block(std::uint64_t{shape.rows} * bytes_of(shape.width));
    }
  }

  void add(const EncodedRules& encoded_rules, const FdeRows& fde) {
    const sframe::FreAddressWidth width = fre_address_width(fde.rows.back().pc_offset);
    const auto rows = static_cast<std::uint32_t>(fde.rows.size());
    const sframe::FdeInfo info = info_of(width, fde.pc_type, fde.b_key, fde.signal_frame);
    begin_block({fde.start, fde.size, 0, rows, info, fde.repeat_size}, fde.type);
    append_rows(fde.rows, 0, width, fde.type, encoded_rules);
    end_block(std::uint64_t{rows} * bytes_of(width));
  }

  /// Puts them after `descriptors`. Where their rows are is a number of the pool.
  void move_to(std::vector<SectionEncoder::Descriptor>& all, BlockPool& pool) const {
    for (std::size_t i = 0, begin = 0; i < descriptors_.size(); begin = ends_[i++]) {
      all.push_back(descriptors_[i]);
      all.back().fres_offset = pool.add(bytes_.bytes().subspan(begin, ends_[i] - begin));
    }
  }

  std::uint64_t flexible = 0;
  std::uint64_t tail_bytes = 0;  ///< of rows

 private:
  sframe::FdeInfo info_of(sframe::FreAddressWidth width, sframe::PcType pc_type, bool b_key, bool signal_frame) const {
    return {static_cast<unsigned>(width) + dialect_.version->first_fre_type, pc_type, b_key, signal_frame};
  }

  void begin_block(const SectionEncoder::Descriptor& descriptor, sframe::FdeType type) {
    descriptors_.push_back(descriptor);
    if (type == sframe::FdeType::Flexible) ++flexible;
    bytes_.append_filled(sframe::fde_attribute::size,
                         [&](std::byte* place) { return put_attribute(descriptor, type, dialect_, place); });
  }
  void append_rows(std::span<const EncodedRow> rows, std::uint32_t shift, sframe::FreAddressWidth width,
                   sframe::FdeType type, const EncodedRules& encoded_rules) {
    bytes_.append_filled(room_of_rows(rows.size(), width),
                         [&](std::byte* place) { return put_rows(rows, shift, width, type, encoded_rules, place); });
  }
  void end_block(std::uint64_t bytes_of_starts) {
    const std::size_t begin = ends_.empty() ? 0 : ends_.back();
    ends_.push_back(bytes_.size());
    tail_bytes += bytes_.size() - begin - attribute_size(dialect_) - bytes_of_starts;
  }

  const Dialect& dialect_;
  std::vector<SectionEncoder::Descriptor> descriptors_;
  ByteWriter bytes_;
  std::vector<std::size_t> ends_;  ///< of each block
};

class Encoder {
 public:
  Encoder(const RowStream& stream, const Dialect& dialect)
      : stream_(stream), dialect_(dialect), pool_(dialect), result_{SectionEncoder(dialect), {}} {}

  Compacted encode() {
    std::vector<Run> runs = make_runs(stream_, dialect_);
    const std::vector<Path> paths = make_plan(runs, dialect_);
    std::vector<Blocks> blocks(runs.size(), Blocks(dialect_));
    for_each_run(runs.size(), [&](std::size_t i) { blocks[i].add(stream_.encoded_rules(), runs[i], paths[i]); });
    std::exchange(runs, {});  // frees memory, before the pool takes as much
    for (Blocks& waiting : blocks) {
      const Blocks of_run = std::move(waiting);  // whose memory is freed here
      add(of_run);
    }
    Blocks kept(dialect_);
    for (const FdeRows& fde : stream_.kept()) kept.add(stream_.encoded_rules(), fde);
    add(kept);
    result_.mask_descriptors = stream_.kept().size();
    place();
    account();
    return std::move(result_);
  }

 private:
  void add(const Blocks& blocks) {
    blocks.move_to(descriptors_, pool_);
    result_.flexible_descriptors += blocks.flexible;
    tail_bytes_ += blocks.tail_bytes;
  }

  void place() {
    BlockPool::Placed placed = pool_.release();
    // Those that are kept come last, and both kinds ascend.
    const auto kept = descriptors_.end() - static_cast<std::ptrdiff_t>(stream_.kept().size());
    std::ranges::inplace_merge(descriptors_, kept, {}, &SectionEncoder::Descriptor::start);
    for (SectionEncoder::Descriptor& descriptor : descriptors_)
      descriptor.fres_offset = placed.offsets[descriptor.fres_offset];
    result_.encoder = SectionEncoder(dialect_, std::move(descriptors_), std::move(placed.bytes));
  }

  void account() {
    const DefaultSize& before = stream_.default_size();
    const std::uint64_t per_descriptor = dialect_.version->descriptor_size + attribute_size(dialect_);
    const auto difference = [](std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b); };
    Compaction& saved = result_.saved;
    saved.default_bytes =
        dialect_.version->header_size() + before.descriptors * per_descriptor + before.start_bytes + before.tail_bytes;
    saved.default_descriptors = before.descriptors;
    saved.default_rows = before.rows;
    saved.by_fewer_descriptors =
        difference(before.descriptors * per_descriptor, result_.encoder.fde_count() * per_descriptor);
    saved.by_fewer_rows = difference(before.tail_bytes, tail_bytes_);
    saved.bytes = result_.encoder.encoded_size();
  }

  const RowStream& stream_;
  Dialect dialect_;
  BlockPool pool_;
  std::vector<SectionEncoder::Descriptor> descriptors_;
  std::uint64_t tail_bytes_ = 0;  ///< of rows
  Compacted result_;
};

}  // namespace

Compacted encode(const RowStream& stream, const Dialect& dialect) {
  return Encoder(stream, dialect).encode();
}

}  // namespace sframe_gen::emit::compact
