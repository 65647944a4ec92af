#include "emit/compact/compact_encoder.hpp"

#include <algorithm>
#include <cassert>
#include <concepts>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "emit/compact/block_pool.hpp"
#include "emit/compact/cut_facts.hpp"
#include "emit/compact/planner.hpp"
#include "emit/compact/sequence.hpp"
#include "emit/fre_encoder.hpp"
#include "support/workers.hpp"

namespace sframe_gen::emit::compact {

namespace {

Sharing sharing_of(const Dialect& dialect) {
  if (!dialect.shares_rows) return Sharing::None;
  // An attribute in front says how many rows there are, and so keeps a block from being the beginning of another.
  return dialect.version->splits_descriptor ? Sharing::Equal : Sharing::Heads;
}

/// Rows of a block are written behind each other into memory that is there.
class RowWriter {
 public:
  RowWriter(std::byte* place, Endian endian) : place_(place), endian_(endian) {}

  template <std::unsigned_integral Start>
  void write(std::uint32_t start, const RowTail& tail) {
    store(std::span(place_, sizeof(Start)), static_cast<Start>(start), endian_);
    std::memcpy(place_ + sizeof(Start), tail.padded().data(), RowTail::longest);
    place_ += sizeof(Start) + tail.size();
  }
  std::byte* place() const { return place_; }

  /// What write() may touch.
  static constexpr std::size_t longest = 4 + RowTail::longest;

 private:
  std::byte* place_;
  Endian endian_;
};

class Encoder {
 public:
  Encoder(RowStream& stream, const Dialect& dialect)
      : stream_(stream),
        dialect_(dialect),
        sequence_(make_sequence(stream)),
        facts_(sequence_, stream.rules(), dialect),
        pool_(sharing_of(dialect)),
        result_{SectionEncoder(dialect), {}} {}

  Compacted encode() {
    const Plan plan = make_plan(sequence_, facts_, dialect_);
    const std::vector<Block> blocks = blocks_of(plan);
    std::vector<Slice> slices((blocks.size() + blocks_per_slice - 1) / blocks_per_slice, Slice(dialect_.abi->endian));
    descriptors_.reserve(blocks.size() + stream_.kept().size());
    descriptors_.resize(blocks.size(), {0, 0, 0, 0, info({}, {}, false, false), 0});
    constexpr std::size_t blocks_per_worker = 512;
    parallel_for(slices.size(), workers_for(blocks.size(), blocks_per_worker),
                 [&](std::size_t i, std::size_t) { slices[i] = written(blocks, i * blocks_per_slice); });
    pool_.expect(blocks.size(), plan.bytes - blocks.size() * dialect_.version->descriptor_size);
    for (std::size_t i = 0; i < slices.size(); ++i) add(slices[i], blocks, i * blocks_per_slice);
    for (const NumberedFde& fde : stream_.kept()) add_kept(fde);
    place();
    account(plan.least_bytes);
    return std::move(result_);
  }

 private:
  void write_attribute(ByteWriter& writer, const SectionEncoder::Descriptor& descriptor, sframe::FdeType type) const {
    if (!dialect_.version->splits_descriptor) return;
    writer.u16(static_cast<std::uint16_t>(descriptor.fre_count));
    writer.u8(descriptor.info.byte());
    writer.u8(sframe::FdeInfo2(type).byte());
    writer.u8(descriptor.repeat_size);
  }

  sframe::FdeInfo info(sframe::FreAddressWidth width, sframe::PcType pc_type, bool b_key, bool signal_frame) const {
    return {static_cast<unsigned>(width) + dialect_.version->first_fre_type, pc_type, b_key, signal_frame};
  }

  struct Block {
    std::uint32_t begin, end;  ///< cuts
    std::size_t run;
    std::size_t first;  ///< block that most likely says the same, or this one
  };

  std::vector<Block> blocks_of(const Plan& plan) const {
    std::vector<Block> blocks;
    blocks.reserve(plan.blocks.size());
    constexpr std::uint32_t nobody = UINT32_MAX;
    std::vector<std::uint32_t> firsts(plan.repeated, nobody);
    for (std::size_t run = 0; run < sequence_.runs.size(); ++run) {
      const std::uint32_t end = sequence_.end_of_cuts(run);
      for (std::size_t i = blocks.size(); i < plan.blocks.size() && plan.blocks[i].begin < end; ++i) {
        const std::uint32_t behind = i + 1 < plan.blocks.size() ? std::min(plan.blocks[i + 1].begin, end) : end;
        std::size_t first = i;
        if (const RepeatedBlocks::Id repeated = plan.blocks[i].repeated; repeated != RepeatedBlocks::none) {
          if (firsts[repeated] == nobody) firsts[repeated] = static_cast<std::uint32_t>(i);
          first = firsts[repeated];
        }
        blocks.push_back({plan.blocks[i].begin, behind, run, first});
      }
    }
    return blocks;
  }

  /// The bytes of some blocks, but for those that say what another one says.
  struct Slice {
    struct Bytes {
      std::uint32_t size;  ///< 0: those of the first that says the same
      std::uint64_t hash;
    };
    explicit Slice(Endian endian) : bytes(endian) {}

    std::vector<Bytes> blocks;
    ByteWriter bytes;
    std::uint64_t flexible = 0, start_bytes = 0, tail_bytes = 0;
  };
  static constexpr std::size_t blocks_per_slice = 256;

  /// With their descriptors, which have no place of rows yet.
  Slice written(const std::vector<Block>& blocks, std::size_t begin) {
    Slice slice(dialect_.abi->endian);
    const std::size_t end = std::min(begin + blocks_per_slice, blocks.size());
    slice.blocks.reserve(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      const Block& block = blocks[i];
      const Run& run = sequence_.runs[block.run];
      const BlockShape shape = facts_.sizes.shape(block.begin, block.end);
      const std::uint32_t start = sequence_.offset_of(block.begin);
      const std::uint32_t code_end =
          block.end < sequence_.end_of_cuts(block.run) ? sequence_.cuts[block.end].code_end : run.size;
      descriptors_[i] = {run.start + start,
                         code_end - start,
                         0,
                         shape.rows,
                         info(shape.width, sframe::PcType::Increment, run.b_key, run.signal_frame),
                         0};
      if (shape.type == sframe::FdeType::Flexible) ++slice.flexible;
      const std::uint32_t starts = shape.rows * bytes_of(shape.width);
      slice.start_bytes += starts;
      slice.tail_bytes += shape.bytes - attribute_size() - starts;
      if (block.first != i && says_the_same(block, blocks[block.first])) {
        slice.blocks.push_back({0, 0});
      } else {
        const std::size_t place = slice.bytes.size();
        write(block, shape, descriptors_[i], slice.bytes);
        slice.blocks.push_back({shape.bytes, pool_.hash_of(slice.bytes.bytes().subspan(place))});
      }
    }
    return slice;
  }

  /// Where rows are becomes a number of the pool.
  void add(const Slice& slice, const std::vector<Block>& blocks, std::size_t begin) {
    result_.flexible_descriptors += slice.flexible;
    start_bytes_ += slice.start_bytes;
    tail_bytes_ += slice.tail_bytes;
    std::span<const std::byte> bytes = slice.bytes.bytes();
    for (std::size_t i = begin; const Slice::Bytes& block : slice.blocks) {
      if (block.size == 0) {
        descriptors_[i].fres_offset = descriptors_[blocks[i].first].fres_offset;
        pool_.add_again(descriptors_[i].fres_offset);
      } else {
        descriptors_[i].fres_offset = pool_.add(bytes.first(block.size), block.hash);
        bytes = bytes.subspan(block.size);
      }
      ++i;
    }
  }

  /// Compares the rows one by one; where cuts divide them otherwise, it does not find out.
  bool says_the_same(const Block& a, const Block& b) const {
    const Run &run_a = sequence_.runs[a.run], &run_b = sequence_.runs[b.run];
    if (run_a.signal_frame != run_b.signal_frame || run_a.b_key != run_b.b_key) return false;
    const auto rows_of = [&](const Block& block) {
      const std::uint32_t first = sequence_.cuts[block.begin].row;
      return std::span(sequence_.rows.data() + first, sequence_.end_of_rows(block.end - 1) - first);
    };
    // A row that repeats the one before it is nowhere but at a cut, and stands in no block but behind one.
    const std::span<const Row> rows_a = rows_of(a), rows_b = rows_of(b);
    const std::uint32_t shift = rows_b.front().offset - rows_a.front().offset;
    return std::ranges::equal(rows_a, rows_b, [shift](const Row& row_a, const Row& row_b) {
      return row_a.rule == row_b.rule && row_a.offset + shift == row_b.offset;
    });
  }

  void write(const Block& block, const BlockShape& shape, const SectionEncoder::Descriptor& descriptor,
             ByteWriter& bytes) const {
    write_attribute(bytes, descriptor, shape.type);
    const std::uint32_t size = shape.bytes - attribute_size();
    bytes.append_filled(size + RowWriter::longest, [&](std::byte* place) {
      RowWriter writer(place, dialect_.abi->endian);
      switch (shape.width) {
        case sframe::FreAddressWidth::One:
          write_rows<std::uint8_t>(writer, block, shape.type);
          break;
        case sframe::FreAddressWidth::Two:
          write_rows<std::uint16_t>(writer, block, shape.type);
          break;
        case sframe::FreAddressWidth::Four:
          write_rows<std::uint32_t>(writer, block, shape.type);
          break;
      }
      assert(writer.place() == place + size);
      return writer.place();
    });
  }

  template <std::unsigned_integral Start>
  void write_rows(RowWriter& writer, const Block& block, sframe::FdeType type) const {
    const std::uint32_t start = sequence_.offset_of(block.begin);
    for (std::uint32_t cut = block.begin; cut < block.end; ++cut) {
      const bool skips = sequence_.cuts[cut].repeats && cut != block.begin;
      const std::uint32_t end = sequence_.end_of_rows(cut);
      for (std::uint32_t i = sequence_.cuts[cut].row + (skips ? 1 : 0); i < end; ++i) {
        const Row& row = sequence_.rows[i];
        writer.write<Start>(row.offset - start, stream_.rules().tail(row.rule, type));
      }
    }
  }

  void add_kept(const NumberedFde& fde) {
    const sframe::FreAddressWidth width = fre_address_width(fde.fres.back().pc_offset);
    SectionEncoder::Descriptor descriptor{fde.start,
                                          fde.size,
                                          0,
                                          static_cast<std::uint32_t>(fde.fres.size()),
                                          info(width, fde.pc_type, fde.b_key, fde.signal_frame),
                                          fde.repeat_size};
    ByteWriter writer(dialect_.abi->endian);
    write_attribute(writer, descriptor, fde.type);
    const std::size_t attribute = writer.size();
    for (const cfi::Row& fre : fde.fres)
      encode_fre(writer, fre.pc_offset, stream_.rules().tail(fre.rule, fde.type), width);
    const std::uint64_t starts = fde.fres.size() * bytes_of(width);
    start_bytes_ += starts;
    tail_bytes_ += writer.size() - attribute - starts;
    ++result_.mask_descriptors;
    add(descriptor, fde.type, writer.bytes());
  }

  void add(SectionEncoder::Descriptor descriptor, sframe::FdeType type, std::span<const std::byte> block) {
    descriptor.fres_offset = pool_.add(block, pool_.hash_of(block));  // a number yet
    descriptors_.push_back(descriptor);
    if (type == sframe::FdeType::Flexible) ++result_.flexible_descriptors;
  }

  void place() {
    BlockPool::Placed placed = pool_.release();
    // Those that are kept come last, and both kinds ascend.
    const auto kept = descriptors_.end() - static_cast<std::ptrdiff_t>(stream_.kept().size());
    std::ranges::inplace_merge(descriptors_, kept, {}, &SectionEncoder::Descriptor::start);
    for (SectionEncoder::Descriptor& descriptor : descriptors_)
      descriptor.fres_offset = placed.offsets[descriptor.fres_offset];
    stored_bytes_ = placed.bytes.size();
    result_.encoder = SectionEncoder(dialect_, std::move(descriptors_), std::move(placed.bytes));
  }

  void account(std::uint64_t least_planned) {
    const DefaultSize& before = stream_.default_size();
    const std::uint64_t per_descriptor = dialect_.version->descriptor_size + attribute_size();
    const auto difference = [](std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b); };
    Compaction& saved = result_.saved;
    saved.default_bytes =
        dialect_.version->header_size() + before.descriptors * per_descriptor + before.start_bytes + before.tail_bytes;
    saved.default_descriptors = before.descriptors;
    saved.default_rows = before.rows;
    saved.by_fewer_descriptors =
        difference(before.descriptors * per_descriptor, result_.encoder.fde_count() * per_descriptor);
    saved.by_fewer_rows = difference(before.tail_bytes, tail_bytes_);
    saved.by_row_starts = difference(before.start_bytes, start_bytes_);
    saved.by_sharing = difference(pool_.added_bytes(), stored_bytes_);
    saved.bytes = result_.encoder.encoded_size();
    saved.least_bytes =
        dialect_.version->header_size() + least_planned + stream_.kept().size() * dialect_.version->descriptor_size;
  }

  std::uint32_t attribute_size() const {
    return dialect_.version->splits_descriptor ? sframe::fde_attribute::repeat_size_at + 1 : 0;
  }

  RowStream& stream_;
  Dialect dialect_;
  Sequence sequence_;
  CutFacts facts_;
  BlockPool pool_;
  std::vector<SectionEncoder::Descriptor> descriptors_;
  std::uint64_t start_bytes_ = 0, tail_bytes_ = 0;  ///< of rows
  std::uint64_t stored_bytes_ = 0;
  Compacted result_;
};

}  // namespace

Compacted encode(RowStream& stream, const Dialect& dialect) {
  return Encoder(stream, dialect).encode();
}

}  // namespace sframe_gen::emit::compact
