#include "code/conversion_proof.hpp"

#include <algorithm>
#include <utility>

#include "code/described.hpp"
#include "code/program.hpp"
#include "code/synthesis.hpp"

namespace sframe_gen::code {

namespace {

RangeSet contradicted_pcs(const Program& program, const RangeSet& others) {
  std::vector<Range> contradicted;
  for (const FunctionProof& proof : program.functions()) {
    const cfi::Function* const described = program.described(proof.start);
    if (described == nullptr || proof.disagreements.empty()) continue;
    // CFI that is wrong on the way in is no better where the proof does not come.
    const bool is_whole = proof.refusal != Refusal::None && described->start == proof.start;
    if (is_whole && !others.overlaps(proof.own)) contradicted.push_back(proof.own);
    for (const Disagreement& found : proof.disagreements)
      if (!is_whole && !others.overlaps(found.pcs)) contradicted.push_back(found.pcs);
  }
  return RangeSet(std::move(contradicted));
}

}  // namespace

ConversionProof prove_for_conversion(const elf::Image& image, const cfi::FrameSource& source,
                                     const ProofRequest& request) {
  check_supported(image, request.option);
  const Decoder decoder(image.name(), request.option);
  ConversionProof proof;
  proof.rules = std::make_unique<cfi::RuleTable>();
  const std::vector<cfi::Function> functions = described_functions(source, *proof.rules);
  Program program(image, decoder, functions, *proof.rules,
                  {.proves_undescribed = request.rows,
                   .bounded_tables_only = request.bounded_tables_only,
                   .tells_doubted_apart = request.contradictions});
  program.prove({});
  const RangeSet others(source.others() == nullptr ? std::vector<Range>() : source.others()->ranges());
  if (request.contradictions) proof.contradicted = contradicted_pcs(program, others);
  if (!request.rows) return proof;
  std::vector<Range> kept_out = others.ranges();
  kept_out.insert(kept_out.end(), request.kept_out.begin(), request.kept_out.end());
  synthesize(program, RangeSet(std::move(kept_out)), *proof.rules, proof.pieces, proof.synthesized, proof.lacking);
  return proof;
}

}  // namespace sframe_gen::code
