// The fast path and the general interpreter give the same rows: of every FDE of the corpus and of the system's files.

#include "cfi/fast_path.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "cfi/cfi_builder.hpp"
#include "cfi/frame_index.hpp"
#include "elf/image.hpp"
#include "elf/machine.hpp"
#include "support/places.hpp"

namespace sframe_gen::test {
namespace {

namespace fs = std::filesystem;
using Paths = cfi::CfiInterpreter::Paths;

/// How many FDEs of the file were compared.
std::size_t compare_paths(const fs::path& path) {
  const elf::Image image = elf::Image::open(path);
  const elf::Machine* const machine = elf::find_machine(image);
  if (machine == nullptr) return 0;
  const cfi::TrackedRegisters& tracked = cfi::tracked_registers(machine->abi);
  std::size_t compared = 0;
  for (const cfi::LoadedSection& section : cfi::load_frame_sections(image)) {
    const cfi::FrameTable table =
        cfi::index_frame_section(section.kind, section.bytes, section.address, image.endian(), section.origin);
    cfi::RuleTable rules;
    cfi::CfiInterpreter both(table, tracked, rules), general(table, tracked, rules, Paths::GeneralOnly);
    std::vector<cfi::Row> rows, expected;
    for (const cfi::Fde& fde : table.fdes) {
      both.run(fde, rows);
      general.run(fde, expected);
      EXPECT_EQ(rows, expected) << path << ", FDE at " << fde.section_offset;
      ++compared;
    }
  }
  return compared;
}

TEST(FastPath, AgreesOnTheCorpus) {
  std::size_t compared = 0;
  for (const auto& entry : fs::recursive_directory_iterator(sframe_gen::test::source_folder() + "/corpus"))
    if (entry.path().extension() == ".elf") compared += compare_paths(entry.path());
  EXPECT_GT(compared, 500U);
}

TEST(FastPath, AgreesOnTheSystem) {
  std::size_t compared = 0;
  for (const char* const file : {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
                                 "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/bin/git", "/usr/bin/python3",
                                 "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", "/usr/aarch64-linux-gnu/lib/libc.so.6",
                                 "/usr/s390x-linux-gnu/lib/libc.so.6"})
    if (fs::exists(file)) compared += compare_paths(file);
  if (compared == 0) GTEST_SKIP() << "none of the files is here";
}

TEST(FastPath, StopsAtTheFirstInstructionThatItDoesNotKnow) {
  const Bytes known{0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x02, 1, 0x0c, 7, 8, 0x03, 1, 0, 0xc6, 0x0b, 0x2e, 5};
  cfi::FastPath path(cfi::amd64::tracked);
  const auto change = [](std::span<const std::byte>, cfi::RuleId before) { return before; };
  for (const Bytes& unknown :
       {Bytes{0x0f, 1, 0x96}, Bytes{0x01, 0}, Bytes{0x0e, 0x80, 0x80, 1}, Bytes{0x2d}, Bytes{0x0b}, Bytes{0x03, 1}}) {
    std::vector<std::byte> all(known.span().begin(), known.span().end());
    all.insert(all.end(), unknown.span().begin(), unknown.span().end());
    cfi::RunState state;
    EXPECT_EQ(path.run(all, Endian::Little, {}, 0, change, state), known.span().size());
    EXPECT_EQ(state.location, 6U);
  }
}

}  // namespace
}  // namespace sframe_gen::test
