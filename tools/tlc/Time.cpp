// SPDX-License-Identifier: Apache-2.0
/// \file
/// Times as a table on standard error.
#include "tools/tlc/Time.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

void tlc::driver::printTimes(ArrayRef<PhaseTime> times, std::optional<double> foundAfter) {
  auto printRow = [](StringRef name, double milliseconds, double cpuMilliseconds) {
    errs() << formatv("{0,-12} {1,9:f2} {2,9:f2}\n", name, milliseconds, cpuMilliseconds);
  };
  errs() << formatv("{0,-12} {1,9} {2,9}\n", "phase", "ms", "CPU ms");
  double sum = 0, cpuSum = 0;
  for (const PhaseTime &time : times) {
    printRow(StringRef(toString(time.phase)), time.milliseconds, time.cpuMilliseconds);
    sum += time.milliseconds;
    cpuSum += time.cpuMilliseconds;
  }
  if (foundAfter)
    errs() << formatv("{0,-12} {1,9:f2}\n", "cache", *foundAfter);
  else
    printRow("all phases", sum, cpuSum);
  sys::TimePoint<> now;
  std::chrono::nanoseconds user, system;
  sys::Process::GetTimeUsage(now, user, system);
  errs() << formatv("{0,-12} {1,9} {2,9:f2}\n", "process", "", (user + system).count() * 1e-6);
}
