#pragma once

namespace sframe_gen {

class MappedFile;

/// Whoever has looked at a large file's bytes says so: what it has read counts as the program's memory no longer, and
/// comes back from the page cache where it is looked at again. Any thread may be reading it meanwhile.
void let_go(const MappedFile& file);

}  // namespace sframe_gen
