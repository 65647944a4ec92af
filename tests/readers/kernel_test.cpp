// --check=kernel beside a model of the kernel's reader: of sound and damaged sections, both say the same.

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "readers/judge.hpp"
#include "readers/kernel_model.hpp"
#include "sframe/test_bytes.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::readers {
namespace {

namespace fs = std::filesystem;
using Kind = ReaderVerdict::Kind;

/// A linked file with a section of version 3.
struct Sample {
  std::string name;
  std::vector<std::byte> bytes;  ///< of the file
  std::uint64_t section = 0;     ///< its offset in the file
  std::uint64_t size = 0;
  std::uint64_t address = 0;

  std::span<std::byte> section_bytes() { return std::span(bytes).subspan(section, size); }
};

/// GNU's own sections: in some, the kernel finds faults.
std::vector<Sample> samples() {
  std::vector<Sample> made;
  for (const char* machine : {"amd64", "aarch64", "s390x"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(SFRAME_GEN_SOURCE_DIR "/corpus/" + std::string(machine))) {
      if (entry.path().filename() != "gnu.elf") continue;
      const elf::Image image = elf::Image::open(entry.path());
      const elf::Section* const section = image.find_section(".sframe");
      if (section == nullptr || section->header.sh_size == 0) continue;
      const auto file = sframe::test::read_text(entry.path());
      const auto bytes = std::as_bytes(std::span(file));
      made.push_back({entry.path().string(),
                      {bytes.begin(), bytes.end()},
                      section->header.sh_offset,
                      section->header.sh_size,
                      section->header.sh_addr});
    }
  }
  std::ranges::sort(made, {}, &Sample::name);
  return made;
}

struct Compared {
  bool is_kept;
  ReaderVerdict verdict;
};

Compared compare(const Sample& sample) {
  const elf::Image image = elf::Image::of_bytes(sample.bytes, "a.out");
  const auto outcome =
      test::kernel_outcome(image, std::span(sample.bytes).subspan(sample.section, sample.size), sample.address);
  const std::array readers{find_reader_target("kernel")};
  return {outcome.is_kept(), judge(image, readers).front()};
}

/// Where it is misread, the kernel gives wrong answers or ends traces, but may keep it.
void expect_agreement(const Compared& compared, const std::string& what) {
  if (compared.verdict.kind == Kind::Misreads) return;
  EXPECT_EQ(compared.verdict.kind == Kind::Accepts, compared.is_kept) << what << ": " << reason_of(compared.verdict);
}

TEST(KernelModel, AgreesOnTheCorpus) {
  std::size_t kept = 0, dropped = 0;
  for (const Sample& sample : samples()) {
    const Compared compared = compare(sample);
    expect_agreement(compared, sample.name);
    ++(compared.is_kept ? kept : dropped);
  }
  EXPECT_GT(kept, 100U);
  EXPECT_GT(dropped, 2U);
}

TEST(KernelModel, AgreesOnDamagedSections) {
  std::mt19937 random(38);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  const std::vector<Sample> sound = samples();
  std::size_t kept = 0, dropped = 0, misread = 0;
  for (unsigned i = 0; i < 4000; ++i) {
    Sample sample = sound[below(sound.size())];
    const auto section = sample.section_bytes();
    std::string what = sample.name + " with";
    for (std::size_t changes = 1 + below(3) / 2; changes > 0; --changes) {
      const std::size_t at = below(section.size());
      const std::array values{std::byte{0}, std::byte{0xff}, section[at] ^ std::byte{1} << static_cast<int>(below(8)),
                              static_cast<std::byte>(below(256))};
      section[at] = values[below(values.size())];
      what += ' ' + std::to_string(std::to_integer<unsigned>(section[at])) + " at " + std::to_string(at);
    }
    const Compared compared = compare(sample);
    expect_agreement(compared, what);
    if (compared.verdict.kind == Kind::Misreads) ++misread;
    ++(compared.is_kept ? kept : dropped);
  }
  EXPECT_GT(kept, 500U);
  EXPECT_GT(dropped, 1500U);
  EXPECT_LT(misread, 400U);
}

}  // namespace
}  // namespace sframe_gen::readers
