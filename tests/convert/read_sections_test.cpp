#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "rewrite/toolbox.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/section.hpp"
#include "support/places.hpp"

namespace sframe_gen {
namespace {

using elf::test::read_text;
using elf::test::run;
using elf::test::write_text;
using test::Folder;

const std::filesystem::path program = sframe_gen::test::source_folder() + "/corpus/amd64/callee-saves/plain.elf";

TEST(ReadSections, DecodesThoseOfAFile) {
  const Folder folder;
  convert_file(program, folder / "converted");
  const auto sections = read_sections(folder / "converted");
  ASSERT_EQ(sections.size(), 1U);
  EXPECT_EQ(sections[0].name, ".sframe");
  EXPECT_EQ(sections[0].section.fdes.size(), 1U);
  EXPECT_THROW(read_sections(program), Refused);
}

struct Members {
  std::vector<std::string> names, failures;
};

Members members_of(const std::filesystem::path& archive) {
  Members members;
  read_archive_sections(
      archive,
      [&](const std::string& name, const std::vector<FileSection>& sections) {
        members.names.push_back(name + " " + sections.at(0).name);
      },
      [&](const Failure& failure) { members.failures.emplace_back(failure.what()); });
  return members;
}

// The one that has a section, not the one that has none, and of the damaged one what is wrong.
TEST(ReadSections, VisitsTheMembersOfAnArchive) {
  const Folder folder;
  std::string converted = (convert_file(program, folder / "good.o"), read_text(folder / "good.o"));
  const auto magic = converted.find("\xe2\xde\x03");
  ASSERT_NE(magic, std::string::npos);
  converted[magic] = 0;
  write_text(folder / "damaged.o", converted);
  std::filesystem::copy_file(program, folder / "plain.o");
  const std::string path = folder.path().string();
  ASSERT_EQ(run("cd " + path + " && ar rc libfoo.a good.o plain.o damaged.o && ar rc libnone.a plain.o").status, 0);

  const Members members = members_of(folder / "libfoo.a");
  EXPECT_EQ(members.names, std::vector{path + "/libfoo.a(good.o) .sframe"});
  ASSERT_EQ(members.failures.size(), 1U);
  EXPECT_EQ(members.failures[0].find(path + "/libfoo.a(damaged.o): .sframe+0x0: "), 0U) << members.failures[0];
  EXPECT_THROW(members_of(folder / "libnone.a"), Refused);
}

}  // namespace
}  // namespace sframe_gen
