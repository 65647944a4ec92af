#include "cli/report/check.hpp"

#include <nlohmann/json.hpp>

#include <ostream>
#include <string>

#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

using nlohmann::ordered_json;

const char* name_of(ReaderVerdict::Kind kind) {
  switch (kind) {
    case ReaderVerdict::Kind::Accepts:
      return "accepts";
    case ReaderVerdict::Kind::Refuses:
      return "refuses";
    case ReaderVerdict::Kind::Misreads:
      return "misreads";
  }
  return "";
}

std::string option_of(const ReaderVerdict& verdict) {
  return verdict.helped_by_target ? "--for=" + std::string(verdict.reader->name) : "";
}

ordered_json json_of(const ReaderVerdict& verdict) {
  ordered_json json{{"reader", verdict.reader->name}, {"verdict", name_of(verdict.kind)}};
  if (!verdict.why.empty()) json["why"] = verdict.why;
  if (verdict.helped_by_target) json["option"] = option_of(verdict);
  return json;
}

}  // namespace

void write_verdicts(const CheckedSection& checked, bool quiet, std::ostream& out) {
  for (const ReaderVerdict& verdict : checked.verdicts) {
    if (quiet && verdict.kind == ReaderVerdict::Kind::Accepts) continue;
    out << printable(checked.name) << ": " << verdict.reader->name << ' ' << name_of(verdict.kind) << " it";
    if (!verdict.why.empty()) out << ": " << printable(verdict.why);
    if (verdict.helped_by_target) out << "; " << option_of(verdict) << " helps";
    out << '\n';
  }
}

void write_json(const CheckedSection& checked, std::ostream& out) {
  ordered_json json{{"file", checked.name}, {"readers", ordered_json::array()}};
  for (const ReaderVerdict& verdict : checked.verdicts) json["readers"].push_back(json_of(verdict));
  // Names in files need not be UTF-8.
  out << json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace sframe_gen::cli
