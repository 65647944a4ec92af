/// hidden-cfi FILE...: proves files as if they had no CFI, and compares their CFI with the proof afterwards.
///
/// CFI and code then agree by chance nowhere: starts of functions, their ends and those of tables are found without
/// CFI. What only this proof contradicts is likely the proof's fault; what the proof with CFI contradicts as well,
/// CFI's. Code where --synthesize would make no row, since functions that share it differ, is not compared.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "cfi/frame_source.hpp"
#include "rows/proof/file_proof.hpp"
#include "rows/proof/function.hpp"
#include "rows/proof/prove_program.hpp"
#include "rows/proof/state_rules.hpp"
#include "rows/proof/synthesis.hpp"
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
    find_known();
    rows::proof::Program hidden(image_, decoder_, {}, rules_, {.proves_undescribed = true});
    prove_program(hidden, {});
    find_rows(hidden);
    const rows::proof::Program described(image_, decoder_, functions_, rules_);
    std::map<std::string, std::size_t> refused;
    // Others are added while steps are shown.
    const std::vector<rows::proof::FunctionProof> proofs = hidden.functions();
    for (const rows::proof::FunctionProof& proof : proofs) {
      const rows::proof::Refusal refusal =
          proof.refusal == rows::proof::Refusal::None ? compare(hidden, described, proof) : proof.refusal;
      ++(refusal == rows::proof::Refusal::None ? proved_ : refused[rows::proof::name_of(refusal)]);
    }
    std::uint64_t described_bytes = 0;
    for (const cfi::Function& function : functions_) described_bytes += function.size;
    std::printf(
        "%s: %zu functions proved, %.1f %% of %llu bytes compared; %zu functions contradicted, %zu of them here "
        "alone\n",
        image_.name().c_str(), proved_,
        100.0 * static_cast<double>(RangeSet(compared_).size()) / static_cast<double>(described_bytes),
        static_cast<unsigned long long>(described_bytes), contradicted_, new_);
    for (const auto& [reason, count] : refused) std::printf("  refused: %s %zu\n", reason.c_str(), count);
  }

 private:
  void find_known() {
    rows::proof::Program program(image_, decoder_, functions_, rules_);
    prove_program(program, {});
    std::vector<Range> known;
    for (const rows::proof::FunctionProof& proof : program.functions())
      if (proof.refusal == rows::proof::Refusal::None)
        for (const rows::proof::Disagreement& found : proof.disagreements) known.push_back(found.pcs);
    known_ = RangeSet(std::move(known));
  }

  void find_rows(rows::proof::Program& hidden) {
    std::vector<cfi::Function> pieces;
    SynthesisCoverage coverage;
    std::vector<rows::proof::Lack> lacking;
    rows::proof::synthesize(hidden, {}, rules_, pieces, coverage, lacking);
    std::vector<Range> with_row;
    for (const cfi::Function& piece : pieces) with_row.push_back({piece.start, piece.end()});
    with_row_ = RangeSet(std::move(with_row));
  }

  /// Returns why the function is refused after all: more is known of its callees than when it was proved.
  rows::proof::Refusal compare(rows::proof::Program& hidden, const rows::proof::Program& described,
                               const rows::proof::FunctionProof& proof) {
    bool is_contradicted = false;
    std::string first_new;
    std::vector<Range> pcs;
    std::uint64_t before = 0;
    const auto judge = [&](const rows::proof::Step& step, const rows::proof::State& state) {
      const std::uint64_t last = std::exchange(before, step.pc);
      const cfi::Function* const function = described.described(step.pc);
      if (function == nullptr || function->signal_frame || function->repeat_size != 0) return;
      if (!with_row_.overlaps({step.pc, step.pc + 1})) return;
      pcs.push_back({step.pc, step.pc + step.instruction.size});
      const cfi::RuleId rule = rows::proof::rule_at(*function, step.pc);
      auto found = rows::proof::disagreement(rules_[rule], state);
      if (!found) return;
      if (found->column == rows::proof::Disagreement::Column::FramePointer && !proof.effect.keeps_frame_pointer) return;
      is_contradicted = true;
      if (known_.overlaps({step.pc, step.pc + 1})) return;
      if (first_new.empty())
        first_new = hex(step.pc) + " (" + names_.name_at(step.pc) + ") from " + hex(proof.start) + " (" +
                    names_.name_at(proof.start) + "): CFI says " + rows::proof::words_of(rules_[rule], *found) +
                    ", but " + rows::proof::words_of(*found) + ", after " + hex(last);
    };
    const rows::proof::Refusal refusal = rows::proof::visit_steps(hidden, proof, judge).refusal;
    if (refusal != rows::proof::Refusal::None) return refusal;
    compared_.insert(compared_.end(), pcs.begin(), pcs.end());
    contradicted_ += is_contradicted ? 1 : 0;
    if (!first_new.empty()) {
      ++new_;
      std::printf("  %s\n", first_new.c_str());
    }
    return refusal;
  }

  elf::Image image_;
  rows::proof::Decoder decoder_;
  elf::SymbolNames names_;
  cfi::RuleTable rules_;
  std::vector<cfi::Function> functions_;
  RangeSet known_;     ///< what the proof with CFI contradicts
  RangeSet with_row_;  ///< of --synthesize
  std::vector<Range> compared_;
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
