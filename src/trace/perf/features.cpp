#include "trace/perf/features.hpp"

#include <algorithm>
#include <cstring>

#include "elf/build_id.hpp"
#include "support/byte_reader.hpp"
#include "support/text.hpp"
#include "trace/perf/record.hpp"

namespace sframe_gen::trace {

namespace {

/// Up to the first zero, or all of it.
std::string text_in(std::span<const std::byte> bytes) {
  const auto* const begin = reinterpret_cast<const char*>(bytes.data());
  return {begin, ::strnlen(begin, bytes.size())};
}

std::optional<sframe::Abi> abi_of(const std::string& machine, Endian endian) {
  const bool is_little = endian == Endian::Little;
  if (machine == "x86_64" && is_little) return sframe::Abi::Amd64;
  if (machine == "aarch64" || machine == "aarch64_be") {
    return is_little ? sframe::Abi::Aarch64Little : sframe::Abi::Aarch64Big;
  }
  if (machine == "s390x" && !is_little) return sframe::Abi::S390x;
  return std::nullopt;
}

}  // namespace

void Features::add(std::uint64_t feature, std::span<const std::byte> bytes) {
  if (feature == of_machine) read_machine(bytes);
  if (feature == of_build_ids) add_build_ids(bytes);
}

void Features::read_machine(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, endian_, origin_);
  const std::string machine = text_in(reader.take(reader.u32("length"), "machine"));
  abi_ = abi_of(machine, endian_);
  if (!abi_) {
    throw Refused(origin_.file, "was recorded on " + printable(machine) +
                                    (endian_ == Endian::Little ? " (little-endian)" : " (big-endian)") +
                                    ", for which SFrame has no ABI");
  }
}

void Features::add_build_ids(std::span<const std::byte> bytes) {
  // Behind a record's header a process, 20 bytes of ID with their number in the 21st, and a path.
  constexpr std::size_t process = 4, id_room = 24, usual_id = 20;
  ByteReader reader(bytes, endian_, origin_);
  while (reader.left() >= record_header_size + process + id_room) {
    reader.u32("type");
    const std::uint16_t flags = reader.u16("flags");
    const std::uint16_t size = reader.u16("size");
    if (size < record_header_size) reader.fail("size of a build-id's record is " + hex(size));
    const auto record = reader.take(size - record_header_size, "build-id");
    if (record.size() < process + id_room) continue;
    const auto id = record.subspan(process, id_room);
    constexpr std::uint16_t has_size = 1U << 15U;
    const std::size_t id_size = (flags & has_size) != 0
                                    ? std::min<std::size_t>(std::to_integer<std::size_t>(id[usual_id]), usual_id)
                                    : usual_id;
    build_ids_[text_in(record.subspan(process + id_room))] = elf::hex_digits(id.first(id_size));
  }
}

}  // namespace sframe_gen::trace
