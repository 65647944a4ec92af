#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "verify/verify.hpp"

namespace sframe_gen::cli {

/// What --verify found in one member of an archive.
struct MemberVerification {
  std::string name;  ///< "libfoo.a(bar.o)"
  verify::Verification result;
};

/// All numbers added up; the differences stay with their members.
verify::Verification sum_of(const std::vector<MemberVerification>& members);

/// "libc.so: 3714 descriptors, 24964 rows, 45267 PCs checked: no difference; 4 left out".
void write_summary(const std::string& file, const verify::Verification& result, std::ostream& out);

/// "libfoo.a: 9 members: 3714 descriptors …".
void write_summary(const std::string& file, const std::vector<MemberVerification>& members, std::ostream& out);

}  // namespace sframe_gen::cli
