// judge-files: reads rows of files, and compares them at every byte. tools/judge/judge-rows runs it.
//
//     judge-files cfi FILE OUT               writes the rows of FILE's .eh_frame
//     judge-files sframe FILE OUT            those of its .sframe
//     judge-files compare CFI ROWS MOST      compares two results of these, and prints at most so many wrong ranges
//     judge-files print ROWS                 prints them
//
// Prints lines of fields, separated by tabs. Exit status 1 if something is wrong or has no rows, 2 if a file cannot be
// read.

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "compare.hpp"

namespace {

using namespace judge;

std::string text_of(const Rule& rule) {
  constexpr std::array<const char*, 16> names{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                              "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
  if (rule.kind == RULE_LOST) return "undefined";
  if (rule.kind == RULE_SAME) return "unchanged";
  if (rule.kind == RULE_OTHER) return "expression";
  const auto base = static_cast<std::size_t>(rule.base);
  const std::string sum = std::string(rule.base == BASE_CFA ? "CFA"
                                      : base < names.size() ? names[base]
                                                            : "?") +
                          (rule.offset < 0 ? "" : "+") + std::to_string(rule.offset);
  return rule.kind == RULE_AT ? "*(" + sum + ")" : sum;
}

std::string text_of(const Row* row) {
  if (row == nullptr) return "none";
  if (row->is_outermost != 0) return "outermost";
  return "CFA " + text_of(row->cfa) + ", RA " + text_of(row->return_address) + ", FP " + text_of(row->frame_pointer);
}

int print_comparison(const std::string& cfi_path, const std::string& rows_path, std::uint64_t most) {
  const FileRows cfi = FileRows::read(cfi_path), rows = FileRows::read(rows_path);
  std::array<std::uint64_t, differences> bytes{};
  std::array<std::uint64_t, differences> ranges{};
  compare(cfi.rows, rows.rows,
          [&](std::uint64_t begin, std::uint64_t end, Difference difference, const Row* said, const Row* row) {
            bytes[static_cast<std::size_t>(difference)] += end - begin;
            const std::uint64_t range = ++ranges[static_cast<std::size_t>(difference)];
            if (is_wrong(difference) && range <= most)
              std::printf("wrong\t%s\t%#lx\t%#lx\t%s\t%s\n", name_of(difference), begin, end, text_of(said).c_str(),
                          text_of(row).c_str());
          });
  bool is_good = true;
  for (std::size_t i = 0; i < differences; ++i) {
    const auto difference = static_cast<Difference>(i);
    std::printf("bytes\t%s\t%lu\t%lu\n", name_of(difference), bytes[i], ranges[i]);
    is_good = is_good && (bytes[i] == 0 || !is_wrong(difference));
  }
  std::printf("rows\t%zu\t%lu\t%zu\t%lu\n", cfi.rows.size(), cfi.bytes(), rows.rows.size(), rows.bytes());
  return is_good ? 0 : 1;
}

int print_rows(const std::string& path) {
  for (const Row& row : FileRows::read(path).rows)
    std::printf("%#llx\t%#llx\t%s\n", row.begin, row.end, text_of(&row).c_str());
  return 0;
}

int run(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "cfi" && arguments.size() == 3) {
    std::size_t count = 0;
    const FileRows rows = rows_of_cfi(ElfFile(arguments[1]), count);
    rows.write(arguments[2]);
    std::printf("cfi\t%zu\t%zu\t%lu\n", count, rows.rows.size(), rows.bytes());
    return rows.rows.empty() ? 1 : 0;
  }
  if (command == "sframe" && arguments.size() == 3) {
    const FileRows rows = rows_of_sframe(ElfFile(arguments[1]));
    rows.write(arguments[2]);
    std::printf("sframe\t%zu\t%lu\n", rows.rows.size(), rows.bytes());
    return 0;
  }
  if (command == "compare" && arguments.size() == 4)
    return print_comparison(arguments[1], arguments[2], std::strtoull(arguments[3].c_str(), nullptr, 10));
  if (command == "print" && arguments.size() == 2) return print_rows(arguments[1]);
  std::fprintf(stderr,
               "usage: judge-files cfi|sframe FILE OUT; judge-files compare CFI ROWS MOST; judge-files print ROWS\n");
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> given(arguments + 1, arguments + count);
  try {
    return run(given);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "judge-files: %s: %s\n", given.size() > 1 ? given[1].c_str() : "", failure.what());
    return 2;
  }
}
