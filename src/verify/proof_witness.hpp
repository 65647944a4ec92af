#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sframe/pc_rows.hpp"
#include "verify/testimony.hpp"

namespace sframe_gen::verify {

/// The rows that a proof of a file's instructions gives, of all its code.
struct ProvedRows {
  std::vector<sframe::PcRow> rows;  ///< ascending and disjoint
  std::string why_none;             ///< why nothing can be proved here; else empty
};
using ProveRows = std::function<ProvedRows()>;

/// Judges rows of code that nothing describes. Such rows are rare, and a proof takes long: it is made for the first of
/// them. Any thread may ask.
class ProofWitness {
 public:
  /// `prove` may be null: then nothing is proved.
  explicit ProofWitness(ProveRows prove) : prove_(std::move(prove)) {}

  /// Returns up to where the row is judged; no value if no proved function has the first PC. `others_may_know`: a
  /// source that is gone may have made the row, so that it is judged only if it is right.
  std::optional<std::uint64_t> judge(const JudgedRow& row, const Range& pcs, Testimony& testimony,
                                     bool others_may_know);
  /// Why it knows nothing of any PC; empty if that is not so.
  std::string why_none();

 private:
  const ProvedRows& proved();

  ProveRows prove_;
  std::once_flag once_;
  ProvedRows proved_;
};

}  // namespace sframe_gen::verify
