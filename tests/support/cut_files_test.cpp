#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

#include "support/folder.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen {
namespace {

constexpr std::size_t file_size = 100'000;

/// In processes of their own: a handler stays. AddressSanitizer's would report, and not end the process.
class CutFilesTest : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& name) const {
    std::ofstream(folder_ / name, std::ios::binary) << std::string(file_size, 'x');
    return folder_ / name;
  }
  static bool is_all(const MappedFile& file, char letter) {
    return std::ranges::all_of(file.bytes(), [&](std::byte byte) { return byte == static_cast<std::byte>(letter); });
  }
  [[noreturn]] static void end_if(bool is_right) { std::_Exit(is_right ? 0 : 1); }

  const test::Folder folder_;
};

TEST_F(CutFilesTest, AFileIsAllZeros) {
  const auto path = file("cut");
  const auto check = [&] {
    read_cut_files_as_zeros();
    const MappedFile cut(path), other(file("other"));
    const bool was_whole = is_all(cut, 'x') && !was_cut(cut.bytes());
    std::filesystem::resize_file(path, 1);
    end_if(was_whole && cut.bytes()[file_size - 1] == std::byte{0} && is_all(cut, 0) && was_cut(cut.bytes()) &&
           is_all(other, 'x') && !was_cut(other.bytes()));
  };
  EXPECT_EXIT(check(), testing::ExitedWithCode(0), "");
}

TEST_F(CutFilesTest, WithoutAHandlerTheProgramEnds) {
  const auto path = file("cut");
  const auto read = [&] {
    std::signal(SIGBUS, SIG_DFL);
    const MappedFile cut(path);
    std::filesystem::resize_file(path, 1);
    end_if(cut.bytes()[file_size - 1] == std::byte{'x'});
  };
  EXPECT_EXIT(read(), testing::KilledBySignal(SIGBUS), "");
}

/// Of a file that is mapped by others, or is mapped no more, and what kill() sends.
TEST_F(CutFilesTest, OtherSignalsAreAsBefore) {
  const auto path = file("cut");
  const auto prepare = [&] {
    std::signal(SIGBUS, SIG_DFL);
    read_cut_files_as_zeros();
    const MappedFile file(path);
    void* const place = ::mmap(nullptr, file_size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    return static_cast<const volatile char*>(place);
  };
  const auto read_others = [&] {
    const volatile char* const mapped = prepare();
    std::filesystem::resize_file(path, 1);
    end_if(mapped[file_size - 1] == 'x');
  };
  const auto send = [&] {
    prepare();
    ::kill(::getpid(), SIGBUS);
    end_if(true);
  };
  EXPECT_EXIT(read_others(), testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(send(), testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace sframe_gen
