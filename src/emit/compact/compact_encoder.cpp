#include "emit/compact/compact_encoder.hpp"

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>
#include <vector>

#include "emit/compact/block_pool.hpp"
#include "emit/compact/block_sizes.hpp"
#include "emit/compact/planner.hpp"
#include "emit/compact/sequence.hpp"
#include "emit/fre_encoder.hpp"

namespace sframe_gen::emit::compact {

namespace {

Sharing sharing_of(const Dialect& dialect) {
  if (!dialect.shares_rows) return Sharing::None;
  // An attribute in front says how many rows there are, and so keeps a block from being the beginning of another.
  return dialect.version->splits_descriptor ? Sharing::Equal : Sharing::Heads;
}

/// A row start of 1, 2 or 4 bytes.
void write_start(ByteWriter& writer, std::uint32_t start, sframe::FreAddressWidth width) {
  switch (width) {
    case sframe::FreAddressWidth::One:
      return writer.u8(static_cast<std::uint8_t>(start));
    case sframe::FreAddressWidth::Two:
      return writer.u16(static_cast<std::uint16_t>(start));
    case sframe::FreAddressWidth::Four:
      return writer.u32(start);
  }
}

class Encoder {
 public:
  Encoder(RowStream& stream, const Dialect& dialect)
      : stream_(stream),
        dialect_(dialect),
        sequence_(make_sequence(stream, dialect.compact_rows)),
        sizes_(sequence_, stream.rules(), dialect),
        pool_(sharing_of(dialect)),
        result_{SectionEncoder(dialect), {}} {}

  Compacted encode() {
    const Plan plan = make_plan(sequence_, sizes_, dialect_);
    std::size_t next = 0;
    for (std::size_t run = 0; run < sequence_.runs.size(); ++run) {
      const std::uint32_t end = sequence_.end_of_cuts(run);
      for (; next < plan.starts.size() && plan.starts[next] < end; ++next)
        add_block(run, plan.starts[next], next + 1 < plan.starts.size() ? std::min(plan.starts[next + 1], end) : end);
    }
    for (const sframe::Fde& fde : stream_.kept()) add_kept(fde);
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

  void add_block(std::size_t run_index, std::uint32_t begin, std::uint32_t end) {
    const Run& run = sequence_.runs[run_index];
    const BlockShape shape = sizes_.shape(begin, end);
    const std::uint32_t start = sequence_.offset_of(begin);
    const std::uint32_t code_end = end < sequence_.end_of_cuts(run_index) ? sequence_.cuts[end].code_end : run.size;
    SectionEncoder::Descriptor descriptor{run.start + start,
                                          code_end - start,
                                          0,
                                          shape.rows,
                                          info(shape.width, sframe::PcType::Increment, run.b_key, run.signal_frame),
                                          0};
    ByteWriter writer(dialect_.abi->endian);
    writer.reserve(shape.bytes);
    write_attribute(writer, descriptor, shape.type);
    for (std::uint32_t cut = begin; cut < end; ++cut) write_rows(writer, cut, cut == begin, start, shape);
    assert(writer.size() == shape.bytes);
    add(descriptor, shape.type, writer.bytes());
  }

  /// Those from one cut to the next.
  void write_rows(ByteWriter& writer, std::uint32_t cut, bool first, std::uint32_t start, const BlockShape& shape) {
    const bool skips = sequence_.cuts[cut].repeats && !first;
    const std::uint32_t end = sequence_.end_of_rows(cut);
    for (std::uint32_t i = sequence_.cuts[cut].row + (skips ? 1 : 0); i < end; ++i) {
      const Row& row = sequence_.rows[i];
      write_start(writer, row.offset - start, shape.width);
      const auto tail = stream_.rules().tail(row.rule, shape.type).bytes();
      writer.append_bytes(tail);
      tail_bytes_ += tail.size();
      start_bytes_ += bytes_of(shape.width);
    }
  }

  void add_kept(const sframe::Fde& fde) {
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
    for (const sframe::Fre& fre : fde.fres) encode_fre(writer, fre, width, fde.type, dialect_);
    const std::uint64_t starts = fde.fres.size() * bytes_of(width);
    start_bytes_ += starts;
    tail_bytes_ += writer.size() - attribute - starts;
    ++result_.mask_descriptors;
    add(descriptor, fde.type, writer.bytes());
  }

  void add(SectionEncoder::Descriptor descriptor, sframe::FdeType type, std::span<const std::byte> block) {
    descriptor.fres_offset = pool_.add(block);  // a number yet
    descriptors_.push_back(descriptor);
    if (type == sframe::FdeType::Flexible) ++result_.flexible_descriptors;
  }

  void place() {
    BlockPool::Placed placed = pool_.place();
    std::ranges::stable_sort(descriptors_, {}, &SectionEncoder::Descriptor::start);
    for (SectionEncoder::Descriptor& descriptor : descriptors_)
      descriptor.fres_offset = placed.offsets[descriptor.fres_offset];
    stored_bytes_ = placed.bytes.size();
    result_.encoder = SectionEncoder(dialect_, std::move(descriptors_), std::move(placed.bytes));
  }

  void account(std::uint64_t least_planned) {
    const DefaultSize& before = stream_.default_size();
    const std::uint64_t attribute = dialect_.version->splits_descriptor ? fde_attribute_size : 0;
    const std::uint64_t per_descriptor = dialect_.version->descriptor_size + attribute;
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

  static constexpr std::uint64_t fde_attribute_size = sframe::fde_attribute::repeat_size_at + 1;

  RowStream& stream_;
  Dialect dialect_;
  Sequence sequence_;
  BlockSizes sizes_;
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
