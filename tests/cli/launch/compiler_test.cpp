#include "cli/launch/compiler.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/folder.hpp"

namespace sframe_gen::cli::launch {
namespace {

using Command = std::vector<std::string>;
using Objects = std::vector<std::filesystem::path>;

TEST(Compilation, OutputInEachSpelling) {
  EXPECT_EQ(objects_made_by({"gcc", "-c", "a.c", "-o", "b/a.o"}), Objects{"b/a.o"});
  EXPECT_EQ(objects_made_by({"gcc", "-c", "-ob.o", "a.c"}), Objects{"b.o"});
  EXPECT_EQ(objects_made_by({"gcc", "--compile", "--output=b.o", "a.c"}), Objects{"b.o"});
  EXPECT_EQ(objects_made_by({"gcc", "--compile", "--output", "b.o", "a.c"}), Objects{"b.o"});
  EXPECT_EQ(objects_made_by({"gcc", "-c", "-o", "with space.obj", "a.c"}), Objects{"with space.obj"});
  EXPECT_EQ(objects_made_by({"clang", "-c", "-objcmt-migrate-all", "a.m"}), Objects{"a.o"});
}

TEST(Compilation, ALauncherBeforeTheCompiler) {
  EXPECT_EQ(objects_made_by({"ccache", "g++", "-c", "a.cc"}), Objects{"a.o"});
}

TEST(Compilation, ObjectsNamedAfterTheirSources) {
  EXPECT_EQ(objects_made_by({"gcc", "-c", "d/a.c", "../b.c.cc", "e.S", "f.f90"}),
            (Objects{"a.o", "b.c.o", "e.o", "f.o"}));
  EXPECT_EQ(objects_made_by({"gcc", "-c", "a.c", "b.o", "libc.a"}), Objects{"a.o"});
  EXPECT_EQ(objects_made_by({"gcc", "-c", "-x", "c", "a.txt", "-"}), (Objects{"a.o", "-.o"}));
  EXPECT_EQ(objects_made_by({"gcc", "-c", "-xc", "a.txt", "-x", "none", "b.txt"}), Objects{"a.o"});
  EXPECT_EQ(objects_made_by({"clang", "-c", "--", "-a.c"}), Objects{"-a.o"});
}

TEST(Compilation, ValuesOfOtherOptionsAreNoSourcesAndNoOptions) {
  EXPECT_EQ(objects_made_by({"gcc", "-c", "-include", "config.c", "-MF", "a.c", "-MT", "-S", "-D", "x.c", "a.cc"}),
            Objects{"a.o"});
  EXPECT_EQ(objects_made_by({"clang", "-c", "-Xclang", "-emit-obj", "-mllvm", "-E", "-target", "b.c", "a.c"}),
            Objects{"a.o"});
  EXPECT_EQ(objects_made_by({"gcc", "-I", "-c", "a.c"}), Objects{});
}

TEST(Compilation, DependencyFilesComeWithAnObject) {
  EXPECT_EQ(objects_made_by({"gcc", "-MD", "-MP", "-MF", "a.d", "-MT", "a.o", "-c", "a.c", "-o", "a.o"}),
            Objects{"a.o"});
  EXPECT_EQ(objects_made_by({"gcc", "-MMD", "-c", "a.c"}), Objects{"a.o"});
}

TEST(Compilation, WhatEndsEarlierOrLaterMakesNone) {
  for (const char* end : {"-E", "-S", "-M", "-MM", "-fsyntax-only", "-###", "--preprocess", "--assemble"}) {
    EXPECT_EQ(objects_made_by({"gcc", "-c", end, "a.c", "-o", "a.o"}), Objects{}) << end;
    EXPECT_EQ(objects_made_by({"gcc", end, "-c", "a.c"}), Objects{}) << end;
  }
  EXPECT_EQ(objects_made_by({"gcc", "a.c", "-o", "a.out"}), Objects{});
  EXPECT_EQ(objects_made_by({"gcc", "a.o", "b.o", "-lc"}), Objects{});
  EXPECT_EQ(objects_made_by({"gcc", "--version"}), Objects{});
  EXPECT_EQ(objects_made_by({"gcc", "-c"}), Objects{});
  EXPECT_EQ(objects_made_by({"gcc"}), Objects{});
  EXPECT_EQ(objects_made_by({}), Objects{});
}

TEST(Compilation, StreamsAreNoObjects) {
  for (const char* stream : {"-", "/dev/null", "/dev/stdout", "/proc/self/fd/1", ""}) {
    EXPECT_EQ(objects_made_by({"gcc", "-c", "a.c", "-o", stream}), Objects{}) << stream;
  }
}

TEST(Compilation, PrecompiledHeadersAreNoObjects) {
  EXPECT_EQ(objects_made_by({"g++", "-x", "c++-header", "-c", "a.hpp", "-o", "a.hpp.gch"}), Objects{});
  EXPECT_EQ(objects_made_by({"g++", "-x", "c++-header", "-c", "a.hpp"}), Objects{});
  EXPECT_EQ(objects_made_by({"g++", "-c", "a.hpp"}), Objects{});
}

/// A folder of files that name each other.
class ResponseFiles : public testing::Test {
 protected:
  /// Returns the argument that names it.
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return '@' + (folder_ / name).string();
  }

 private:
  const test::Folder folder_;
};

TEST_F(ResponseFiles, StandForTheirWords) {
  const std::string inner = file("inner", "-o\n\"with \\\"quotes\\\" and space.o\"\t");
  const std::string outer = file("outer", "-c 'a b.c' " + inner + "\n");
  EXPECT_EQ(objects_made_by({"gcc", outer}), Objects{"with \"quotes\" and space.o"});
  EXPECT_EQ(objects_made_by({"gcc", "-c", file("plain", R"(x\ y.c ''z.c "")")}), (Objects{"x y.o", "z.o"}));
}

TEST_F(ResponseFiles, InACircleEnd) {
  const std::string first = file("first", "");
  const std::string second = file("second", first);
  file("first", "-c a.c " + second + " " + second);
  EXPECT_FALSE(objects_made_by({"gcc", first}).empty());
}

TEST_F(ResponseFiles, ThatAreNotThereAreArguments) {
  EXPECT_EQ(objects_made_by({"gcc", "-c", "@nowhere/none.c"}), Objects{"none.o"});
}

}  // namespace
}  // namespace sframe_gen::cli::launch
