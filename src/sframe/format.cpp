#include "sframe/format.hpp"

#include "sframe_gen/format.hpp"

namespace sframe_gen::sframe {

std::string_view name_of(Version version) {
  return traits_of(version).name;
}

std::string_view name_of(Abi abi) {
  return traits_of(abi).name;
}

}  // namespace sframe_gen::sframe
