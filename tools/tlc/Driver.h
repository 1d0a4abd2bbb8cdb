// SPDX-License-Identifier: Apache-2.0
/// \file
/// The whole of `tlc`, exported from libtlc_compiler so that the executable and the C
/// interface share one copy of the compiler. The latter has it by this name, too.
#pragma once

extern "C" __attribute__((visibility("default"))) int tlc_main(int argc, char **argv);
