#include "convert/convert_archive.hpp"
#include "convert/convert_kernel.hpp"
#include "convert/convert_linked.hpp"
#include "convert/convert_object.hpp"
#include "convert/file_kind.hpp"
#include "elf/kernel_image.hpp"
#include "sframe_gen/convert.hpp"

namespace sframe_gen {

Outcome convert_file(const std::filesystem::path& input, const std::filesystem::path& output,
                     const ConvertOptions& options, const Observer& observer) {
  if (convert::kind_of(input) == convert::FileKind::Archive)
    return convert::convert_archive(input, output, options, observer);
  const elf::Image image = elf::Image::open(input);
  if (image.is_object()) return convert::convert_object_file(image, output, options);
  if (elf::is_kernel(image)) return convert::convert_kernel(image, output, options, observer);
  return convert::convert_linked(image, output, options, observer);
}

}  // namespace sframe_gen
