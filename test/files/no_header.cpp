// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program for other purposes.
int main() { return 0; }
