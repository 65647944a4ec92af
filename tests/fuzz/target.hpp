#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "sframe_gen/error.hpp"
#include "support/mapped_file.hpp"

/// Fuzz targets: functions of any bytes, which abort where a property of the code does not hold. A fuzzing engine calls
/// them (fuzzer.cpp), or a program that has the inputs in files (replay.cpp).
namespace sframe_gen::fuzz {

using Bytes = std::span<const std::byte>;

// Each has a folder of seeds by its name.
void archive(Bytes input);
void code(Bytes input);
void conversion(Bytes input);
void core_file(Bytes input);
void dwarf(Bytes input);
void expression(Bytes input);
void go(Bytes input);
void image(Bytes input);
void object(Bytes input);
void options(Bytes input);
void perf_data(Bytes input);
void plan(Bytes input);
void proc(Bytes input);
void ring(Bytes input);
void rows(Bytes input);
void section(Bytes input);
void undo(Bytes input);
void unwind(Bytes input);

/// Aborts if the property does not hold.
void require(bool holds, std::string_view property);

/// Calls `work`, which may find the input wanting. Returns whether it did not.
template <typename Work>
bool succeeds(const Work& work) {
  try {
    work();
    return true;
  } catch (const Failure&) {
    return false;
  }
}

/// Takes numbers from the front of an input. After its end, they are 0.
class Choices {
 public:
  explicit Choices(Bytes input) : left_(input) {}

  std::uint8_t byte();
  /// Of 0 up to `limit` - 1.
  std::uint64_t below(std::uint64_t limit);
  std::uint64_t word();
  Bytes rest() const { return left_; }

 private:
  Bytes left_;
};

/// A file without a name that has the bytes.
class MemoryFile {
 public:
  explicit MemoryFile(Bytes contents = {});

  int descriptor() const { return descriptor_.number(); }
  /// By which it can be opened, as long as this object lives.
  std::filesystem::path path() const;

 private:
  Descriptor descriptor_;
};

}  // namespace sframe_gen::fuzz
