// SPDX-License-Identifier: Apache-2.0
/// \file
/// One mistake of registration for each value of the environment's TLC_MISTAKE.
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <tlc/kernel.h>

using namespace tlc;
using namespace tlc::dsl;

void registerKernels(KernelFile &file) {
  auto nothing = [](Scope &) {};
  switch (std::atoi(std::getenv("TLC_MISTAKE"))) {
  case 0:
    file.kernel("same", "").program(nothing);
    file.kernel("same", "").program(nothing);
    break;
  case 1:
    file.kernel("half", "");
    break;
  case 2:
    file.kernel("limits", "").constant("tile", 200, {.least = 8, .most = 64}).program(nothing);
    break;
  case 3:
    file.kernel("parameters", "").size("n", 1).constant("n", 1).program(nothing);
    break;
  case 4:
    std::raise(SIGSEGV);
    break;
  case 5:
    throw std::runtime_error("not today");
  case 6:
    file.kernel("", "").program(nothing);
    break;
  case 7:
    file.kernel("extents", "").size("n", 1, {.most = int64_t(1) << 40}).program(nothing);
    break;
  case 8:
    file.kernel("ranges", "").random("X", 5, 1).program(nothing);
    break;
  case 9:
    file.kernel("tolerances", "").tolerance("Y", {.limit = std::nan("")}).program(nothing);
    break;
  case 10:
    file.kernel("suites", "").size("rows", 1).program(nothing).bench({{"row", "5"}});
    break;
  case 11:
    file.kernel("suites", "").size("rows", 1, {.most = 8}).program(nothing).bench({{"rows", "9"}});
    break;
  case 12:
    file.kernel("scalars", "").scalar("seed", u32).program(nothing);
    break;
  case 13:
    file.kernel("scalars", "").scalar("seed", i32, 3'000'000'000).program(nothing);
    break;
  case 14:
    file.kernel("scalars", "").size("n", 1).scalar("n", i32).program(nothing);
    break;
  case 15:
    file.kernel("open", "").open("tile", {16, 32, 16}).program(nothing);
    break;
  case 16:
    file.kernel("open", "").open("tile", std::initializer_list<int64_t>()).program(nothing);
    break;
  case 17:
    file.kernel("open", "").open("mode", {"auto", "small"}).program(nothing);
    break;
  }
}
