// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/ProgramName.h"

#include "runtime/support/Excerpt.h"
#include "runtime/support/WaitLimit.h"

#include <fmt/format.h>

using namespace tlc;

Key ProgramName::key(std::string_view build) const {
  KeyBuilder builder;
  builder.add("name").add(build).add(kernel).add(target).add(int64_t(waitLimit.count()));
  for (const auto &[name, value] : parameters)
    builder.add(name).add(value);
  return builder.finish();
}

std::string ProgramName::text() const {
  std::string line(kernel);
  for (const auto &[name, value] : parameters)
    line += formatMessage(" {}={}", name, value);
  line += fmt::format(" --target={}{}", target, flagOfWaitLimit(waitLimit));
  return excerpt(line);
}
