// Any bytes as an archive: read, and written again with other members.

#include "files/archive/archive.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "files/archive/rebuild.hpp"
#include "target.hpp"

namespace sframe_gen::fuzz {

namespace {

std::vector<std::byte> bytes_of(const files::archive::Rebuilt& rebuilt) {
  std::vector<std::byte> bytes;
  for (const Bytes piece : rebuilt.pieces()) bytes.insert(bytes.end(), piece.begin(), piece.end());
  require(bytes.size() == rebuilt.size(), "an archive has the size that is said");
  return bytes;
}

void rebuild(const files::archive::Archive& read, std::size_t number) {
  const std::vector<std::byte> others(number * 7, std::byte{'x'});
  const std::vector<std::byte> made = bytes_of(files::archive::rebuild(read, {{number, others}}));
  const files::archive::Archive again(made, "again");
  require(again.members().size() == read.members().size(), "no member is lost");
  for (std::size_t i = 0; i < read.members().size(); ++i) {
    const Bytes before = i == number ? Bytes(others) : read.data_of(read.members()[i]);
    require(again.members()[i].name == read.members()[i].name, "members keep their names");
    require(std::ranges::equal(again.data_of(again.members()[i]), before), "members have their bytes");
  }
}

}  // namespace

void archive(Bytes input) {
  succeeds([&] {
    const files::archive::Archive read(input, "fuzz.a");
    if (read.is_thin()) return;
    const files::archive::Rebuilt same = files::archive::rebuild(read, {});
    require(same.is_unchanged() && std::ranges::equal(bytes_of(same), input), "without changes it stays as it is");
    for (std::size_t i = 0; i < std::min<std::size_t>(read.members().size(), 4); ++i)
      succeeds([&] { rebuild(read, i); });
  });
}

}  // namespace sframe_gen::fuzz
