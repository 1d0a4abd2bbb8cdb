// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which forms of PTX instructions ran in test cases that passed: the executable adds them to the file that
/// the environment variable TLC_FORMS names, as tlc-differential --forms does.
#pragma once

#include "runtime/device/Device.h"

#include <string>

namespace tlc::test {

/// The device has executed this PTX in the running test case.
void noteForms(const Device &device, const std::string &ptx);

} // namespace tlc::test
