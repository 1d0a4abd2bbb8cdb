// SPDX-License-Identifier: Apache-2.0
/// \file
/// The same functions from C++, by many threads at once.
#include "first.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

int main() {
  constexpr int m = 9, n = 16;
  std::array<float, m * n> x = {};
  std::array<float, n> bias = {};
  for (int i = 0; i < m * n; ++i)
    x[size_t(i)] = float(i - 70);
  std::array<bool, 8> right = {};
  std::vector<std::thread> threads;
  for (bool &isRight : right)
    threads.emplace_back([&] {
      std::array<float, m * n> y = {};
      first_softcap_arguments arguments = {};
      arguments.X = {x.data(), {m, n}, {}};
      arguments.bias = {bias.data(), {n}, {}};
      arguments.Y = {y.data(), {m, n}, {}};
      isRight = first_softcap_emulate(arguments) == first_OK;
      for (size_t i = 0; i != y.size(); ++i)
        isRight &= std::abs(y[i] - 30 * std::tanh(x[i] / 30)) < 0.02f;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (bool isRight : right)
    if (!isRight) {
      std::printf("expected softcap to be right, but it is not: %s\n", first_last_error());
      return 1;
    }
}
