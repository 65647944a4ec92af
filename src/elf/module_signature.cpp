#include "elf/module_signature.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "support/text.hpp"

namespace sframe_gen::elf {

namespace {

constexpr std::string_view marker = "~Module signature appended~\n";

/// struct module_signature: algorithm, hash, type, lengths of signer and key identifier, three bytes of padding, and
/// the length of the signature, big-endian. Signatures in PKCS#7, the only kind since Linux 4.3, leave all but type and
/// length 0 (kernel/module_signature.c).
constexpr std::size_t record_size = 12, type_at = 2, length_at = 8;
constexpr std::byte type_pkcs7{2};

/// Length of the signature; without a value: the record is not one.
std::optional<std::uint64_t> signature_length(std::span<const std::byte> record) {
  for (std::size_t i = 0; i < length_at; ++i)
    if (record[i] != (i == type_at ? type_pkcs7 : std::byte{0})) return {};
  return load<std::uint32_t>(record.subspan(length_at), Endian::Big);
}

}  // namespace

bool has_module_signature(const Image& image) {
  const auto bytes = image.file_bytes();
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).ends_with(marker);
}

void check_only_signature_appended(const Image& image, std::uint64_t described_end) {
  const auto bytes = image.file_bytes();
  const auto fail = [&](const std::string& why) {
    throw Refused(image.name(), "ends as a signed kernel module does, but " + why);
  };
  const std::uint64_t appended = bytes.size() - described_end;
  const std::uint64_t tail = record_size + marker.size();
  if (appended < tail) fail("its headers describe these bytes as its own");
  const auto length = signature_length(bytes.last(tail).first(record_size));
  if (!length) fail("without a signature that the kernel would take");
  if (*length == 0 || *length > appended - tail)
    fail("with a signature of " + count_of(*length, "byte") + " where " + std::to_string(appended - tail) + " are");
  const auto between = bytes.subspan(described_end, appended - tail - *length);
  if (std::ranges::any_of(between, [](std::byte b) { return b != std::byte{0}; }))
    fail("with " + count_of(between.size(), "byte") +
         " of something else in front of the signature, which would be lost");
}

}  // namespace sframe_gen::elf
