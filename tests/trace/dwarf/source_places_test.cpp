#include "trace/dwarf/source_places.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "elf/notes.hpp"
#include "support/folder.hpp"

namespace sframe_gen::trace::dwarf {

namespace {

std::optional<elf::Image> open_split(const std::string& path) {
  return elf::Image::open(path);
}

/// `place` is in three functions: lines 3, 8 and 12.
constexpr const char* program = R"(static volatile int sink;
inline __attribute__((always_inline)) void innermost(int x) {
  __asm__ volatile(".globl place\nplace: nop");
  sink = x;
}
namespace deep {
inline __attribute__((always_inline)) void middle(int x) {
  innermost(x + 1);
}
}
__attribute__((noinline)) void outer(int x) {
  deep::middle(x);
}
__attribute__((noinline)) void dropped(int x) {
  for (int i = 0; i < x; ++i) sink = i * x;
}
int main(int argc, char**) {
  outer(argc);
  return 0;
}
)";

void run(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string output;
  std::array<char, 4096> part{};
  while (const std::size_t size = std::fread(part.data(), 1, part.size(), pipe.get())) output.append(part.data(), size);
  return output;
}

std::uint64_t address_of(const std::filesystem::path& file, const std::string& symbol) {
  return std::strtoull(output_of("nm " + file.string() + " | grep ' " + symbol + "$'").c_str(), nullptr, 16);
}

/// "function file:line" of each frame, and where it is inlined a sign.
std::vector<std::string> texts_of(const std::vector<SourceFrame>& frames) {
  std::vector<std::string> texts;
  for (const SourceFrame& frame : frames) {
    texts.push_back(std::string(frame.function) + " " + std::string(frame.file) + ":" + std::to_string(frame.line) +
                    (frame.is_inlined ? " inlined" : ""));
  }
  return texts;
}

class Compiled : public testing::Test {
 protected:
  /// Compiles the program, and links it.
  std::filesystem::path make(const std::string& compiler, const std::string& name = "program") {
    std::ofstream(folder_ / "source.cpp") << program;
    run("cd " + folder_.path().string() + " && " + compiler + " source.cpp -o " + name);
    return folder_ / name;
  }

  std::vector<std::string> frames_of_place() const {
    const std::string source = (folder_ / "source.cpp").string();
    return {"_Z9innermosti " + source + ":3 inlined", "_ZN4deep6middleEi " + source + ":8 inlined",
            "_Z5outeri " + source + ":12"};
  }

  test::Folder folder_;
};

class EachProducer : public Compiled, public testing::WithParamInterface<const char*> {};

TEST_P(EachProducer, NamesTheInlinedCallsThatLlvmSymbolizerNames) {
  const auto file = make(GetParam());
  const elf::Image image = elf::Image::open(file);
  ASSERT_TRUE(SourcePlaces::has_any(image));
  SourcePlaces places(image, nullptr, open_split);
  const std::uint64_t place = address_of(file, "place");
  EXPECT_EQ(texts_of(places.at(place)), frames_of_place());
  EXPECT_TRUE(places.at(0).empty());
  EXPECT_TRUE(places.at(1).empty());
  EXPECT_TRUE(places.at(~std::uint64_t{0}).empty());

  // It prefers a symbol to the name of a function.
  run("objcopy -N place " + file.string());
  std::string ours, addresses;
  for (const char* const function : {"_Z5outeri", "main"}) {
    const std::uint64_t begin = address_of(file, function);
    for (std::uint64_t address = begin; address < begin + 8; ++address) {
      addresses += " " + std::to_string(address);
      for (const std::string& text : texts_of(places.at(address))) ours += text.substr(0, text.find(" inl")) + "\n";
    }
  }
  const std::string theirs = output_of("llvm-symbolizer --inlines --no-demangle --obj=" + file.string() + addresses +
                                       " | sed '/^$/d' | sed 'N; s/\\n/ /; s/:[0-9]*$//'");
  EXPECT_EQ(ours, theirs);
}

constexpr std::array producers{
    "g++ -O2 -g -gdwarf-4",
    "g++ -O2 -g -gdwarf-5",
    "g++ -O2 -g -gdwarf-2",
    "g++ -O2 -g -gdwarf-3",
    "clang++ -O2 -g -gdwarf-4",
    "clang++ -O2 -g -gdwarf-5",
    "g++ -O2 -g -gdwarf-4 -gsplit-dwarf",
    "g++ -O2 -g -gdwarf-5 -gsplit-dwarf",
    "clang++ -O2 -g -gdwarf-4 -gsplit-dwarf",
    "clang++ -O2 -g -gdwarf-5 -gsplit-dwarf",
    "g++ -O2 -g -gdwarf-4 -ffunction-sections -Wl,--gc-sections",
    "g++ -O2 -g -gdwarf-5 -ffunction-sections -Wl,--gc-sections",
    "clang++ -O2 -g -gdwarf-4 -ffunction-sections -Wl,--gc-sections",
    "clang++ -O2 -g -gdwarf-5 -ffunction-sections -Wl,--gc-sections",
    "clang++ -O2 -g -gdwarf-5 -fuse-ld=lld -ffunction-sections -Wl,--gc-sections",
    "g++ -O2 -g -gz",
    "g++ -O2 -g -Wl,--compress-debug-sections=zlib-gnu",
    "g++ -O2 -g -fdebug-types-section",
    "g++ -O2 -g -gdwarf64",
    "g++ -O2 -g1",
};
INSTANTIATE_TEST_SUITE_P(SourcePlaces, EachProducer, testing::ValuesIn(producers));

/// `in_lambda` is in the second lambda of outer(), `in_nested` in the first one of that, `in_local` in its class.
constexpr const char* lambdas = R"(static volatile int sink;
template <typename Call>
inline __attribute__((always_inline)) void call(Call c) { c(1); }
extern "C" __attribute__((noinline)) void outer(int x) {
  struct Local {
    static inline __attribute__((always_inline)) void run() { __asm__ volatile(".globl in_local\nin_local: nop"); }
  };
  call([](int y) { sink = y; });
  call([x](int y) {
    __asm__ volatile(".globl in_lambda\nin_lambda: nop");
    sink = x + y;
    call([](int z) { __asm__ volatile(".globl in_nested\nin_nested: nop"); sink = z; });
  });
  Local::run();
}
int main(int argc, char**) {
  outer(argc);
  return 0;
}
)";

TEST_F(Compiled, LambdaIsNamedByTheFunctionAroundIt) {
  for (const char* const options :
       {"-gdwarf-4", "-gdwarf-5", "-gdwarf-5 -gsplit-dwarf", "-gdwarf-5 -fdebug-types-section"}) {
    std::ofstream(folder_ / "lambdas.cpp") << lambdas;
    run("cd " + folder_.path().string() + " && g++ -O2 " + options + " lambdas.cpp -o lambdas");
    const auto file = folder_ / "lambdas";
    const elf::Image image = elf::Image::open(file);
    SourcePlaces places(image, nullptr, open_split);
    const auto name_at = [&](const char* symbol) {
      const SourceFrame frame = places.at(address_of(file, symbol)).front();
      return std::string(frame.around) + (frame.around.empty() ? "" : "::") + std::string(frame.function);
    };
    EXPECT_EQ(name_at("in_lambda"), "outer::{lambda#2}::operator()") << options;
    EXPECT_EQ(name_at("in_nested"), "outer::{lambda#2}::operator()::{lambda#1}::operator()") << options;
    EXPECT_EQ(name_at("in_local"), "outer::Local::run") << options;
  }
}

TEST_F(Compiled, WithDwzsAlternateFile) {
  const auto file = make("g++ -O2 -g -include string -include vector", "program");
  std::filesystem::copy_file(file, folder_ / "other");
  run("cd " + folder_.path().string() + " && dwz -m common program other");
  const elf::Image image = elf::Image::open(file), common = elf::Image::open(folder_ / "common");
  const SourcePlaces::Alternate link = SourcePlaces::alternate_of(image);
  EXPECT_EQ(link.path, "common");
  EXPECT_EQ(link.build_id, elf::hex_digits(elf::build_id(common)));
  const std::uint64_t place = address_of(file, "place");
  EXPECT_EQ(texts_of(SourcePlaces(image, &common, open_split).at(place)), frames_of_place());
  const auto alone = texts_of(SourcePlaces(image, nullptr, open_split).at(place));
  EXPECT_EQ(alone.size(), 3U) << "what the other file has is unknown";
  EXPECT_TRUE(SourcePlaces::alternate_of(common).path.empty());
}

TEST_F(Compiled, OpensNoSplitUnitIfItMayNot) {
  const auto file = make("g++ -O2 -g -gsplit-dwarf");
  const elf::Image image = elf::Image::open(file);
  const auto frames = texts_of(SourcePlaces(image, nullptr, nullptr).at(address_of(file, "place")));
  EXPECT_EQ(frames, std::vector<std::string>{" " + (folder_ / "source.cpp").string() + ":3"});
}

TEST_F(Compiled, HasALineOfAssembly) {
  std::ofstream(folder_ / "code.s") << ".globl place\nnop\nplace: nop\nret\n";
  run("cd " + folder_.path().string() + " && g++ -g -shared code.s -o code.so");
  const elf::Image image = elf::Image::open(folder_ / "code.so");
  const auto frames = texts_of(SourcePlaces(image, nullptr, open_split).at(address_of(folder_ / "code.so", "place")));
  EXPECT_EQ(frames, std::vector<std::string>{" " + (folder_ / "code.s").string() + ":3"});
}

TEST_F(Compiled, HasNothingWithoutDebuggingInformation) {
  const elf::Image image = elf::Image::open(make("g++ -O2 -g0 -c", "program.o"));
  EXPECT_FALSE(SourcePlaces::has_any(image));
  EXPECT_TRUE(SourcePlaces(image, nullptr, open_split).at(0x1000).empty());
}

/// 20,000 functions that share a list of 20,000 ranges: 400 million ranges.
TEST_F(Compiled, ReadsNoListAgainAndAgain) {
  std::ofstream(folder_ / "shared.s") << R"(
place: nop
  .section .debug_abbrev,"",@progbits
  .byte 1, 0x11, 1, 0x11, 1, 0x12, 7, 0, 0,  2, 0x2e, 0, 0x55, 0x17, 0, 0,  0
  .section .debug_ranges,"",@progbits
  .rept 20000
  .quad 0x1000, 0x2000
  .endr
  .quad 0, 0
  .section .debug_info,"",@progbits
  .long end - begin
begin: .value 4
  .long 0
  .byte 8
  .byte 1
  .quad place, 0x1000
  .rept 20000
  .byte 2
  .long 0
  .endr
  .byte 0
end:
)";
  run("cd " + folder_.path().string() + " && g++ -shared -nostdlib shared.s -o shared.so");
  const elf::Image image = elf::Image::open(folder_ / "shared.so");
  SourcePlaces places(image, nullptr, open_split);
  const std::clock_t begin = std::clock();
  EXPECT_TRUE(places.at(address_of(folder_ / "shared.so", "place")).empty());
  EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC);
}

TEST_F(Compiled, EndsWithADamagedSplitUnit) {
  std::mt19937 numbers(1);  // NOLINT: the same ones each time
  for (const char* const producer : {"g++ -O2 -g -gdwarf-4 -gsplit-dwarf", "g++ -O2 -g -gdwarf-5 -gsplit-dwarf"}) {
    const auto file = make(producer);
    const std::uint64_t place = address_of(file, "place");
    const elf::Image image = elf::Image::open(file);
    const std::filesystem::path split = output_of("printf %s " + folder_.path().string() + "/*.dwo");
    std::ifstream stream(split, std::ios::binary);
    const std::string sound{std::istreambuf_iterator<char>(stream), {}};
    ASSERT_FALSE(sound.empty());
    for (int copy = 0; copy < 300; ++copy) {
      std::string damaged = sound;
      for (int left = 3; left != 0; --left) damaged[numbers() % damaged.size()] = static_cast<char>(numbers());
      std::ofstream(split, std::ios::binary) << damaged;
      EXPECT_LE(SourcePlaces(image, nullptr, open_split).at(place).size(), 257U);
    }
  }
}

/// Bytes changed anywhere in the sections of debugging information: any answer will do.
TEST_F(Compiled, EndsWithDamagedInformation) {
  std::mt19937 numbers(1);  // NOLINT: the same ones each time
  for (const char* const producer : {"g++ -O2 -g -gdwarf-4", "g++ -O2 -g -gdwarf-5", "clang++ -O2 -g -gdwarf-5",
                                     "clang++ -O2 -g -gdwarf-4 -ffunction-sections"}) {
    const auto file = make(producer);
    const std::uint64_t place = address_of(file, "place");
    const elf::Image image = elf::Image::open(file);
    std::vector<std::uint64_t> offsets;
    for (const elf::Section& section : image.sections()) {
      if (!section.name.starts_with(".debug_") || section.name == ".debug_str") continue;
      for (std::uint64_t i = 0; i < section.header.sh_size; ++i) offsets.push_back(section.header.sh_offset + i);
    }
    ASSERT_FALSE(offsets.empty());
    for (int copy = 0; copy < 1500; ++copy) {
      std::vector<std::byte> bytes(image.file_bytes().begin(), image.file_bytes().end());
      for (unsigned left = 1 + numbers() % 4; left != 0; --left)
        bytes[offsets[numbers() % offsets.size()]] = static_cast<std::byte>(numbers() % 2 != 0 ? numbers() : 0xff);
      const elf::Image damaged = elf::Image::of_bytes(bytes, "damaged");
      SourcePlaces places(damaged, nullptr, open_split);
      for (std::uint64_t address = place - 16; address < place + 16; ++address)
        ASSERT_LE(places.at(address).size(), 257U);
    }
  }
}

}  // namespace

}  // namespace sframe_gen::trace::dwarf
