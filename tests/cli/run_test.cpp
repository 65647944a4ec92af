#include "cli/run.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "support/folder.hpp"
#include "support/places.hpp"

namespace sframe_gen::cli {
namespace {

/// A folder with a copy of a small program of the corpus, and run() with its two streams caught.
class RunTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy_file(sframe_gen::test::source_folder() + "/corpus/amd64/callee-saves/plain.elf", program_);
    std::ofstream(text_) << "no program\n";
  }

  int run_with(const Options& options) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = run(options);
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return status;
  }

  static Options of(std::vector<std::filesystem::path> files) {
    Options options;
    options.files = std::move(files);
    return options;
  }

  const test::Folder folder_;
  const std::filesystem::path program_ = folder_ / "program", text_ = folder_ / "text";
  std::string out_, err_;
};

TEST_F(RunTest, Converts) {
  EXPECT_EQ(run_with(of({program_})), 0);
  EXPECT_TRUE(out_.starts_with(program_.string() + ": added .sframe (")) << out_;
  EXPECT_TRUE(out_.ends_with("): 1 function, fully covered\n")) << out_;
  EXPECT_EQ(err_, "");
}

TEST_F(RunTest, GoesOnAfterAFailure) {
  EXPECT_EQ(run_with(of({text_, program_})), 1);
  EXPECT_TRUE(out_.starts_with(program_.string() + ": added .sframe (")) << out_;
  EXPECT_TRUE(out_.ends_with("): 1 function, fully covered\n")) << out_;
  EXPECT_EQ(err_, "sframe-gen: error: " + text_.string() + ": not an ELF file\n");
}

TEST_F(RunTest, SkipsWhatIsNoElfFileIfTold) {
  Options options = of({text_});
  options.skip_non_elf = true;
  EXPECT_EQ(run_with(options), 0);
  EXPECT_EQ(out_ + err_, "");
}

TEST_F(RunTest, QuietIsSilent) {
  Options options = of({program_});
  options.quiet = true;
  EXPECT_EQ(run_with(options), 0);
  EXPECT_EQ(out_ + err_, "");
}

TEST_F(RunTest, DryRunWritesNothing) {
  Options options = of({program_});
  options.convert.dry_run = true;
  const auto size = std::filesystem::file_size(program_);
  EXPECT_EQ(run_with(options), 0);
  EXPECT_EQ(std::filesystem::file_size(program_), size);
}

TEST_F(RunTest, DumpsAndVerifiesOnlyWhatHasTheSection) {
  for (const Action action : {Action::Dump, Action::Verify}) {
    Options options = of({program_});
    options.action = action;
    EXPECT_EQ(run_with(options), 1);
    EXPECT_EQ(err_.rfind("sframe-gen: error: " + program_.string() + ": no .sframe section", 0), 0U);
    EXPECT_EQ(out_, "");
  }
}

TEST_F(RunTest, DumpNamesTheFilesWhereThereAreSeveral) {
  ASSERT_EQ(run_with(of({program_})), 0);
  Options options = of({program_});
  options.action = Action::Dump;
  EXPECT_EQ(run_with(options), 0);
  EXPECT_EQ(out_.find("File: "), std::string::npos);
  options.files.push_back(program_);
  EXPECT_EQ(run_with(options), 0);
  EXPECT_EQ(out_.rfind("\nFile: " + program_.string() + "\n", 0), 0U);
}

TEST_F(RunTest, Verifies) {
  ASSERT_EQ(run_with(of({program_})), 0);
  Options options = of({program_});
  options.action = Action::Verify;
  EXPECT_EQ(run_with(options), 0);
  EXPECT_NE(out_.find(" checked: no difference; 0 gaps\n"), std::string::npos);
}

TEST_F(RunTest, RefusesADebugFileOfAnotherProgram) {
  Options options = of({program_});
  options.convert.debug_file = program_;
  EXPECT_EQ(run_with(options), 1);
  EXPECT_NE(err_.find("no build-id to compare with"), std::string::npos);
  options.convert.ignore_build_id = true;
  EXPECT_EQ(run_with(options), 0);
}

}  // namespace
}  // namespace sframe_gen::cli
