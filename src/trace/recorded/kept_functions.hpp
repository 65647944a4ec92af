#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "support/digest.hpp"
#include "trace/recorded/kernel_function.hpp"
#include "trace/walk/kept_file.hpp"

namespace sframe_gen::trace {

/// The list of a running kernel's functions in the cache folder, which the kernel takes longer to write than a
/// recording to be walked. One file for each kernel, made anew when that is started again or other modules are loaded.
class KeptFunctions {
 public:
  /// `folder`, empty: nothing is found or kept. `build_id`: the kernel's.
  KeptFunctions(const std::filesystem::path& folder, const std::string& build_id);

  /// True: there is a list.
  bool find();
  /// In ascending order, all of this start of the kernel's and of these modules.
  void keep(std::span<const KernelFunction> functions) const;

  /// The function at `pc`, if it is the same until the kernel is started again or other modules are loaded: not that of
  /// code which the kernel makes as it runs, or which may have come next to what is listed.
  std::optional<std::string_view> name_at(std::uint64_t pc) const;
  /// Whether there is a function of this name at this address.
  bool has(std::uint64_t address, std::string_view name) const;

 private:
  struct Entry {
    std::uint64_t begin;
    std::uint32_t name;  ///< where it stands
    std::uint16_t size;  ///< of it
    std::uint16_t is_lasting;
  };
  std::string_view name_of(const Entry& entry) const;

  std::filesystem::path path_;  ///< empty: nothing is kept
  Digest source_{};             ///< which start of the kernel, with which modules
  std::optional<KeptFile> file_;
  std::span<const Entry> entries_;  ///< ascending
  std::string_view names_;
};

}  // namespace sframe_gen::trace
