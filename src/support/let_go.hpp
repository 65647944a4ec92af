#pragma once

#include <cstdint>

namespace sframe_gen {

class MappedFile;

/// Whoever has looked at a large file's bytes says so: what it has read counts as the program's memory no longer, and
/// comes back from the page cache where it is looked at again. Any thread may be reading it meanwhile.
void let_go(const MappedFile& file);
/// As above, of the whole pages from `begin` to `end`, file offsets not past its end.
void let_go(const MappedFile& file, std::uint64_t begin, std::uint64_t end);

}  // namespace sframe_gen
