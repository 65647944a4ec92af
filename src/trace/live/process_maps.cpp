#include "trace/live/process_maps.hpp"

#include <sys/sysmacros.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "sframe_gen/error.hpp"

namespace sframe_gen::trace {

std::vector<Mapping> executable_mappings(std::istream& maps) {
  std::vector<Mapping> mappings;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    Mapping mapping;
    std::string rights;
    unsigned major = 0, minor = 0;
    char to = 0, colon = 0;
    fields >> std::hex >> mapping.begin >> to >> mapping.end >> rights >> mapping.file_offset >> major >> colon >>
        minor;
    fields >> std::dec >> mapping.inode;
    if (!fields || to != '-' || rights.size() < 3 || rights[2] != 'x') continue;
    mapping.device = makedev(major, minor);
    std::getline(fields >> std::ws, mapping.path);
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

std::vector<Mapping> executable_mappings_of(int pid) {
  const std::string name = "/proc/" + std::to_string(pid) + "/maps";
  std::ifstream maps(name);
  if (!maps) throw SystemFailure(name, "open", errno);
  return executable_mappings(maps);
}

}  // namespace sframe_gen::trace
