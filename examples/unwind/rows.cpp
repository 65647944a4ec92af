// Says how to leave one of its own functions, by the section that its PT_GNU_SFRAME shows.
#include <link.h>
#include <sframe_gen/view.hpp>

#include <cstdint>
#include <cstdio>

namespace {

constexpr std::uint32_t sframe_segment = 0x6474e554;  // PT_GNU_SFRAME

int open_own(dl_phdr_info* info, std::size_t, void* data) {
  auto& view = *static_cast<sframe_gen::sframe::SectionView*>(data);
  for (const ElfW(Phdr)* segment = info->dlpi_phdr; segment != info->dlpi_phdr + info->dlpi_phnum; ++segment) {
    if (segment->p_type != sframe_segment) continue;
    const std::uint64_t address = info->dlpi_addr + segment->p_vaddr;
    const auto* const bytes = reinterpret_cast<const std::byte*>(address);
    if (const auto fault = view.open({bytes, segment->p_memsz}, address)) {
      std::fprintf(stderr, "%s\n", text_of(fault.problem));
    }
  }
  return 1;  // the program comes first
}

}  // namespace

int main() {
  sframe_gen::sframe::SectionView view;
  dl_iterate_phdr(open_own, &view);
  const auto found = view.lookup(reinterpret_cast<std::uint64_t>(&main));
  if (found.kind != sframe_gen::sframe::Lookup::Kind::Row) return 1;
  std::printf("CFA = register %u + %d\n", *found.row.cfa.base_register, found.row.cfa.offset);
  return 0;
}
