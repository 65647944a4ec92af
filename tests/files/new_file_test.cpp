#include "files/new_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <iterator>
#include <string>

#include "support/folder.hpp"

namespace sframe_gen::files::test {
namespace {

class NewFileTest : public testing::Test {
 protected:
  std::ptrdiff_t files() const { return std::distance(std::filesystem::directory_iterator(folder_.path()), {}); }
  /// As it is made where the file system has no files without names.
  static int make(const Place& target, const char* name) {
    return ::openat(target.folder(), name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }

  sframe_gen::test::Folder folder_;
};

TEST_F(NewFileTest, HasNoNameBeforeItReplacesItsTarget) {
  const Place target(folder_ / "target", "write");
  NewFile file(target, 0640);
  EXPECT_FALSE(file.has_temporary_name());
  EXPECT_EQ(files(), 0);
  EXPECT_EQ(::write(file.descriptor(), "new", 3), 3);
  file.replace_target();
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(std::filesystem::file_size(folder_ / "target"), 3U);
}

TEST_F(NewFileTest, TemporaryNamesAreKnown) {
  const Place target(folder_ / std::string(255, 'n'), "write");
  std::string name;
  const TemporaryFile file(target, "write", [&](const char* chosen) {
    name = chosen;
    return make(target, chosen);
  });
  EXPECT_TRUE(is_temporary_name(name)) << name;
  for (const char* const known : {".a.sframe-gen-1-0", ".a-1.sframe-gen-4194304-999", "..sframe-gen-1.sframe-gen-2-3"})
    EXPECT_TRUE(is_temporary_name(known)) << known;
  for (const char* const other :
       {"", "1", "-1-2", "a.sframe-gen-1-2", ".sframe-gen-1-2", ".a.sframe-gen-1", ".a.sframe-gen-1-",
        ".a.sframe-gen--2", ".a.sframe-gen-1-2a", ".a.sframe-gen-1_2", ".a-sframe-gen-1-2", ".a.sframe-gen-x-2"})
    EXPECT_FALSE(is_temporary_name(other)) << other;
}

TEST_F(NewFileTest, NoSignalLeavesATemporaryFile) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2}) {
    EXPECT_EXIT(
        {
          remove_temporary_files_on_signals();
          const Place target(folder_ / "target", "write");
          const TemporaryFile file(target, "write", [&](const char* name) { return make(target, name); });
          ::raise(signal);
        },
        testing::KilledBySignal(signal), "");
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(NewFileTest, FilesThatGetShorterAreAnErrorNotACrash) {
  const std::string input = folder_ / "input";
  EXPECT_EXIT(
      {
        remove_temporary_files_on_signals();
        const Descriptor made(::open(input.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        static_cast<void>(!::write(made.number(), "text", 4));
        const Place target(folder_ / "target", "write");
        const TemporaryFile file(target, "write", [&](const char* name) { return make(target, name); });
        const MappedFile mapped(input);
        std::filesystem::resize_file(input, 0);
        ::_exit(std::to_integer<int>(mapped.bytes()[0]));
      },
      testing::ExitedWithCode(1), "^sframe-gen: error: a file was cut short.*\n$");
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace sframe_gen::files::test
