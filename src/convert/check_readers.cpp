#include "convert/archive_members.hpp"
#include "convert/file_kind.hpp"
#include "elf/image.hpp"
#include "readers/judge.hpp"
#include "sframe_gen/check.hpp"

namespace sframe_gen {

void check_readers(const std::filesystem::path& file, std::span<const ReaderTarget* const> readers,
                   const std::function<void(const CheckedSection&)>& visit,
                   const std::function<void(const Failure&)>& failed) {
  const auto check = [&](const std::string& name, const elf::Image& image) {
    visit({name, readers::judge(image, readers)});
  };
  if (convert::kind_of(file) != convert::FileKind::Archive) return check(file.string(), elf::Image::open(file));
  convert::for_each_converted(file, check, [&](const std::string&, const Failure& failure) { failed(failure); });
}

}  // namespace sframe_gen
