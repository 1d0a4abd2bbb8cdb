// SPDX-License-Identifier: Apache-2.0
/// \file
/// Combinations of values.
#include "tools/tlc/tune/Candidates.h"

#include "kernels/tuning/Tuning.h"
#include "tools/tlc/Rounds.h"

#include <fmt/format.h>

using namespace tlc;
using namespace tlc::driver;

double Candidate::time() const { return median(times); }

std::string Candidate::text() const {
  if (values.empty())
    return "the kernel's own choice";
  std::string text;
  for (const auto &[name, value] : values)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

Result<std::vector<Candidate>> driver::candidatesOf(const kernels::Request &request) {
  constexpr size_t most = 10'000;
  const kernels::Kernel &kernel = *request.kernel;
  std::vector<kernels::Definitions> all(1);
  kernels::Definitions own; // where the kernel has no heuristic
  std::string names;
  for (const kernels::Parameter &parameter : kernel.parameters()) {
    if (!parameter.isOpen())
      continue;
    names += (names.empty() ? "" : ", ") + parameter.name;
    if (isGiven(request, parameter))
      continue;
    if (all.size() * parameter.candidates.size() > most)
      return Error{
          ErrorKind::invalidArgument,
          fmt::format("expected at most {} combinations of values of kernel '{}', but got more; fix some "
                      "of {} with -D",
                      most, kernel.name(), names)};
    own[parameter.name] = parameter.fallback;
    std::vector<kernels::Definitions> longer;
    for (const kernels::Definitions &values : all)
      for (const std::string &candidate : parameter.candidates) {
        longer.push_back(values);
        longer.back()[parameter.name] = candidate;
      }
    all = std::move(longer);
  }
  if (own.empty())
    return Error{
        ErrorKind::invalidArgument,
        names.empty()
            ? fmt::format(
                  "expected a kernel with an open parameter because a tuner has nothing to try else, but "
                  "'{}' has none; .open(\"tile\", {{16, 32, 64}}) declares one",
                  kernel.name())
            : fmt::format(
                  "expected an open parameter without a value because a tuner has nothing to try else, "
                  "but -D gives one to all of kernel '{}' ({})",
                  kernel.name(), names)};
  std::vector<Candidate> candidates(1);
  for (kernels::Definitions &values : all)
    if (values != own)
      candidates.push_back({std::move(values)});
  return candidates;
}
