#pragma once

#include <ostream>
#include <string>

#include "trace/recorded/kernel_names.hpp"
#include "trace/recorded/recording.hpp"
#include "trace/report/text_report.hpp"

/// One object on one line for each stack. Addresses are strings in hex, as JSON's numbers lose bits.
namespace sframe_gen::trace::report {

/// A string literal, which cannot end the script that it is in.
std::string quoted_for_script(const std::string& text);

/// A thread's, of a process or core file.
struct ThreadStack {
  int process = 0, thread = 0;
  std::string name;
  int signal = 0;       ///< 0: none
  std::string missing;  ///< why there is no stack; empty: there is one
};

void write_json(std::ostream& out, const ThreadStack& thread, const walk::Stack& stack,
                const std::optional<walk::StackEnd>& cut);
void write_json(std::ostream& out, recorded::KernelNames& kernel, const recorded::Sample& sample,
                const recorded::SampledEvent& event, const std::optional<walk::StackEnd>& cut);

}  // namespace sframe_gen::trace::report
