#include "sframe_gen/code_check.hpp"

#include "elf/image.hpp"
#include "elf/preconditions.hpp"
#include "rows/proof/decoder.hpp"
#include "rows/proof/file_proof.hpp"

namespace sframe_gen {

CodeCheck check_code(const std::filesystem::path& file, const WorkObserver& observer, bool bounded_tables_only) {
  const elf::Image image = elf::Image::open(file);
  if (!image.is_object()) elf::check_no_overlap(image);
  return rows::proof::check_cfi(image, observer.progress, {.bounded_tables_only = bounded_tables_only});
}

std::string why_no_code_check() {
  return rows::proof::Decoder::why_missing();
}

}  // namespace sframe_gen
