/// hidden-cfi FILE...: proves files as if they had no CFI, and compares their CFI with the proof afterwards.
///
/// CFI and code then agree by chance nowhere: starts of functions, their ends and those of tables are found without
/// CFI. What only this proof contradicts is likely the proof's fault; what the proof with CFI contradicts as well,
/// CFI's.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "cfi/frame_source.hpp"
#include "code/compare.hpp"
#include "code/function.hpp"
#include "code/program.hpp"
#include "code/words.hpp"
#include "support/text.hpp"

namespace {

using namespace sframe_gen;

class Comparison {
 public:
  explicit Comparison(const std::string& file) : image_(elf::Image::open(file)), decoder_(file), names_(image_) {
    const cfi::FrameSource source(image_, image_);
    cfi::FrameReader reader(source, rules_);
    for (const auto& part : source.parts(1))
      reader.for_each_function(part, [this](const cfi::Function& function) { functions_.push_back(function); });
  }

  void run() {
    code::Program with_cfi(image_, decoder_, functions_, rules_);
    with_cfi.prove({});
    for (const code::FunctionProof& proof : with_cfi.functions())
      if (proof.refusal == code::Refusal::None)
        for (const code::Disagreement& found : proof.disagreements) known_.push_back(found.pcs);
    const RangeSet known(std::exchange(known_, {}));

    code::Program hidden(image_, decoder_, {}, rules_, {.proves_undescribed = true});
    hidden.prove({});
    const code::Program described(image_, decoder_, functions_, rules_);
    std::map<std::string, std::uint64_t> refused;
    std::vector<Range> compared;
    // Others are added while steps are shown.
    const std::vector<code::FunctionProof> proofs = hidden.functions();
    for (const code::FunctionProof& proof : proofs) {
      if (proof.refusal != code::Refusal::None) {
        ++refused[code::name_of(proof.refusal)];
        continue;
      }
      ++proved_;
      compare(hidden, described, proof, known, compared);
    }
    std::uint64_t described_bytes = 0;
    for (const cfi::Function& function : functions_) described_bytes += function.size;
    std::printf(
        "%s: %zu functions proved, %.1f %% of %llu bytes compared; %zu functions contradicted, %zu of them here "
        "alone\n",
        image_.name().c_str(), proved_,
        100.0 * static_cast<double>(RangeSet(compared).size()) / static_cast<double>(described_bytes),
        static_cast<unsigned long long>(described_bytes), contradicted_, new_);
    for (const auto& [reason, count] : refused)
      std::printf("  refused: %s %llu\n", reason.c_str(), static_cast<unsigned long long>(count));
  }

 private:
  void compare(code::Program& hidden, const code::Program& described, const code::FunctionProof& proof,
               const RangeSet& known, std::vector<Range>& compared) {
    bool is_contradicted = false, is_new = false;
    std::uint64_t before = 0;
    const auto judge = [&](const code::Step& step, const code::State& state) {
      const std::uint64_t last = std::exchange(before, step.pc);
      const cfi::Function* const function = described.described(step.pc);
      if (function == nullptr || function->signal_frame || function->repeat_size != 0) return;
      compared.push_back({step.pc, step.pc + step.instruction.size});
      const cfi::RuleId rule = code::rule_at(*function, step.pc);
      auto found = code::disagreement(rules_[rule], state);
      if (!found) return;
      if (found->column == code::Disagreement::Column::FramePointer && !proof.effect.keeps_frame_pointer) return;
      is_contradicted = true;
      if (known.overlaps({step.pc, step.pc + 1})) return;
      if (!std::exchange(is_new, true))
        std::printf("  %s (%s) from %s (%s): CFI says %s, but %s, after %s\n", hex(step.pc).c_str(),
                    names_.name_at(step.pc).c_str(), hex(proof.start).c_str(), names_.name_at(proof.start).c_str(),
                    code::words_of(rules_[rule], *found).c_str(), code::words_of(*found).c_str(), hex(last).c_str());
    };
    code::visit_steps(hidden, proof, judge);
    contradicted_ += is_contradicted ? 1 : 0;
    new_ += is_new ? 1 : 0;
  }

  elf::Image image_;
  code::Decoder decoder_;
  elf::SymbolNames names_;
  cfi::RuleTable rules_;
  std::vector<cfi::Function> functions_;
  std::vector<Range> known_;
  std::size_t proved_ = 0, contradicted_ = 0, new_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    try {
      Comparison(arguments[i]).run();
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "%s\n", failure.what());
      return 1;
    }
  }
  return 0;
}
