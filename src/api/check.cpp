#include "sframe_gen/check.hpp"

#include <string>

#include "convert/convert_archive.hpp"
#include "convert/file_kind.hpp"
#include "elf/image.hpp"
#include "readers/judge.hpp"
#include "support/text.hpp"

namespace sframe_gen {

std::string_view why_no_format(const ReaderTarget& reader) {
  return readers::rules_of(reader).why_no_format;
}

void check_readers(const std::filesystem::path& file, std::span<const ReaderTarget* const> readers,
                   const std::function<void(const CheckedSection&)>& visit,
                   const std::function<void(const Failure&)>& failed) {
  const auto check = [&](const std::string& name, const elf::Image& image) {
    visit({name, readers::judge(image, readers)});
  };
  if (convert::kind_of(file) != convert::FileKind::Archive) return check(file.string(), elf::Image::open(file));
  convert::for_each_converted(file, check, [&](const std::string&, const Failure& failure) { failed(failure); });
}

std::string reason_of(const ReaderVerdict& verdict) {
  if (verdict.kind == ReaderVerdict::Kind::Accepts) return {};
  const std::string place = verdict.offset ? " (.sframe+" + hex(*verdict.offset) + ")" : "";
  return verdict.finding + place + "; " + std::string(verdict.reader->name) + ' ' + std::string(verdict.rule);
}

}  // namespace sframe_gen
