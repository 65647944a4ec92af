#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "archive_text.hpp"
#include "files/archive/rebuild.hpp"
#include "support/mapped_file.hpp"

/// Every archive below /usr, as ar, llvm-ar, go and others made them.
namespace sframe_gen::files::archive::test {
namespace {

std::vector<std::filesystem::path> archives_of_the_system() {
  std::vector<std::filesystem::path> found;
  constexpr auto options = std::filesystem::directory_options::skip_permission_denied;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("/usr", options)) {
    std::error_code ignored;
    if (entry.path().extension() == ".a" && entry.is_regular_file(ignored) && !entry.is_symlink(ignored))
      found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::byte> written(const Rebuilt& rebuilt) {
  std::vector<std::byte> bytes;
  bytes.reserve(rebuilt.size());
  for (const auto piece : rebuilt.pieces()) bytes.insert(bytes.end(), piece.begin(), piece.end());
  return bytes;
}

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// The member that each symbol of the index leads to, by its place among the members.
std::vector<std::size_t> targets_of(const Archive& archive) {
  std::vector<std::size_t> targets;
  if (!archive.index()) return targets;
  const auto& members = archive.members();
  for (const std::uint64_t offset : archive.index()->header_offsets) {
    const auto found = std::lower_bound(members.begin(), members.end(), offset,
                                        [](const Member& m, std::uint64_t o) { return m.header_offset < o; });
    targets.push_back(static_cast<std::size_t>(found - members.begin()));
  }
  return targets;
}

/// Go pads with NULs; what is replaced gets a newline.
std::vector<std::byte> with_newline_behind(const Archive& archive, const Member& member) {
  std::vector<std::byte> bytes(archive.bytes().begin(), archive.bytes().end());
  if (member.end != member.data_offset + member.size) bytes[member.end - 1] = std::byte{'\n'};
  return bytes;
}

/// One member in the middle grows by three bytes, and shrinks again in what that gives.
void check_growth_and_back(const Archive& archive) {
  const std::size_t place = archive.members().size() / 2;
  const Member& member = archive.members()[place];
  const auto old = archive.data_of(member);
  std::vector<std::byte> grown(old.begin(), old.end());
  grown.insert(grown.end(), {std::byte{1}, std::byte{2}, std::byte{3}});
  const std::vector<std::byte> larger = written(rebuild(archive, {{place, grown}}));

  const Archive changed(larger, archive.file());
  ASSERT_EQ(changed.members().size(), archive.members().size());
  EXPECT_EQ(targets_of(changed), targets_of(archive));
  for (std::size_t i = 0; i < archive.members().size(); ++i) {
    const Member& before = archive.members()[i];
    const Member& after = changed.members()[i];
    EXPECT_EQ(after.name, before.name);
    const auto expected = i == place ? std::span<const std::byte>(grown) : archive.data_of(before);
    EXPECT_TRUE(equal(changed.data_of(after), expected)) << before.name;
  }
  EXPECT_TRUE(equal(written(rebuild(changed, {{place, old}})), with_newline_behind(archive, member)));
}

/// Whether ar reads it either.
bool ar_reads(const std::filesystem::path& path) {
  return std::system(("ar t '" + path.string() + "' > /dev/null 2>&1").c_str()) == 0;
}

void check(const Archive& archive) {
  const Rebuilt same = rebuild(archive, {});
  EXPECT_TRUE(same.is_unchanged());
  ASSERT_EQ(same.pieces().size(), 1U);
  EXPECT_EQ(same.pieces()[0].data(), archive.bytes().data());
  EXPECT_EQ(same.pieces()[0].size(), archive.bytes().size());
  if (!archive.members().empty() && !archive.is_thin()) check_growth_and_back(archive);
}

TEST(SystemArchives, ComeBackAsTheyWere) {
  const auto files = archives_of_the_system();
  ASSERT_GT(files.size(), 20U);  // libc6-dev, libstdc++-dev and libgcc-dev alone have that many
  std::size_t archives = 0, members = 0, symbols = 0, malformed = 0;
  for (const std::filesystem::path& path : files) {
    const MappedFile file(path);
    if (!is_archive(file.bytes())) continue;  // linker scripts, ELF files of another name
    SCOPED_TRACE(path);
    try {
      const Archive archive(file.bytes(), path.string());
      check(archive);
      ++archives;
      members += archive.members().size();
      symbols += archive.index() ? archive.index()->header_offsets.size() : 0;
    } catch (const MalformedInput& failure) {
      EXPECT_FALSE(ar_reads(path)) << failure.what();
      ++malformed;
    }
  }
  EXPECT_GT(archives, 20U);
  std::cout << archives << " archives, " << members << " members, " << symbols << " symbols; " << malformed
            << " malformed for ar as well\n";
}

}  // namespace
}  // namespace sframe_gen::files::archive::test
