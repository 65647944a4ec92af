// --check=kernel beside a model of the kernel's reader: of sound and damaged sections, both say the same.

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "readers/judge.hpp"
#include "readers/kernel_model.hpp"
#include "sframe_gen/check.hpp"
#include "support/mapped_file.hpp"
#include "support/places.hpp"
#include "support/sanitized.hpp"

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

/// The file has a section.
Sample sample_of(const fs::path& path) {
  const elf::Image image = elf::Image::open(path);
  const Elf64_Shdr& section = image.find_section(".sframe")->header;
  const auto bytes = image.file_bytes();
  return {path.string(), {bytes.begin(), bytes.end()}, section.sh_offset, section.sh_size, section.sh_addr};
}

/// GNU's own sections: in some, the kernel finds faults.
std::vector<Sample> samples() {
  std::vector<Sample> made;
  for (const char* machine : {"amd64", "aarch64", "s390x"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(sframe_gen::test::source_folder() + "/corpus/" + std::string(machine))) {
      if (entry.path().filename() != "gnu.elf") continue;
      const elf::Image image = elf::Image::open(entry.path());
      const elf::Section* const section = image.find_section(".sframe");
      if (section == nullptr || section->header.sh_size == 0) continue;
      made.push_back(sample_of(entry.path()));
    }
  }
  std::ranges::sort(made, {}, &Sample::name);
  return made;
}

struct Compared {
  test::KernelOutcome outcome;
  ReaderVerdict verdict;
};

Compared compare(const Sample& sample) {
  const elf::Image image = elf::Image::of_bytes(sample.bytes, "a.out");
  const auto section = std::span(sample.bytes).subspan(sample.section, sample.size);
  const std::array readers{find_reader_target("kernel")};
  return {test::kernel_outcome(image, section, sample.address), judge(image, readers).front()};
}

/// Where it is misread, the kernel gives wrong answers or ends traces, but may keep it.
void expect_agreement(const Compared& compared, const std::string& what) {
  if (compared.verdict.kind == Kind::Misreads) return;
  EXPECT_EQ(compared.verdict.kind == Kind::Accepts, compared.outcome.is_kept() && compared.outcome.misread == 0)
      << what << ": " << reason_of(compared.verdict);
}

TEST(KernelModel, AgreesOnTheCorpus) {
  std::size_t kept = 0, dropped = 0;
  for (const Sample& sample : samples()) {
    const Compared compared = compare(sample);
    expect_agreement(compared, sample.name);
    ++(compared.outcome.is_kept() ? kept : dropped);
  }
  EXPECT_GT(kept, 100U);
  EXPECT_GT(dropped, 2U);
}

// Of x86-64, it has values of 16.
TEST(KernelModel, AgreesOnRegisters) {
  Sample sample = sample_of(sframe_gen::test::source_folder() + "/corpus/amd64/drap/gnu.elf");
  std::byte& control = sample.section_bytes()[0x37];  // of a CFA that counts from r10
  ASSERT_EQ(control, std::byte{0x51});
  for (const unsigned number : {15U, 16U}) {
    control = static_cast<std::byte>(number << 3U | 1U);
    const Compared compared = compare(sample);
    EXPECT_EQ(compared.outcome.misread == 0, number == 15) << number;
    EXPECT_EQ(compared.verdict.kind, number == 15 ? Kind::Accepts : Kind::Misreads) << reason_of(compared.verdict);
  }
}

/// With sanitizers a fifth of the changes.
TEST(KernelModel, AgreesOnDamagedSections) {
  std::mt19937 random(38);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  const std::vector<Sample> sound = samples();
  std::size_t kept = 0, dropped = 0, misread = 0;
  constexpr unsigned all = sframe_gen::test::is_sanitized ? 800 : 4000;
  for (unsigned i = 0; i < all; ++i) {
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
    ++(compared.outcome.is_kept() ? kept : dropped);
  }
  EXPECT_GT(kept, all / 8);
  EXPECT_GT(dropped, all * 3 / 8);
  EXPECT_LT(misread, all / 10);
}

/// The program headers of a sample of x86-64, which are five: three PT_LOAD, of which the second is code and holds the
/// section, PT_DYNAMIC and PT_GNU_SFRAME.
struct Headers {
  std::array<Elf64_Phdr, 5> all;
  Elf64_Phdr& code() { return all[1]; }
  Elf64_Phdr& data() { return all[2]; }
  Elf64_Phdr& dynamic() { return all[3]; }
  Elf64_Phdr& sframe() { return all[4]; }
};

struct ChangedHeaders {
  const char* name;
  void (*change)(Headers&);
  const char* why;  ///< the kernel does not use the section; "": it does
};

void PrintTo(const ChangedHeaders& one, std::ostream* out) {
  *out << one.name;
}

constexpr ChangedHeaders changed_headers[]{
    {"Unchanged", [](Headers&) {}, ""},
    {"OneByteShort", [](Headers& headers) { --headers.sframe().p_memsz; },
     "its program header has 58 of its 59 bytes; kernel goes by that size"},
    {"Empty", [](Headers& headers) { headers.sframe().p_memsz = 0; },
     "its program header has 0 of its 59 bytes; kernel goes by that size"},
    {"ToTheEndOfThePage", [](Headers& headers) { headers.sframe().p_memsz = 0xfc0; }, ""},
    {"BeyondThePage", [](Headers& headers) { headers.sframe().p_memsz = 0xfc1; },
     "its program header ends outside the PT_LOAD that it is in; kernel goes by that size"},
    {"TheFirstOfTwoElsewhere", [](Headers& headers) { headers.dynamic().p_type = elf::segment_type_gnu_sframe; }, ""},
    {"TheLastOfTwoElsewhere",
     [](Headers& headers) {
       headers.dynamic() = headers.sframe();
       headers.sframe().p_vaddr = headers.code().p_vaddr;
     },
     "its program header leads to another place; kernel asks program headers for it"},
    {"CodeWithoutFunctionsAfterIt", [](Headers& headers) { headers.data().p_flags |= PF_X; },
     "the executable segment at 0x11080 does not begin with a function; kernel drops the whole section when it comes "
     "there"},
    {"BssOnTheLastPageOfCode", [](Headers& headers) { headers.code().p_memsz = 0x1000; }, ""},
    {"BssAfterTheLastPageOfCode", [](Headers& headers) { headers.code().p_memsz = 0x1001; },
     "the executable segment of program header 2 goes on after the pages of its bytes in the file; kernel supports "
     "only "
     "code that is in one mapping"},
};

class KernelModelHeaders : public testing::TestWithParam<ChangedHeaders> {};

TEST_P(KernelModelHeaders, AgreesOnProgramHeaders) {
  const ChangedHeaders& one = GetParam();
  Sample sample = sample_of(sframe_gen::test::source_folder() + "/corpus/amd64/def-cfa/gnu.elf");
  Headers headers;
  const std::span<std::byte> place = std::span(sample.bytes).subspan(sizeof(Elf64_Ehdr), sizeof headers.all);
  std::memcpy(&headers.all, place.data(), place.size());
  one.change(headers);
  std::memcpy(place.data(), &headers.all, place.size());
  const elf::Image image = elf::Image::of_bytes(sample.bytes, "a.out");
  const std::array readers{find_reader_target("kernel")};
  EXPECT_EQ(reason_of(judge(image, readers).front()), one.why);
  EXPECT_EQ(test::kernel_outcome(image).is_kept(), *one.why == 0);
}

INSTANTIATE_TEST_SUITE_P(Changes, KernelModelHeaders, testing::ValuesIn(changed_headers),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace sframe_gen::readers
