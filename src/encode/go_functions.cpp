#include "encode/go_functions.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "elf/go_table.hpp"
#include "rows/go/functions.hpp"
#include "support/range.hpp"

namespace sframe_gen::encode {

namespace {

cfi::UnknownReason reason_of(rows::go::Gap gap) {
  switch (gap) {
    case rows::go::Gap::SwitchesStacks:
      return cfi::UnknownReason::GoSwitchesStacks;
    case rows::go::Gap::NotCalled:
      return cfi::UnknownReason::GoNotCalled;
    case rows::go::Gap::Registers:
      return cfi::UnknownReason::GoRegisters;
    case rows::go::Gap::Instructions:
      break;
  }
  return cfi::UnknownReason::GoInstructions;
}

class GoFunctions final : public cfi::OtherFunctions {
 public:
  GoFunctions(const elf::Image& image, elf::GoTable table) : functions_(image, std::move(table)) {
    ranges_.reserve(functions_.size());
    for (const elf::GoTable::Entry& entry : functions_.table().entries())
      ranges_.push_back({entry.start, functions_.table().end_of_code(entry)});
  }

  const std::vector<Range>& ranges() const override { return ranges_; }
  RowSource source_of(std::size_t) const override { return RowSource::GoTable; }

  void read(std::size_t index, cfi::Function& function, cfi::RuleTable& rules) const override {
    const rows::go::GoFunction read = functions_.function(index);
    function = {read.start, read.size, read.signal_frame, {}};
    if (read.gap) function.rows.push_back({0, rules.intern(cfi::unknown_rules(reason_of(*read.gap)))});
    for (const rows::go::GoRow& row : read.rows) function.rows.push_back({row.pc_offset, rules.intern(row.rules)});
  }

 private:
  rows::go::Functions functions_;
  std::vector<Range> ranges_;
};

}  // namespace

std::shared_ptr<const cfi::OtherFunctions> go_functions_of(const elf::Image& image) {
  auto table = elf::GoTable::find(image);
  if (!table) return nullptr;
  return std::make_shared<GoFunctions>(image, std::move(*table));
}

}  // namespace sframe_gen::encode
