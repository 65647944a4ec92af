#include "trace/record/program_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace sframe_gen::test {
namespace {

trace::recorded::MappingWords mapping_of(const std::string& path, std::uint64_t inode) {
  trace::recorded::MappingWords words;
  words.process = words.mapping.process = ::getpid();
  words.is_code = true;
  words.mapping.path = path;
  words.mapping.inode = inode;
  return words;
}

TEST(ProgramFiles, OfAllThatAProgramMapsAreABoundedNumber) {
  struct stat status {};
  ASSERT_EQ(::stat("/proc/self/exe", &status), 0);
  const trace::recorded::MappingWords own = mapping_of("/proc/self/exe", status.st_ino);
  const trace::walk::TranslationOptions options;
  trace::record::ProgramFiles few(options);
  few.note(own);
  EXPECT_EQ(few.open(own.mapping).why_not, "");
  trace::record::ProgramFiles many(options);
  for (std::size_t i = 0; i < trace::record::ProgramFiles::most_files; ++i) many.note(mapping_of("/nowhere", i + 1));
  many.note(own);
  EXPECT_EQ(many.open(own.mapping).why_not, "cannot be opened: too many files are");
}

}  // namespace
}  // namespace sframe_gen::test
