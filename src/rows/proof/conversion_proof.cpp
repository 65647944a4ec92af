// The way of --synthesize and --omit-disproved, from instructions to rows. --verify --against=code comes from check_cfi
// (check_cfi.hpp), and goes the same way as far as prove_program.
//
//     prove_for_conversion    here
//       described_functions     here: what CFI says, function by function
//       Program                 program.hpp: where functions begin, and what one needs to know of another
//       prove_program           prove_program.hpp: all functions, again until nothing new is found
//         prove_function          function.hpp: one function, on every path (rules: docs/against-code.md)
//           Listing                 listing.hpp: its instructions; decoder.hpp makes them with Zydis
//           Paths, State            paths.hpp, state.hpp: what holds where paths meet
//           Borders                 borders.hpp: where another function begins
//           TableReader             jump_table.hpp: where jumps by tables lead
//           Callees                 callees.hpp: what is known of the functions that it calls
//           apply                   effect.hpp: what an instruction does to the state
//           FunctionEnds            function_ends.hpp: how its paths end, and what it changes for callers
//           conditions              conditions.hpp: the questions of the rules that one place can answer
//           WaysOut                 paths.hpp: which code after calls is the function's
//           compare_with_cfi        findings.hpp: what CFI says wrongly; state_rules.hpp: of one state
//         refuse_unproved_ends    function_ends.hpp: after all: whose ends show where the return address is
//       contradicted_pcs        here: PCs that --omit-disproved leaves out
//       synthesize              synthesis.hpp: the rows of functions without CFI
//         reach_of                function.hpp: where refused functions go, which may share code
//         visit_steps             function.hpp: each proved function again, with its state at each instruction
//         rules_of                state_rules.hpp: the row of a state
//
// with_proved_pieces (encode/row_sources.hpp) hands the rows to the encoder, as Go's functions come to it.

#include "rows/proof/conversion_proof.hpp"

#include <algorithm>
#include <utility>

#include "elf/machine.hpp"
#include "rows/proof/prove_program.hpp"
#include "rows/proof/synthesis.hpp"

namespace sframe_gen::rows::proof {

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
  prove_program(program, {});
  const RangeSet others(source.others() == nullptr ? std::vector<Range>() : source.others()->ranges());
  if (request.contradictions) proof.contradicted = contradicted_pcs(program, others);
  if (!request.rows) return proof;
  std::vector<Range> kept_out = others.ranges();
  kept_out.insert(kept_out.end(), request.kept_out.begin(), request.kept_out.end());
  synthesize(program, RangeSet(std::move(kept_out)), *proof.rules, proof.pieces, proof.synthesized, proof.lacking);
  return proof;
}

void check_supported(const elf::Image& image, std::string_view option) {
  if (elf::machine_of(image).abi != sframe::Abi::Amd64)
    throw Refused(image.name(),
                  std::string(option) + " supports only x86-64, not " + elf::machine_name(image.header().e_machine));
  // Interrupts overwrite what is below the stack pointer there, and entries keep to no ABI.
  constexpr std::uint64_t upper_half = std::uint64_t{1} << 63U;
  const auto is_kernels = [](const Range& code) { return code.begin >= upper_half; };
  if (std::ranges::any_of(image.code(), is_kernels) || image.find_section(".modinfo") != nullptr)
    throw Refused(image.name(),
                  std::string(option) + " supports programs and libraries, not kernels and their modules");
  if (image.is_object()) throw Refused(image.name(), std::string(option) + " requires a linked file (link the object)");
}

std::vector<cfi::Function> described_functions(const cfi::FrameSource& source, cfi::RuleTable& rules) {
  std::vector<cfi::Function> functions;
  functions.reserve(source.size());
  cfi::FrameReader reader(source, rules);
  for (const auto& part : source.parts(1))
    reader.for_each_function(part, [&](const cfi::Function& function) { functions.push_back(function); });
  return functions;
}

}  // namespace sframe_gen::rows::proof
