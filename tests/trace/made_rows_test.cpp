#include "trace/walk/made_rows.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <optional>

#include "rows/proof/assembled.hpp"
#include "sframe/format.hpp"
#include "trace/files/file_root.hpp"
#include "trace/walk/code_file.hpp"

// Without Zydis, no code is understood.
#if defined(__x86_64__) && __has_include(<Zydis/Zydis.h>)

namespace sframe_gen::trace::walk {
namespace {

/// The program of an assembly file, without call frame information.
class Program {
 public:
  std::uint64_t size() const {
    std::uint64_t size = 0;
    for (const Elf64_Phdr& segment : assembled_.image().segments())
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) size += segment.p_filesz;
    return size;
  }
  std::uint64_t address_of(const char* symbol) const { return assembled_.symbols().at(symbol); }
  const elf::Image& image() const { return assembled_.image(); }

 private:
  rows::proof::test::Assembled assembled_{"begin_of_program", "-e begin__entry_point"};
};

const sframe::Rule expected_cfa = sframe::Rule::register_plus(sframe::amd64_traits.stack_pointer, 32);

TEST(RowsFromCode, ProvesAFileWhenItsLookUpsAreWorthIt) {
  const Program program;
  const std::filesystem::path no_cache;
  CodeBudget budget;
  budget.for_each_lookup = program.size() / 3 + 1;
  const std::uint64_t before = budget.left, call = program.address_of("main_call");
  RowsFromCode rows(program.image(), no_cache, budget);
  EXPECT_FALSE(rows.proved_at(call));
  EXPECT_FALSE(rows.proved_at(call));
  EXPECT_EQ(budget.left, before);
  const auto row = rows.proved_at(call);
  EXPECT_EQ(budget.left, before - program.size());
  ASSERT_TRUE(row);
  EXPECT_EQ(row->cfa, expected_cfa);
}

TEST(RowsFromCode, ProvesAtOnceWhereNothingLimitsIt) {
  const Program program;
  const std::filesystem::path no_cache;
  CodeBudget budget;
  const auto row = RowsFromCode(program.image(), no_cache, budget).proved_at(program.address_of("main_call"));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->cfa, expected_cfa);
}

TEST(RowsFromCode, AreNotProvedWhereTheFunctionTellsWhatRunsNext) {
  const Program program;
  const TranslationOptions options;
  const FileRoot root;
  const std::uint64_t before = options.code->left, call = program.address_of("main_call");
  CodeFile file(elf::Image::of_bytes(program.image().file_bytes(), "program"), {}, options, root);
  const auto row = file.row_from_code(program.address_of("returns_maybe__proved") + 4, true);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->cfa, sframe::Rule::register_plus(sframe::amd64_traits.stack_pointer, 16));
  EXPECT_EQ(options.code->left, before);
  // Of a caller, its function's code does not tell what the callee has done.
  EXPECT_TRUE(file.row_from_code(call, false));
  EXPECT_EQ(options.code->left, before - program.size());
}

}  // namespace
}  // namespace sframe_gen::trace::walk

#endif
