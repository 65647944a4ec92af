#pragma once

#include <array>
#include <cstdint>

#include "own_walks.hpp"

/// Runs code one instruction at a time and walks the stack at each, by .sframe and by libgcc.
namespace sframe_gen::unwind {

inline constexpr std::size_t stop_count = static_cast<std::size_t>(Stop::BadSection) + 1;

/// What the samples of one piece of code came to.
struct Tally {
  std::uint64_t samples = 0;
  std::uint64_t frames = 0;              ///< compared, over both walks of each sample
  std::uint64_t in_plt = 0;              ///< samples whose PC is in a descriptor that repeats
  std::uint64_t in_flexible = 0;         ///< samples whose PC is in a flexible descriptor
  std::uint64_t in_first_row = 0;        ///< samples before a function has touched the stack
  std::uint64_t through_trampoline = 0;  ///< walks that went through one signal trampoline or more
  std::uint64_t landing = 0;             ///< samples that were not compared, see sampler.cpp
  std::uint64_t outermost = 0;           ///< walks from the interrupted instruction that came to the outermost frame
  std::uint64_t own_walks = 0;           ///< walks that the library's own way through its process repeated
  std::array<std::uint64_t, stop_count> cut{};  ///< those that libgcc followed farther
};

/// To be called before anything is sampled, with the tables that all walks use.
void start_sampling(const Tables& tables);

/// To be called by each thread before it samples: finds out where its stack is.
void know_stack_of_this_thread();

/// From the return on each instruction is a sample, until `most` in all.
void step_from_here(std::uint64_t most);
void stop_stepping();
/// A single sample of the caller.
void sample_here();

Tally take_tally();

/// Prints the first differences found so far; returns their number.
std::uint64_t report_differences();

}  // namespace sframe_gen::unwind
