#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "elf/image.hpp"
#include "trace/files/file_root.hpp"
#include "trace/walk/debuginfod.hpp"

/// Files with the symbols and debugging information that a program or library has not, or only in a compressed form.
namespace sframe_gen::trace::walk {

/// Returns the separate debug file of `image` that is below `root`. It is found by build-id in /usr/lib/debug, or else
/// by .gnu_debuglink in the file's folder, in the folder .debug there, and in that folder below /usr/lib/debug. A file
/// that another build-id or another checksum shows to be another one is none. None: there is no such file, or it is
/// damaged. `user`: who chose the image's name.
std::optional<elf::Image> find_debug_file(const elf::Image& image, const FileRoot& root, uid_t user);

/// Returns the file that .gnu_debugaltlink of a debug file names: at `path`, which may begin at that file's folder, or
/// else by `build_id`, in digits, which it must have. None: there is none.
std::optional<elf::Image> find_alternate(const elf::Image& debug, const std::string& path, const std::string& build_id,
                                         const FileRoot& root, uid_t user);

/// Returns the file that a debug file names by an absolute path below `root`. None: it cannot be opened.
std::optional<elf::Image> open_named_by(const elf::Image& debug, const std::string& path, const FileRoot& root,
                                        uid_t user);

/// Returns the debug file with a build-id, in digits, that a server has. `name`: of the file that it belongs to.
std::optional<elf::Image> fetch_debug_file(const std::string& build_id, const std::string& name,
                                           Debuginfod& debuginfod);

/// Returns the ELF file that is compressed in a stripped file's section .gnu_debugdata ("MiniDebugInfo" of Fedora),
/// with the symbols of functions that .dynsym lacks. Empty: there is none, it is damaged, or it is more than 64 times
/// the size of the section and more than 16 MiB.
std::vector<std::byte> mini_debug_info(const elf::Image& image);

}  // namespace sframe_gen::trace::walk
