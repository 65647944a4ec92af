#pragma once

#include <boost/program_options.hpp>

#include "sframe_gen/format.hpp"

/// The options that say which format is written.
namespace sframe_gen::cli {

void add_format_options(boost::program_options::options_description& options);

/// Whether any of them was given.
bool has_format_options(const boost::program_options::variables_map& values);

/// Throws UsageError.
OutputFormat format_of(const boost::program_options::variables_map& values);

/// The names --for takes, one line each.
std::string reader_target_help();

}  // namespace sframe_gen::cli
