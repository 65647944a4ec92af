#include "trace/walk/symbol_files.hpp"

#include <lzma.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "elf/notes.hpp"
#include "sframe_gen/error.hpp"
#include "support/bytes.hpp"
#include "support/text.hpp"

namespace sframe_gen::trace::walk {

namespace {

/// Where distributions keep what they have stripped.
constexpr const char* debug_files = "/usr/lib/debug";

/// Debugging information is worth no error: without it, less is printed.
std::optional<elf::Image> open_if_there(const FileRoot& root, const std::filesystem::path& path, uid_t user) try {
  return root.open(path, user);
} catch (const std::exception&) {
  return std::nullopt;
}

std::string build_id_of(const elf::Image& image) try {
  return elf::hex_digits(elf::build_id(image));
} catch (const Failure&) {
  return {};
}

/// What GNU ld and objcopy call CRC: zlib's CRC-32.
std::uint32_t checksum_of(std::span<const std::byte> bytes) {
  constexpr std::size_t most_at_once = std::size_t{1} << 30U;
  auto sum = ::crc32(0, nullptr, 0);
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), most_at_once));
    sum = ::crc32(sum, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
    bytes = bytes.subspan(piece.size());
  }
  return static_cast<std::uint32_t>(sum);
}

/// .gnu_debuglink: a name without a folder, zeros up to a multiple of 4, and the checksum of the file.
struct DebugLink {
  std::string name;
  std::uint32_t checksum = 0;
};

std::optional<DebugLink> debug_link_of(const elf::Image& image) try {
  const elf::Section* const section = image.find_section(".gnu_debuglink");
  if (section == nullptr) return std::nullopt;
  const InputOrigin origin{image.name(), section->name};
  ByteReader reader(image.bytes_of(*section), image.endian(), origin);
  const std::string name(text_before_zero(reader.rest()));
  constexpr std::size_t alignment = 4;
  reader.take(name.size() / alignment * alignment + alignment, "name of the debug file");
  if (name.empty() || name.find('/') != std::string::npos) return std::nullopt;
  return DebugLink{name, reader.u32("checksum")};
} catch (const Failure&) {
  return std::nullopt;
}

/// Who may have chosen the names in a file: its owner; or of a file of root's, `user`, who may have it at a place of
/// another choice.
uid_t chooser_of(const elf::Image& image, uid_t user) {
  struct stat status {};
  const bool is_owned = image.is_file() && ::fstat(image.descriptor(), &status) == 0 && status.st_uid != 0;
  return is_owned ? status.st_uid : user;
}

std::optional<elf::Image> find_by_link(const elf::Image& image, const FileRoot& root, uid_t user) {
  const auto link = debug_link_of(image);
  if (!link) return std::nullopt;
  for (const std::filesystem::path& path : root.names_of(image)) {
    const std::filesystem::path folder = path.parent_path();
    for (const std::filesystem::path& place :
         {folder, folder / ".debug", std::filesystem::path(debug_files) / folder.relative_path()}) {
      auto debug = open_if_there(root, place / link->name, user);
      if (debug && checksum_of(debug->file_bytes()) == link->checksum) return debug;
    }
  }
  return std::nullopt;
}

std::optional<elf::Image> find_by_build_id(const std::string& build_id, const FileRoot& root, uid_t user) {
  constexpr std::size_t folder_digits = 2, fewest_digits = 4;
  if (build_id.size() < fewest_digits) return std::nullopt;
  const auto folder = std::filesystem::path(debug_files) / ".build-id" / build_id.substr(0, folder_digits);
  auto found = open_if_there(root, folder / (build_id.substr(folder_digits) + ".debug"), user);
  return found && build_id_of(*found) == build_id ? std::move(found) : std::nullopt;
}

}  // namespace

std::optional<elf::Image> find_debug_file(const elf::Image& image, const FileRoot& root, uid_t user) {
  const uid_t chooser = chooser_of(image, user);
  auto found = find_by_build_id(build_id_of(image), root, chooser);
  return found ? std::move(found) : find_by_link(image, root, chooser);
}

std::optional<elf::Image> find_alternate(const elf::Image& debug, const std::string& path, const std::string& build_id,
                                         const FileRoot& root, uid_t user) {
  const uid_t chooser = chooser_of(debug, user);
  for (const std::filesystem::path& name : root.names_of(debug)) {
    auto alternate = open_if_there(root, name.parent_path() / path, chooser);
    if (alternate && build_id_of(*alternate) == build_id) return alternate;
  }
  return find_by_build_id(build_id, root, chooser);
}

std::optional<elf::Image> open_named_by(const elf::Image& debug, const std::string& path, const FileRoot& root,
                                        uid_t user) {
  return open_if_there(root, path, chooser_of(debug, user));
}

std::optional<elf::Image> fetch_debug_file(const std::string& build_id, const std::string& name,
                                           Debuginfod& debuginfod) try {
  const Descriptor file = debuginfod.find(Debuginfod::What::DebugFile, build_id, name);
  if (!file.is_open()) return std::nullopt;
  elf::Image debug = elf::Image::open(file.number(), name);
  return build_id_of(debug) == build_id ? std::optional(std::move(debug)) : std::nullopt;
} catch (const Failure&) {
  return std::nullopt;
}

namespace {

/// Of the decoder: that of `xz -9` needs 65 MiB.
constexpr std::uint64_t most_memory = std::uint64_t{96} << 20U;
/// Of what it makes. A section can be as large as a sparse file says.
constexpr std::size_t most_times = 64, always_allowed = std::size_t{16} << 20U, most_ever = std::size_t{64} << 20U;

/// Empty: they are no .xz file, or a longer one than `most`.
std::vector<std::byte> decompressed(std::span<const std::byte> bytes, std::size_t most) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, most_memory, 0) != LZMA_OK) return {};
  std::vector<std::byte> all;
  std::array<std::byte, std::size_t{1} << 16U> piece{};
  stream.next_in = reinterpret_cast<const std::uint8_t*>(bytes.data());
  stream.avail_in = bytes.size();
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && all.size() <= most) {
    stream.next_out = reinterpret_cast<std::uint8_t*>(piece.data());
    stream.avail_out = piece.size();
    result = lzma_code(&stream, LZMA_FINISH);
    all.insert(all.end(), piece.begin(), piece.end() - static_cast<std::ptrdiff_t>(stream.avail_out));
  }
  lzma_end(&stream);
  return result == LZMA_STREAM_END && all.size() <= most ? all : std::vector<std::byte>();
}

}  // namespace

std::vector<std::byte> mini_debug_info(const elf::Image& image) try {
  const elf::Section* const section = image.find_section(".gnu_debugdata");
  if (section == nullptr) return {};
  const auto bytes = image.bytes_of(*section);
  return decompressed(bytes, std::clamp(bytes.size() * most_times, always_allowed, most_ever));
} catch (const Failure&) {
  return {};
}

}  // namespace sframe_gen::trace::walk
