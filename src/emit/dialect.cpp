#include "emit/dialect.hpp"

#include <algorithm>

#include "sframe_gen/error.hpp"

namespace sframe_gen::emit {

namespace {

bool writes_flexible(const OutputFormat& format, sframe::Abi abi) {
  if (!sframe::traits_of(format.version).has_flexible_fdes) return false;
  const bool aarch64 = abi == sframe::Abi::Aarch64Big || abi == sframe::Abi::Aarch64Little;
  return format.flexible == FlexibleDescriptors::Auto ? !aarch64 : format.flexible == FlexibleDescriptors::Always;
}

}  // namespace

Dialect make_dialect(const OutputFormat& format, sframe::Abi abi, const std::string& file) {
  const sframe::VersionTraits& version = sframe::traits_of(format.version);
  const sframe::AbiTraits& traits = sframe::traits_of(abi);
  if (!sframe::has_abi(version, traits)) {
    throw Refused(
        file, "for " + std::string(traits.name) + ", which " + std::string(version.name) + " has no identifier for");
  }
  if (traits.came_with_erratum && version.version == traits.first_version && !format.pc_relative_starts) {
    throw Refused(file, "for " + std::string(traits.name) + ", which " + std::string(version.name) +
                            " supports only since the errata that made function starts relative to their own field");
  }
  Dialect dialect;
  dialect.abi = &traits;
  dialect.version = &version;
  dialect.pc_relative_starts =
      version.version == sframe::Version::V3 || (version.version == sframe::Version::V2 && format.pc_relative_starts);
  // Version 1 and CTF Frame never gave a row without data words a meaning.
  dialect.undefined_ra_rows = version.has_repeat_size && format.undefined_ra_rows;
  dialect.flexible_descriptors = writes_flexible(format, abi);
  dialect.most_rows = static_cast<std::uint32_t>(std::min<std::uint64_t>(format.most_rows, version.largest_fre_count));
  dialect.covers_padding = format.covers_padding;
  dialect.compact_rows = std::min(format.compact_rows, most_compact_rows);
  dialect.shares_rows = format.shared_rows == SharedRows::Always ||
                        (format.shared_rows == SharedRows::LittleEndian && dialect.abi->endian == Endian::Little);
  return dialect;
}

}  // namespace sframe_gen::emit
