#include "trace/walk/made_section.hpp"

#include <cstddef>
#include <exception>
#include <span>
#include <utility>
#include <vector>

#include "elf/kept_section.hpp"
#include "files/kept_header.hpp"
#include "sframe/format.hpp"
#include "sframe_gen/convert.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen::trace::walk {

MadeSection make_section(const elf::Image& image, const std::filesystem::path& cache, RowEvidence evidence) {
  constexpr std::uint64_t section_address = files::kept_section_address;
  const bool reads_code = evidence == RowEvidence::CfiAndCode;
  MadeSection made;
  try {
    const elf::KeptSection place(cache, image, reads_code ? "-code" : "");
    made.kept = place.find();
    if (made.kept) {
      auto kept = std::make_shared<const unwind::PagedSection>(made.kept->content(), section_address);
      if (!kept->fault()) {
        made.section = std::move(kept);
        return made;
      }
    }
    ConvertOptions options;
    options.format.covers_padding = false;  // walks look up the byte before a return address
    options.synthesize = reads_code;
    std::vector<std::byte> bytes = translate(image.file_bytes(), image.name(), section_address, options).bytes;
    check_is_whole(image.file_bytes(), image.name());
    const std::span<const std::byte> content = bytes;
    auto section = std::make_shared<const unwind::PagedSection>(std::move(bytes), section_address);
    if (const sframe::ViewFault& fault = section->fault()) {
      made.why_not = std::string("its call frame information makes no section: ") + sframe::text_of(fault.problem);
      return made;
    }
    made.section = std::move(section);
    place.keep(content);
  } catch (const std::exception& failure) {
    made.why_not = failure.what();
  }
  return made;
}

}  // namespace sframe_gen::trace::walk
