// SPDX-License-Identifier: Apache-2.0
/// \file
/// Times as a table on standard error.
#include "tools/tlc/Time.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

void tlc::driver::printTimes(ArrayRef<PhaseTime> times) {
  double sum = 0;
  errs() << formatv("{0,-12} {1,9}\n", "phase", "ms");
  for (const PhaseTime &time : times) {
    errs() << formatv("{0,-12} {1,9:f2}\n", toString(time.phase), time.milliseconds);
    sum += time.milliseconds;
  }
  sys::TimePoint<> now;
  std::chrono::nanoseconds user, system;
  sys::Process::GetTimeUsage(now, user, system);
  errs() << formatv("{0,-12} {1,9:f2}\n", "all", sum);
  errs() << formatv("{0,-12} {1,9:f2}\n", "process, CPU", (user + system).count() * 1e-6);
}
