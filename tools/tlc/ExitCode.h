// SPDX-License-Identifier: Apache-2.0
/// \file
/// How `tlc` ends.
#pragma once

namespace tlc::driver {

enum class ExitCode : int {
  success = 0,
  failure = 1, ///< a wrong result, a program that does not compile, a device that cannot run it
  usage = 2,   ///< the command line asks for something that does not exist
};

} // namespace tlc::driver
