// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which fact of a target tells of which unit.
#include "runtime/target/Units.h"

namespace tlc {

const char *describe(Unit unit) {
  switch (unit) {
  case Unit::cluster:
    return "clusters";
  case Unit::cpAsync:
    return "cp.async";
  case Unit::float4:
    return "conversions of floats of 4 bits";
  case Unit::float8:
    return "conversions of floats of 8 bits";
  case Unit::launchControl:
    return "cluster launch control";
  case Unit::mbarrier:
    return "mbarriers that count bytes";
  case Unit::mmaSync:
    return "mma.sync";
  case Unit::multimem:
    return "multimem";
  case Unit::setmaxnreg:
    return "setmaxnreg";
  case Unit::stmatrix:
    return "stmatrix";
  case Unit::tcgen05:
    return "tensor memory";
  case Unit::tma:
    return "a tensor memory accelerator";
  case Unit::wgmma:
    return "wgmma";
  }
  __builtin_unreachable();
}

bool hasUnit(const Target &target, Unit unit) {
  switch (unit) {
  case Unit::cluster:
    return target.maxClusterSize > 1;
  case Unit::cpAsync:
    return target.cpAsync;
  case Unit::float4:
    return target.float4;
  case Unit::float8:
    return target.float8;
  case Unit::launchControl:
    return target.launchControl;
  case Unit::mbarrier:
    return target.mbarrier;
  case Unit::mmaSync:
    return target.mmaSync;
  case Unit::multimem:
    return target.multimem;
  case Unit::setmaxnreg:
    return target.setmaxnreg.available;
  case Unit::stmatrix:
    return target.stmatrix;
  case Unit::tcgen05:
    return target.tcgen05;
  case Unit::tma:
    return target.tma.available;
  case Unit::wgmma:
    return target.wgmma;
  }
  __builtin_unreachable();
}

} // namespace tlc
