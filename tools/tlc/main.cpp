// SPDX-License-Identifier: Apache-2.0
/// \file
/// The executable `tlc`; everything is in libtlc_compiler.
#include "tools/tlc/Driver.h"

int main(int argc, char **argv) { return tlc_main(argc, argv); }
