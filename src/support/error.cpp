#include "sframe_gen/error.hpp"

#include <system_error>

#include "support/text.hpp"

namespace sframe_gen {

MalformedInput::MalformedInput(const InputOrigin& origin, std::uint64_t offset, const std::string& what)
    : Failure(origin.file + ": " + origin.section + "+" + hex(offset) + ": " + what) {}

Refused::Refused(const std::string& file, const std::string& why) : Failure(file + ": " + why) {}

SystemFailure::SystemFailure(const std::string& file, const std::string& action, int error_number)
    : Failure(file + ": cannot " + action + ": " + std::generic_category().message(error_number)) {}

LayoutViolation::LayoutViolation(const std::string& file, const std::string& rule)
    : Failure(file + ": cannot be rewritten safely, as the result would break a rule: " + rule +
              " (its headers may contradict each other; if they are sound, this is a bug of sframe-gen)") {}

}  // namespace sframe_gen
