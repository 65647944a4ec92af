#include "trace/walk/source_names.hpp"

#include <cstddef>
#include <utility>

#include "sframe_gen/error.hpp"
#include "support/text.hpp"

namespace sframe_gen::trace::walk {

namespace {

/// Of an address. Compilers nest a few dozen calls.
constexpr std::size_t most_inlined = 256;

}  // namespace

SourceNames::SourceNames(const elf::Image& debug, const elf::Image* alternate, const SourceOptions& options,
                         dwarf::SourcePlaces::OpenSplit open_split)
    : options_(options), places_(debug, alternate, std::move(open_split)), budget_(debug.file_bytes().size()) {}

const SourceChain& SourceNames::at(std::uint64_t address) {
  return asked_.get(address, [this](std::uint64_t asked) { return look_up(asked); });
}

SourceChain SourceNames::look_up(std::uint64_t address) try {
  const std::vector<dwarf::SourceFrame>& frames = places_.at(address);
  SourceChain chain;
  if (frames.empty()) return chain;
  if (!options_.inlines) {
    chain.place = line_of(frames.front());
    return chain;
  }
  for (const dwarf::SourceFrame& frame : frames) {
    if (frame.is_inlined) {
      if (chain.inlined.size() == most_inlined) continue;
      const auto& [name, symbol] = name_of(frame);
      chain.inlined.push_back({name, symbol, line_of(frame)});
    } else {
      chain.place = line_of(frame);
    }
  }
  return chain;
} catch (const Failure&) {
  // Of a damaged file less is known.
  return {};
}

SourceLine SourceNames::line_of(const dwarf::SourceFrame& frame) {
  if (!options_.lines) return {};
  const auto known = files_.find(std::string(frame.file));
  if (known != files_.end()) return {known->second, frame.line};
  // Texts of a damaged file may share bytes.
  if (!budget_.take(frame.file.size())) return {{}, frame.line};
  return {files_.try_emplace(std::string(frame.file), printable(frame.file)).first->second, frame.line};
}

/// "main::{lambda#1}::operator()"
const Demangled& SourceNames::name_of(const dwarf::SourceFrame& frame) {
  static const Demangled unknown;
  std::string name(frame.around);
  if (!frame.around.empty()) name += '\0';
  name += frame.function;
  const auto known = functions_.find(name);
  if (known != functions_.end()) return known->second;
  if (!budget_.take(name.size())) return unknown;
  Demangled made = demangled_for_people(std::string(frame.function));
  // No linkage name has both.
  if (!frame.around.empty())
    made = {shortened(name_for_people(std::string(frame.around)) + "::" + made.name, longest_name), {}};
  return functions_.try_emplace(name, std::move(made)).first->second;
}

}  // namespace sframe_gen::trace::walk
