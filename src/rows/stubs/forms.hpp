#pragma once

#include <span>
#include <string_view>

#include "rows/stubs/pattern.hpp"
#include "sframe_gen/format.hpp"
#include "support/containers.hpp"

namespace sframe_gen::rows::stubs {

/// How one linker lays out a section of stubs: perhaps a header, and after it entries of one size.
struct Form {
  std::string_view name;
  const Pattern* header = nullptr;           ///< null: none
  SmallVector<const Pattern*, 7> entries;    ///< at each place one of these, all of one size
  SmallVector<const Pattern*, 2> last = {};  ///< of other sizes, which may stand at the end
  std::uint64_t entry_size() const { return entries.front()->size(); }
};

/// All that are known for a machine. A machine that SFrame knows has some.
std::span<const Form> forms_for(sframe::Abi abi);

/// Sections of stubs begin at a multiple of so many bytes.
std::uint64_t stub_alignment(sframe::Abi abi);

/// The functions that crti.o begins and crtn.o ends, as linkers put their pieces together: what .init and .fini are
/// made of, whole.
std::span<const Pattern> ends_for(sframe::Abi abi);

/// What the kernel enters a program by, of C libraries that describe it by no call frame information.
std::span<const Pattern> starts_for(sframe::Abi abi);

std::span<const Form> amd64_forms();
std::span<const Form> aarch64_forms();
std::span<const Form> s390x_forms();

std::span<const Pattern> amd64_ends();
std::span<const Pattern> aarch64_ends();
std::span<const Pattern> s390x_ends();

std::span<const Pattern> amd64_starts();

}  // namespace sframe_gen::rows::stubs
