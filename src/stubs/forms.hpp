#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sframe_gen/format.hpp"
#include "stubs/pattern.hpp"

namespace sframe_gen::stubs {

/// How one linker lays out a section of stubs: perhaps a header, and behind it entries of one size.
struct Form {
  std::string_view name;
  std::optional<Pattern> header;
  std::vector<Pattern> entries;    ///< at each place one of these, all of one size
  std::vector<Pattern> last = {};  ///< of other sizes, which may stand at the end
  std::uint64_t entry_size() const { return entries.front().size(); }
};

/// All that are known for a machine. A machine that SFrame knows has some.
const std::vector<Form>& forms_for(sframe::Abi abi);

/// Sections of stubs begin at a multiple of so many bytes.
std::uint64_t stub_alignment(sframe::Abi abi);

/// The functions that crti.o begins and crtn.o ends, as linkers put their pieces together: what .init and .fini are
/// made of, whole.
const std::vector<Pattern>& ends_for(sframe::Abi abi);

/// What the kernel enters a program by, of C libraries that describe it by no call frame information.
const std::vector<Pattern>& starts_for(sframe::Abi abi);

const std::vector<Form>& amd64_forms();
const std::vector<Form>& aarch64_forms();
const std::vector<Form>& s390x_forms();

const std::vector<Pattern>& amd64_ends();
const std::vector<Pattern>& aarch64_ends();
const std::vector<Pattern>& s390x_ends();

const std::vector<Pattern>& amd64_starts();

}  // namespace sframe_gen::stubs
