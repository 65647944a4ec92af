#include "rows/proof/function_proof.hpp"

namespace sframe_gen::rows::proof {

const char* name_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::None:
      return "proved";
    case Refusal::Undecodable:
      return "undecodable";
    case Refusal::OutsideCode:
      return "outside-code";
    case Refusal::OverlappingInstructions:
      return "overlapping-instructions";
    case Refusal::ConflictingPaths:
      return "conflicting-paths";
    case Refusal::StackPointerLost:
      return "stack-pointer-lost";
    case Refusal::OtherStack:
      return "other-stack";
    case Refusal::OtherConvention:
      return "other-convention";
    case Refusal::ReturnNotAtEntry:
      return "return-not-at-entry";
    case Refusal::FramePointerLost:
      return "frame-pointer-lost";
    case Refusal::ReturnAddressLost:
      return "return-address-lost";
    case Refusal::CalleePops:
      return "callee-pops";
    case Refusal::CalleeUnbalanced:
      return "callee-unbalanced";
    case Refusal::NoReturn:
      return "no-return";
    case Refusal::IndirectJump:
      return "indirect-jump";
    case Refusal::JumpTable:
      return "jump-table";
    case Refusal::FlowsIntoFunction:
      return "flows-into-function";
    case Refusal::TailNotProved:
      return "tail-not-proved";
    case Refusal::EntryPoint:
      return "entry-point";
    case Refusal::NotEntered:
      return "not-entered";
    case Refusal::TooMuchCode:
      return "too-much-code";
    case Refusal::Count:
      break;
  }
  return "";
}

}  // namespace sframe_gen::rows::proof
