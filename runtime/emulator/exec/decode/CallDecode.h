// SPDX-License-Identifier: Apache-2.0
/// \file
/// From calls to plans: which parameters go where.
#pragma once

namespace tlc::emulator {

class Decoder;

/// What follows `call`, and `ret` of a function that is no entry.
void decodeCall(Decoder &decoder);
void decodeReturn(Decoder &decoder);

} // namespace tlc::emulator
