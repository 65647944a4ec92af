#include "files/kept_file.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "support/folder.hpp"

namespace sframe_gen::test {
namespace {

namespace fs = std::filesystem;

class Kept : public testing::Test {
 protected:
  Kept() { files::KeptFile::keep(path_, source_, std::as_bytes(std::span(text_))); }

  std::string found(const Digest& source) const {
    const auto kept = files::KeptFile::find(path_, source);
    if (!kept) return "none";
    return {reinterpret_cast<const char*>(kept->content().data()), kept->content().size()};
  }
  std::string read() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  const Folder folder_;
  const fs::path path_ = folder_ / "sub" / "file";
  Digest source_{std::byte{7}};
  std::string text_ = "what took long to work out";
};

TEST_F(Kept, IsFoundByWhatItWasMadeFrom) {
  EXPECT_EQ(found(source_), text_);
  EXPECT_EQ(found({}), "none");
  EXPECT_EQ(std::distance(fs::directory_iterator(path_.parent_path()), {}), 1);
}

TEST_F(Kept, IsNoneWhereAnyByteIsDamaged) {
  const std::string whole = read();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write(damaged);
    EXPECT_EQ(found(source_), "none") << i;
  }
}

TEST_F(Kept, IsNoneWhereItIsShorterOrLonger) {
  const std::string whole = read();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    EXPECT_EQ(found(source_), "none") << size;
  }
  write(whole + '\0');
  EXPECT_EQ(found(source_), "none");
  // As releases before had it.
  write(text_);
  EXPECT_EQ(found(source_), "none");
}

TEST_F(Kept, IsNoneWhereOthersMayWrite) {
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(path_, fs::perms::owner_read | others);
    EXPECT_EQ(found(source_), "none");
  }
  fs::permissions(path_, fs::perms::owner_read | fs::perms::others_read);
  EXPECT_EQ(found(source_), text_);
}

TEST_F(Kept, IsNoneWhereItIsAnothers) {
  constexpr uid_t another = 12345;
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(path_.c_str(), another, another), 0);
  EXPECT_EQ(found(source_), "none");
}

TEST_F(Kept, IsNoneWhereThereIsNoFile) {
  fs::remove(path_);
  EXPECT_EQ(found(source_), "none");
  fs::create_directory(path_);
  EXPECT_EQ(found(source_), "none");
}

TEST_F(Kept, IsReplaced) {
  const std::string another = "something else";
  files::KeptFile::keep(path_, {}, std::as_bytes(std::span(another)));
  EXPECT_EQ(found({}), another);
  EXPECT_EQ(found(source_), "none");
}

}  // namespace
}  // namespace sframe_gen::test
