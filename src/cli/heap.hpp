#pragma once

#include <cstddef>
#include <filesystem>

namespace sframe_gen::cli {

/// Memory that is freed stays for the next file: a run over many small ones takes a fifth of the page faults.
void keep_freed_memory();

/// Tells the allocator that about `bytes` will be asked for in small pieces: grows the heap once, in huge pages where
/// the system lends them, and keeps it. Only speed depends on it: in small pages, the 30 MB of tables that a conversion
/// of libLLVM makes cost 8,000 page faults, and a twelfth of what libgio takes (2 MB) are such.
void expect_allocations(std::size_t bytes);

/// Does so for the conversion of `file`, if that is not small: the index, the rows and the section together take about
/// eight times the size of .eh_frame, which is a twentieth of a large library. A compact section takes three times as
/// much, in tables of some MB each: a tenth of its time went into page faults on these.
void prepare_heap(const std::filesystem::path& file, bool compact);

}  // namespace sframe_gen::cli
