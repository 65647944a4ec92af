// Any bytes as .eh_frame or .debug_frame: their records are found, and both ways to make rows give the same.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cfi/frame_index.hpp"
#include "cfi/interpreter.hpp"
#include "target.hpp"

namespace sframe_gen::fuzz {

void rows(Bytes input) {
  using Paths = cfi::CfiInterpreter::Paths;
  Choices choices(input);
  const auto kind = choices.byte() % 2 == 0 ? cfi::FrameSection::EhFrame : cfi::FrameSection::DebugFrame;
  const Endian endian = choices.byte() % 4 == 0 ? Endian::Big : Endian::Little;
  constexpr sframe::Abi abis[] = {sframe::Abi::Amd64, sframe::Abi::Aarch64Little, sframe::Abi::S390x};
  const cfi::TrackedRegisters& tracked = cfi::tracked_registers(abis[choices.below(3)]);
  const std::uint64_t begin = choices.byte();
  const InputOrigin origin{"fuzz", "frames"};
  succeeds([&] {
    const cfi::FrameTable table = cfi::index_frame_section(kind, choices.rest(), 0x400000, endian, origin);
    cfi::RuleTable rules;
    cfi::CfiInterpreter both(table, tracked, rules), general(table, tracked, rules, Paths::GeneralOnly);
    std::vector<cfi::Row> rows, expected;
    for (const cfi::Fde& fde : table.fdes) {
      require(fde.cie_index < table.cies.size(), "an FDE has a CIE");
      for (const std::uint64_t from : {std::uint64_t{0}, begin}) {
        if (from >= fde.function_size) continue;
        const Range pcs{from, std::min(fde.function_size, from + UINT32_MAX)};
        both.run(fde, pcs, rows);
        general.run(fde, pcs, expected);
        require(rows == expected, "the fast path gives the rows of the general interpreter");
        require(!rows.empty() && rows.front().pc_offset == 0, "the first row is where rows begin");
        for (std::size_t i = 0; i < rows.size(); ++i) {
          require(i == 0 || (rows[i - 1].pc_offset < rows[i].pc_offset && rows[i - 1].rule != rows[i].rule),
                  "rows ascend, and say something new");
          require(from + rows[i].pc_offset < pcs.end, "rows are in the function");
        }
      }
    }
  });
}

}  // namespace sframe_gen::fuzz
