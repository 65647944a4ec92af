// What a model of Linux's reader makes of our sections: it has a row, or none, for each PC of all code, reads each as
// it is meant, and never drops one. SFRAME_GEN_KERNEL_FILES names the files, with ':' between them; else they are this
// program's libraries.

#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "readers/kernel_model.hpp"
#include "sframe_gen/convert.hpp"
#include "sframe_gen/error.hpp"
#include "support/mapped_file.hpp"

namespace sframe_gen {
namespace {

std::vector<std::string> files() {
  std::vector<std::string> named;
  if (const char* const list = std::getenv("SFRAME_GEN_KERNEL_FILES"); list != nullptr) {
    const std::string text = list;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find(':', at), text.size());
      named.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return named;
  }
  const auto add = [](dl_phdr_info* info, std::size_t, void* data) {
    const std::string name = info->dlpi_name;
    if (name.starts_with('/')) static_cast<std::vector<std::string>*>(data)->push_back(name);
    return 0;
  };
  ::dl_iterate_phdr(add, &named);
  return named;
}

class KernelReader : public testing::TestWithParam<std::uint32_t> {};

TEST_P(KernelReader, DropsNoSection) {
  std::uint64_t rows = 0;
  for (const std::string& file : files()) {
    SCOPED_TRACE(file);
    const MappedFile mapped(file);
    constexpr std::uint64_t address = 0x40000000;
    ConvertOptions options;
    options.format.compact_rows = GetParam();
    TranslateOutcome made;
    try {
      made = translate(mapped.bytes(), file, address, options);
    } catch (const Refused&) {
      continue;  // without call frame information
    }
    const auto outcome = readers::test::kernel_outcome(elf::Image::open(file), made.bytes, made.address);
    EXPECT_TRUE(outcome.is_used);
    EXPECT_TRUE(outcome.is_valid);
    EXPECT_EQ(outcome.dropped, 0U);
    EXPECT_EQ(outcome.misread, 0U);
    rows += outcome.rows;
  }
  EXPECT_GT(rows, 500000U);
}

INSTANTIATE_TEST_SUITE_P(Rows, KernelReader, testing::Values(0U, 16U));

}  // namespace
}  // namespace sframe_gen
