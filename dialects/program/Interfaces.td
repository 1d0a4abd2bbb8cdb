// SPDX-License-Identifier: Apache-2.0
// What operations of both dialects say of themselves.
#ifndef TLC_DIALECTS_PROGRAM_INTERFACES_TD
#define TLC_DIALECTS_PROGRAM_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Program_UnitOpInterface : OpInterface<"UnitOpInterface"> {
  let cppNamespace = "::tlc::program";
  let description = "Needs a unit that not every target has.";
  let methods = [InterfaceMethod<"The unit; nothing where the operation's attributes choose none.",
    "::std::optional<::tlc::Unit>", "getNeededUnit">];
}

/// Always needs the unit of that name in `tlc::Unit`.
class Program_Needs<string unit> : ParamNativeOpTrait<"NeedsUnit", "::tlc::Unit::" # unit> {
  let cppNamespace = "::tlc::program";
}

#endif
