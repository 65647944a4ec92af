#include "emit/compact/encode.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "emit/compact/block_pool.hpp"
#include "emit/compact/cuts.hpp"
#include "emit/compact/planner.hpp"

namespace sframe_gen::emit::compact {

namespace {

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
        append_rows(rows, at.offset - first.offset - at.rows[0].pc_offset, shape.width, shape.type, encoded_rules,
                    bytes_);
      }
      end_block(std::uint64_t{shape.rows} * bytes_of(shape.width));
    }
  }

  void add(const EncodedRules& encoded_rules, const Fde& fde) {
    const sframe::FreAddressWidth width = fre_address_width(fde.rows.back().pc_offset);
    const auto rows = static_cast<std::uint32_t>(fde.rows.size());
    const sframe::FdeInfo info = info_of(width, fde.pc_type, fde.b_key, fde.signal_frame);
    begin_block({fde.start, fde.size, 0, rows, info, fde.repeat_size}, fde.type);
    append_rows(fde.rows, 0, width, fde.type, encoded_rules, bytes_);
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
  std::uint64_t start_bytes = 0, tail_bytes = 0;  ///< of rows

 private:
  sframe::FdeInfo info_of(sframe::FreAddressWidth width, sframe::PcType pc_type, bool b_key, bool signal_frame) const {
    return {static_cast<unsigned>(width) + dialect_.version->first_fre_type, pc_type, b_key, signal_frame};
  }

  void begin_block(const SectionEncoder::Descriptor& descriptor, sframe::FdeType type) {
    descriptors_.push_back(descriptor);
    if (type == sframe::FdeType::Flexible) ++flexible;
    append_attribute(descriptor, type, dialect_, bytes_);
  }
  void end_block(std::uint64_t bytes_of_starts) {
    const std::size_t begin = ends_.empty() ? 0 : ends_.back();
    ends_.push_back(bytes_.size());
    start_bytes += bytes_of_starts;
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
    const Plan plan = make_plan(runs, dialect_);
    std::vector<Blocks> blocks(runs.size(), Blocks(dialect_));
    for_each_run(runs.size(), [&](std::size_t i) { blocks[i].add(stream_.encoded_rules(), runs[i], plan.paths[i]); });
    std::exchange(runs, {});  // frees memory, before the pool takes as much
    for (Blocks& waiting : blocks) {
      const Blocks of_run = std::move(waiting);  // whose memory is freed here
      add(of_run);
    }
    Blocks kept(dialect_);
    for (const Fde& fde : stream_.kept()) kept.add(stream_.encoded_rules(), fde);
    add(kept);
    result_.mask_descriptors = stream_.kept().size();
    place();
    account(plan.least_bytes);
    return std::move(result_);
  }

 private:
  void add(const Blocks& blocks) {
    blocks.move_to(descriptors_, pool_);
    result_.flexible_descriptors += blocks.flexible;
    start_bytes_ += blocks.start_bytes;
    tail_bytes_ += blocks.tail_bytes;
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
    saved.by_row_starts = difference(before.start_bytes, start_bytes_);
    saved.by_sharing = difference(pool_.added_bytes(), stored_bytes_);
    saved.bytes = result_.encoder.encoded_size();
    saved.least_bytes =
        dialect_.version->header_size() + least_planned + stream_.kept().size() * dialect_.version->descriptor_size;
  }

  const RowStream& stream_;
  Dialect dialect_;
  BlockPool pool_;
  std::vector<SectionEncoder::Descriptor> descriptors_;
  std::uint64_t start_bytes_ = 0, tail_bytes_ = 0;  ///< of rows
  std::uint64_t stored_bytes_ = 0;
  Compacted result_;
};

}  // namespace

Compacted encode(const RowStream& stream, const Dialect& dialect) {
  return Encoder(stream, dialect).encode();
}

}  // namespace sframe_gen::emit::compact
