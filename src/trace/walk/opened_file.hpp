#pragma once

#include <memory>
#include <string>

#include "trace/walk/code_file.hpp"

namespace sframe_gen::trace {

/// The file of a mapping, or what is known instead of it.
struct OpenedFile {
  std::shared_ptr<CodeFile> file;  ///< null: it cannot be had
  std::string why_not;
};

}  // namespace sframe_gen::trace
