#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/image.hpp"
#include "elf/plan/file_space.hpp"
#include "elf/plan/offset_map.hpp"

namespace sframe_gen::elf {

/// Whether most of `bytes` inserted for `needed` ones are a hole of a MiB and more, as in files linked for 2 MiB pages
/// (ld before 2.31, -z max-page-size).
bool is_wasteful(std::uint64_t bytes, std::uint64_t needed);

/// The PT_LOADs of the input, which may grow into the unused addresses behind them.
///
///     addresses   [R......]....|[RX......]..|[RW...       | next page boundary: another PT_LOAD's page starts here
///                         ^ take() hands these out, first come, first served
///     file        [R......][RX......]...                  where the file has no gap there, bytes are inserted
class LoadGrowth {
 public:
  /// `replaced` names the section whose old addresses are free.
  LoadGrowth(const Image& image, std::string_view replaced);

  /// `layout_page`: what addresses and file offsets have to agree in.
  std::uint64_t page() const { return page_; }
  /// With their new sizes, still at the file offsets of the input.
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  /// First file offset behind what `load` had to keep of the input.
  std::uint64_t kept_end(std::size_t load) const;

  /// Gives up the last bytes of a PT_LOAD, from `address` on.
  void shrink(std::size_t load, std::uint64_t address);
  /// An address behind the end of `load`, if it is read-only and has the room.
  std::optional<std::uint64_t> take(std::size_t load, std::uint64_t size, std::uint64_t alignment);

  /// Plans file bytes for everything taken; sets `wastes` where an insertion is_wasteful. Returns why it does not work.
  std::optional<std::string> make_file_room(const FileSpace& space, OffsetMap& map, bool& wastes) const;

  /// First multiple of the page above every PT_LOAD.
  std::uint64_t address_above() const;

 private:
  std::uint64_t address_limit(std::size_t load) const;
  std::uint64_t insertion_unit(std::uint64_t at) const;

  const Image* image_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<std::uint64_t> kept_size_;  ///< bytes of the input, by segment
  std::string_view replaced_;
  std::uint64_t page_;
};

}  // namespace sframe_gen::elf
