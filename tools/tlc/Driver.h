// SPDX-License-Identifier: Apache-2.0
/// \file
/// The whole of `tlc`, exported from libtlc so that the executable and the C
/// interface share one copy of the compiler.
#pragma once

extern "C" __attribute__((visibility("default"))) int tlc_main(int argc, char **argv);
