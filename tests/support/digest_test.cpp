#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "support/hash.hpp"

namespace sframe_gen {
namespace {

std::string text_of(const Digest& digest) {
  std::string text;
  for (const std::byte b : digest) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", std::to_integer<unsigned>(b));
    text += digits.data();
  }
  return text;
}

TEST(Digest, IsWhatXxh128sumPrints) {
  EXPECT_EQ(text_of(Digester().digest()), "99aa06d3014798d86001c324468d497f");
  Digester digester;
  const std::string text = "The quick brown fox jumps over the lazy dog";
  digester.update(std::as_bytes(std::span(text)));
  EXPECT_EQ(text_of(digester.digest()), "ddd650205ca3e7fa24a1cc2e3a8a7651");
}

TEST(Digest, OfManyBytesIsWhatXxh128sumPrints) {
  std::vector<std::byte> bytes(1000000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i);
  Digester digester;
  digester.update(bytes);
  EXPECT_EQ(text_of(digester.digest()), "e25ee9048f39aeee0bcfd1dc4dee7762");
}

TEST(Digest, DoesNotDependOnThePieces) {
  std::vector<std::byte> bytes(10000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i);
  Digester whole, pieces;
  whole.update(bytes);
  for (std::size_t at = 0; at < bytes.size(); at += 7)
    pieces.update(std::span(bytes).subspan(at, std::min<std::size_t>(7, bytes.size() - at)));
  EXPECT_EQ(whole.digest(), pieces.digest());
}

TEST(Digest, OfAHoleIsOfItsZeros) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 16, (std::size_t{1} << 17) + 3}) {
    Digester hole, zeros;
    hole.update_zeros(size);
    zeros.update(std::vector<std::byte>(size));
    EXPECT_EQ(hole.digest(), zeros.digest()) << size;
  }
}

}  // namespace
}  // namespace sframe_gen
