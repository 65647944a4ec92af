#include "files/atomic_file.hpp"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>

#include "rewrite/toolbox.hpp"

namespace sframe_gen::files::test {
namespace {

using namespace elf;
using namespace elf::test;

constexpr uid_t nobody = 65534;

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy_file(small_library(), folder_ / "input");
    ::chmod((folder_ / "input").c_str(), 0750);
  }

  void write(const std::string& output) { inject(folder_ / "input", folder_ / output, 64); }
  /// Returns 0 if it works.
  int write_as_nobody(const std::string& output) {
    ::chmod(folder_.path().c_str(), 0777);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool changed = ::setgroups(0, nullptr) == 0 && ::setgid(nobody) == 0 && ::setuid(nobody) == 0;
      const std::string failure = failure_of([&] { write(output); });
      ::_exit(changed && failure.empty() ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
  }
  mode_t mode_of(const std::string& name) {
    struct stat status {};
    ::stat((folder_ / name).c_str(), &status);
    return status.st_mode & 07777;
  }
  std::size_t files() {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  Folder folder_;
};

TEST_F(AtomicFileTest, NewFileTakesTheModeOfTheInput) {
  write("output");
  EXPECT_EQ(mode_of("output"), 0750U);
  EXPECT_EQ(files(), 2U);
}

TEST_F(AtomicFileTest, NewFileTakesNoPrivileges) {
  ::chmod((folder_ / "input").c_str(), 06750);
  write("output");
  EXPECT_EQ(mode_of("output"), 0750U);
  EXPECT_EQ(mode_of("input"), 06750U);
}

TEST_F(AtomicFileTest, ReplacedFileKeepsItsOwn) {
  write_text(folder_ / "output", "old");
  ::chmod((folder_ / "output").c_str(), 04711);
  write("output");
  EXPECT_EQ(mode_of("output"), 04711U);
}

TEST_F(AtomicFileTest, InputMayBeTheOutput) {
  write("input");
  EXPECT_NE(Image::open(folder_ / "input").find_section(".sframe"), nullptr);
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFileTest, LinksAreFollowed) {
  std::filesystem::create_directory(folder_ / "sub");
  write_text(folder_ / "sub/target", "old");
  std::filesystem::create_symlink("sub/target", folder_ / "link");
  std::filesystem::create_symlink("link", folder_ / "link_to_link");
  write("link_to_link");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link_to_link"));
  EXPECT_NE(Image::open(folder_ / "sub/target").find_section(".sframe"), nullptr);
}

TEST_F(AtomicFileTest, LinksInACircleAreAnError) {
  std::filesystem::create_symlink("a", folder_ / "b");
  std::filesystem::create_symlink("b", folder_ / "a");
  EXPECT_THROW(write("a"), SystemFailure);
}

TEST_F(AtomicFileTest, ExtendedAttributesAreKept) {
  if (::setxattr((folder_ / "input").c_str(), "user.note", "kept", 4, 0) != 0) GTEST_SKIP() << "no extended attributes";
  write("output");
  std::array<char, 8> value{};
  EXPECT_EQ(::getxattr((folder_ / "output").c_str(), "user.note", value.data(), value.size()), 4);
}

// Who the input kept out must not come in by the list that new files of a directory get.
TEST_F(AtomicFileTest, DefaultAccessListOfTheFolderDoesNotApply) {
  struct Entry {
    std::uint16_t tag, permissions;
    std::uint32_t id;
  };
  struct List {
    std::uint32_t version;
    std::array<Entry, 5> entries;
  };
  const List list{2,
                  {{{1, 7, UINT32_MAX}, {2, 7, 65534}, {4, 5, UINT32_MAX}, {16, 7, UINT32_MAX}, {32, 0, UINT32_MAX}}}};
  if (::setxattr(folder_.path().c_str(), "system.posix_acl_default", &list, sizeof list, 0) != 0)
    GTEST_SKIP() << "no access control lists";
  write("input");
  EXPECT_EQ(mode_of("input"), 0750U);
  EXPECT_EQ(::getxattr((folder_ / "input").c_str(), "system.posix_acl_access", nullptr, 0), -1);
}

TEST_F(AtomicFileTest, OwnersKeepTheirSetuidBitInAForeignGroup) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make such a file";
  ASSERT_EQ(::chown((folder_ / "input").c_str(), nobody, 0), 0);
  ASSERT_EQ(::chmod((folder_ / "input").c_str(), 06755), 0);
  EXPECT_EQ(write_as_nobody("input"), 0);
  EXPECT_EQ(mode_of("input"), 04755U);
}

TEST_F(AtomicFileTest, ExtendedAttributesOfReadOnlyFilesAreKept) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make such a file";
  const std::string input = folder_ / "input";
  if (::setxattr(input.c_str(), "user.note", "kept", 4, 0) != 0) GTEST_SKIP() << "no extended attributes";
  ASSERT_EQ(::chown(input.c_str(), nobody, nobody), 0);
  ASSERT_EQ(::chmod(input.c_str(), 0555), 0);
  EXPECT_EQ(write_as_nobody("input"), 0);
  EXPECT_EQ(mode_of("input"), 0555U);
  EXPECT_EQ(::getxattr(input.c_str(), "user.note", nullptr, 0), 4);
}

// No Refused: that is said of inputs.
TEST_F(AtomicFileTest, FoldersAndMissingFoldersCannotBeWritten) {
  std::filesystem::create_directory(folder_ / "folder");
  try {
    write("folder");
    ADD_FAILURE() << "was written";
  } catch (const Refused& refused) {
    ADD_FAILURE() << refused.what();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.what(), (folder_ / "folder").string() + ": not a regular file");
  }
  EXPECT_THROW(write("missing/output"), SystemFailure);
  EXPECT_EQ(files(), 2U);
}

TEST_F(AtomicFileTest, WithoutCommitNothingStays) {
  write_text(folder_ / "target", "as it was");
  {
    const Image input = Image::open(folder_ / "input");
    const AtomicFile file(folder_ / "target", input.file());
    EXPECT_EQ(::write(file.descriptor(), "x", 1), 1);
    EXPECT_EQ(files(), 2U) << "a file that is not complete has a name";
  }
  EXPECT_EQ(files(), 2U);
  EXPECT_EQ(read_text(folder_ / "target"), "as it was");
}

// Another one's work must not be lost.
TEST_F(AtomicFileTest, TargetThatChangesMeanwhileIsLeftAlone) {
  const auto target = folder_ / "target";
  const std::vector<std::function<void()>> changes{
      [&] { write_text(target, "new"); },
      [&] { std::filesystem::remove(target), write_text(target, "old"); },
      [&] { ::chmod(target.c_str(), 0700); },
      [&] { std::filesystem::remove(target); },
  };
  const Image input = Image::open(folder_ / "input");
  for (const auto& change_target : changes) {
    write_text(target, "old");
    AtomicFile file(target, input.file());
    change_target();
    const bool is_there = std::filesystem::exists(target);
    const std::string text = read_text(target);
    EXPECT_NE(failure_of([&] { file.commit(); }).find("changed by another process meanwhile"), std::string::npos);
    EXPECT_EQ(std::filesystem::exists(target), is_there);
    EXPECT_EQ(read_text(target), text);
  }
  AtomicFile file(target, input.file());
  write_text(target, "came up");
  EXPECT_NE(failure_of([&] { file.commit(); }).find("changed by another process meanwhile"), std::string::npos);
  EXPECT_EQ(read_text(target), "came up");
}

TEST_F(AtomicFileTest, InputThatChangesWhileItIsReadIsRefused) {
  const Image input = Image::open(folder_ / "input");
  AtomicFile file(folder_ / "target", input.file());
  ::chmod((folder_ / "input").c_str(), 0755);
  EXPECT_NE(failure_of([&] { file.commit(); }).find("input: changed while it was read"), std::string::npos);
  EXPECT_NE(failure_of([&] { AtomicFile(folder_ / "input", input.file()); }).find("changed while it was read"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "target"));
}

TEST_F(AtomicFileTest, FileThatIsOpenForWritingIsRefused) {
  const std::string before = read_text(folder_ / "input");
  {
    const std::ofstream writer(folder_ / "input", std::ios::app);
    EXPECT_NE(failure_of([&] { write("input"); }).find("input: open for writing in another process"),
              std::string::npos);
    EXPECT_EQ(read_text(folder_ / "input"), before);
    EXPECT_EQ(files(), 1U);
    EXPECT_EQ(failure_of([&] { write("output"); }), "");
  }
  EXPECT_EQ(failure_of([&] { write("input"); }), "");
}

// A shell that starts a program has the files of all others open for a moment.
TEST_F(AtomicFileTest, FileThatIsOpenForWritingForAMomentIsWaitedFor) {
  auto writer = std::make_unique<std::ofstream>(folder_ / "input", std::ios::app);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    writer.reset();
  });
  EXPECT_EQ(failure_of([&] { write("input"); }), "");
  later.join();
}

TEST_F(AtomicFileTest, ImmutableFilesAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make such a file";
  const std::string input = folder_ / "input";
  const std::string before = read_text(input);
  for (const auto& [attribute, words] : {std::pair{"i", "immutable"}, {"a", "can only be appended to"}}) {
    ASSERT_EQ(run(std::string("chattr +") + attribute + " " + input).output, "");
    EXPECT_NE(failure_of([&] { write("input"); }).find(words), std::string::npos);
    ASSERT_EQ(run(std::string("chattr -") + attribute + " " + input).output, "");
    EXPECT_EQ(read_text(input), before);
    EXPECT_EQ(files(), 1U);
  }
}

TEST_F(AtomicFileTest, SignedFilesAreRefusedAndDigestsAreLeftOut) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can set such attributes";
  const std::string input = folder_ / "input";
  const std::string before = read_text(input);
  for (const char kind : {'\3', '\6'}) {
    const std::string value = std::string(1, kind) + std::string(40, 's');
    ASSERT_EQ(::setxattr(input.c_str(), "security.ima", value.data(), value.size(), 0), 0);
    EXPECT_NE(failure_of([&] { write("input"); }).find("signed (security.ima)"), std::string::npos);
    EXPECT_EQ(read_text(input), before);
  }
  const std::string digest = std::string(1, '\1') + std::string(20, 'd');
  ASSERT_EQ(::setxattr(input.c_str(), "security.ima", digest.data(), digest.size(), 0), 0);
  EXPECT_EQ(failure_of([&] { write("input"); }), "");
  EXPECT_EQ(::getxattr(input.c_str(), "security.ima", nullptr, 0), -1);
}

TEST_F(AtomicFileTest, LongNamesDoNotOverflow) {
  write(std::string(255, 'n'));
  EXPECT_EQ(files(), 2U);
}

}  // namespace
}  // namespace sframe_gen::files::test
