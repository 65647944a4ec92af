#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cfi/frame_source.hpp"
#include "cfi/rules.hpp"
#include "elf/image.hpp"
#include "rows/proof/program.hpp"
#include "rows/proof/synthesis.hpp"
#include "sframe_gen/contradictions.hpp"
#include "sframe_gen/counts.hpp"
#include "sframe_gen/reasons.hpp"
#include "support/range.hpp"

/// What is asked of all instructions of a file: rows and contradictions for a conversion, or a comparison with CFI.
namespace sframe_gen::rows::proof {

/// What a conversion asks of the instructions.
struct ProofRequest {
  std::string_view option;      ///< that asks: "--synthesize"
  bool contradictions = false;  ///< where they contradict call frame information (CFI)
  bool rows = false;            ///< rows for code without CFI
  bool bounded_tables_only = false;
  RangeSet kept_out;  ///< PCs that get no such rows: stubs
};

struct ConversionProof {
  /// PCs of whole instructions, of functions that are proved.
  RangeSet contradicted;
  /// Functions without CFI, or pieces of them, with a row at every PC: ascending and disjoint.
  std::vector<cfi::Function> pieces;
  std::unique_ptr<cfi::RuleTable> rules;  ///< of the pieces
  SynthesisCoverage synthesized;
  std::vector<Lack> lacking;  ///< of the code that is followed for rows
};

/// Proves the functions of a linked file. Code of source.others() is left out, as Go keeps rules of its own. Throws
/// Refused, which names the option, for another machine than x86-64, for an object, and if Zydis is not there. Memory:
/// all functions' rows at once, 1 byte of marks for each of code, and the proofs.
ConversionProof prove_for_conversion(const elf::Image& image, const cfi::FrameSource& source,
                                     const ProofRequest& request);

/// Throws Refused, which names the option that asks, unless the file is linked and for x86-64.
void check_supported(const elf::Image& image, std::string_view option);

/// The functions of a file as a conversion reads them, all at once: a proof follows calls from one to any other.
std::vector<cfi::Function> described_functions(const cfi::FrameSource& source, cfi::RuleTable& rules);

/// What CFI says: "CFA rsp+8", "FP at CFA-16".
std::string words_of(const cfi::Rules& rules, const Disagreement& found);

/// What the code does: "CFA is rsp+24", "no FP at CFA-16".
std::string words_of(const Disagreement& found);

/// Proves the functions of a linked file, and compares their CFI with each proved state.
CodeCheck check_cfi(const elf::Image& image, const std::function<void(std::uint64_t, std::uint64_t)>& progress,
                    const ProofOptions& options = {});

}  // namespace sframe_gen::rows::proof
