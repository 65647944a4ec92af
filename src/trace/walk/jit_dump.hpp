#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sframe_gen/format.hpp"
#include "support/endian.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::trace::walk {

/// A function that a just-in-time compiler made.
struct JitFunction {
  std::string_view name;
  std::span<const std::byte> code;
  std::span<const std::byte> unwinding;  ///< .eh_frame, then .eh_frame_hdr; empty: none
  std::uint64_t header_size = 0;         ///< of .eh_frame_hdr
};

/// From a time on, a function is at an address.
struct JitPlacement {
  std::uint64_t time = 0;  ///< ns of CLOCK_MONOTONIC
  std::uint64_t address = 0;
  std::size_t function = 0;  ///< index
};

/// What a just-in-time compiler writes to jit-PID.dump as it goes on
/// (tools/perf/Documentation/jitdump-specification.txt of Linux). What is there before the first damaged record counts:
/// a program that was killed has not written its last.
class JitDump {
 public:
  /// Throws MalformedInput for a damaged header, and Refused for another machine's code or times of another clock.
  JitDump(MappedFile file, sframe::Abi abi);

  const std::string& name() const { return file_.name(); }
  std::uint16_t machine() const { return machine_; }
  Endian endian() const { return endian_; }
  std::size_t function_count() const { return functions_.size(); }
  JitFunction function(std::size_t index) const;
  /// By time.
  const std::vector<JitPlacement>& placements() const { return placements_; }

 private:
  /// Where a function's parts are in the file, which has 4 GiB at most: there may be a million of them.
  struct PlacesOfFunction {
    std::uint32_t name, name_size, code, code_size, unwinding, unwinding_size, header_size;
  };

  void read_header(sframe::Abi abi);
  void read_records();
  PlacesOfFunction places_of(const JitFunction& function) const;

  MappedFile file_;
  Endian endian_;
  std::uint16_t machine_ = 0;
  std::size_t header_size_ = 0;
  std::vector<PlacesOfFunction> functions_;
  std::vector<JitPlacement> placements_;
};

/// An ELF file of one function with a symbol, where its call frame information expects the code to be.
std::vector<std::byte> elf_file_of(const JitFunction& function, std::uint16_t machine, Endian endian);
/// Where that file has the code: address and offset.
inline constexpr std::uint64_t jit_code_address = 0x200;

}  // namespace sframe_gen::trace::walk
