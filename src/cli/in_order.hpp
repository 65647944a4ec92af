#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace sframe_gen::cli {

/// Calls `work(i)` for each i below `weights.size()` in up to `jobs` threads, and `finish(i)` for each, in their order,
/// in this one. With one job both alternate, and nothing runs in another thread.
///
/// What is under way is bounded whatever `jobs` says: together it weighs at most `most_weight` (or is one heavy item
/// alone), and no item is started that is far ahead of the first that is not finished. `tick` is called now and then
/// while this thread waits. `work` must not throw.
void for_each_in_order(std::span<const std::uint64_t> weights, unsigned jobs, std::uint64_t most_weight,
                       const std::function<void(std::size_t)>& work, const std::function<void(std::size_t)>& finish,
                       const std::function<void()>& tick);

}  // namespace sframe_gen::cli
