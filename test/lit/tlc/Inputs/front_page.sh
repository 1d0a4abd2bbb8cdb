# SPDX-License-Identifier: Apache-2.0
# The commands of the page README.md.
# [shell]
tlc new my.cpp                                       # writes a kernel to begin with
tlc run my.cpp --device emulator --verify            # runs, checks and compares it with its reference
tlc run attention_fwd -D sq=200 -D sk=300 -D causal=right --device emulator --verify
tlc compile my.cpp --remarks -o my.ptx               # and says why an instruction was not used
tlc trace my.cpp -o my.svg                           # draws where the time of a block goes
# [shell]
