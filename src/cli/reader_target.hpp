#pragma once

#include <span>
#include <string_view>

#include "emit/dialect.hpp"

namespace sframe_gen::cli {

/// A reader that --for names, and what it takes. No version of the format serves all readers.
struct ReaderTarget {
  std::string_view name;
  std::string_view meaning;
  emit::OutputFormat format;
};

std::span<const ReaderTarget> reader_targets();

/// Null: no target has this name.
const ReaderTarget* find_reader_target(std::string_view name);

}  // namespace sframe_gen::cli
