// SPDX-License-Identifier: Apache-2.0
/// \file
/// The reader of lines of tuning.
#include "kernels/tuning/TuningLine.h"
#include "test/fuzz/ReaderParts.h"

using namespace tlc;
using namespace tlc::fuzz;
using kernels::TuningLine;

std::vector<std::string> fuzz::tuningSeeds(const Folder &) {
  TuningLine line = {.device = "NVIDIA H200",
                     .build = "00ff",
                     .kernel = "softcap",
                     .sizes = {{"m", {2896, 4096, 5792}}, {"n", {0, 0, 0}}},
                     .parameters = {{"dtype", "bf16"}, {"batch", "auto"}},
                     .values = {{"tile", "16"}, {"order", "rows"}},
                     .microseconds = 12.5};
  TuningLine skipped = line;
  skipped.microseconds = 0;
  skipped.skipped = "wrong result:\n\"Y\" \\ \xc3\xa9";
  return {toJson(line) + "\n" + toJson(skipped) + "\n", toJson(line), "\n{\"tlc_tuning\":1}\n"};
}

bool fuzz::readTuning(std::string_view bytes, const Folder &) {
  const Result<kernels::TuningLines> lines = kernels::parseTuningLines(bytes, "t.jsonl");
  if (!lines) {
    require(lines.error().message.starts_with("t.jsonl:"), "a malformed line with its place");
    return false;
  }
  for (const TuningLine &line : lines->lines) {
    const auto again = kernels::parseTuningLine(toJson(line), "again");
    require(again && *again && **again == line, "what was read to be written");
  }
  return true;
}
