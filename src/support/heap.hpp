#pragma once

#include <cstddef>

namespace sframe_gen {

/// Tells the allocator that about `bytes` will be asked for in small pieces: grows the heap once, in huge pages where
/// the system lends them, and keeps it. Only speed depends on it: a tenth of the time for libLLVM went into page
/// faults on the blocks that libdwarf allocates, three an FDE.
void expect_allocations(std::size_t bytes);

}  // namespace sframe_gen
