#include "cli/report/section_json.hpp"

#include <nlohmann/json.hpp>

#include <ostream>

#include "sframe_gen/lookup.hpp"
#include "support/text.hpp"

namespace sframe_gen::cli {

namespace {

using nlohmann::ordered_json;

std::string line_of(const ordered_json& json) {
  // Names in files need not be UTF-8.
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

/// {"base": "cfa" or a register's number, "offset": …, "dereferenced": …}
ordered_json rule_of(const sframe::Rule& rule) {
  ordered_json json;
  if (rule.base_register) {
    json["base"] = *rule.base_register;
  } else {
    json["base"] = "cfa";
  }
  json["offset"] = rule.offset;
  json["dereferenced"] = rule.dereferenced;
  return json;
}

ordered_json row_of(const sframe::Fre& row) {
  ordered_json json{{"offset", row.pc_offset}};
  if (!row.recovery) {
    json["outermost"] = true;
    return json;
  }
  json["cfa"] = rule_of(row.recovery->cfa);
  if (row.recovery->return_address) json["return_address"] = rule_of(*row.recovery->return_address);
  if (row.recovery->frame_pointer) json["frame_pointer"] = rule_of(*row.recovery->frame_pointer);
  if (row.recovery->mangled_ra) json["signed"] = true;
  return json;
}

ordered_json descriptor_of(std::size_t index, const sframe::Fde& function, const DescribedFunction& described) {
  ordered_json json{{"index", index}, {"start", hex(function.start)}, {"size", function.size}};
  if (!described.symbol.empty()) json["symbol"] = described.symbol;
  if (!described.section.empty()) json["section"] = described.section;
  json["type"] = function.type == sframe::FdeType::Flexible ? "flexible" : "default";
  const bool repeats = function.pc_type == sframe::PcType::Mask;
  json["starts"] = !repeats ? "offsets" : sframe::has_bit_mask_fres(function) ? "bit-masks" : "repeating";
  if (function.repeat_size != 0) json["repeat_size"] = function.repeat_size;
  json["signal_frame"] = function.signal_frame;
  if (function.b_key) json["key"] = "B";
  json["rows"] = ordered_json::array();
  for (const sframe::Fre& row : function.fres) json["rows"].push_back(row_of(row));
  return json;
}

ordered_json header_of(const std::string& file, const FileSection& found) {
  const sframe::Section& section = found.section;
  std::size_t rows = 0;
  for (const sframe::Fde& function : section.fdes) rows += function.fres.size();
  return {{"file", file},
          {"section", found.name},
          {"format", name_of(section.version)},
          {"abi", name_of(section.abi)},
          {"big_endian", section.endian == Endian::Big},
          {"address", hex(section.address)},
          {"flags", section.flags},
          {"fixed_frame_pointer_offset", section.fixed_fp_offset},
          {"fixed_return_address_offset", section.fixed_ra_offset},
          {"descriptor_count", section.fdes.size()},
          {"row_count", rows}};
}

}  // namespace

void write_json(const std::string& file, const FileSection& section,
                const std::function<bool(const sframe::Fde&)>& wanted,
                const std::function<DescribedFunction(const sframe::Fde&)>& describe, std::ostream& out) {
  // One descriptor at a time: all of them as JSON take a hundred times the section.
  std::string header = line_of(header_of(file, section));
  header.pop_back();
  out << header << ",\"descriptors\":[";
  const char* between = "";
  for (std::size_t i = 0; i < section.section.fdes.size(); ++i) {
    const sframe::Fde& function = section.section.fdes[i];
    if (!wanted(function)) continue;
    out << between << line_of(descriptor_of(i, function, describe(function)));
    between = ",";
  }
  out << "]}\n";
}

}  // namespace sframe_gen::cli
