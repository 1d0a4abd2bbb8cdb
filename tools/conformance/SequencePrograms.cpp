// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which stages a program of random instructions has.
#include "tools/conformance/SequenceWriter.h"

namespace tlc::conformance {
namespace {

constexpr unsigned programsPerPart = 640;

const Stage &anyStage(Random &random) {
  static const std::vector<Stage> all = [] {
    std::vector<Stage> stages;
    for (std::span<const Stage> part : {arithmeticStages(), divergentStages(), memoryStages(), copyStages()})
      for (const Stage &stage : part)
        stages.insert(stages.end(), stage.weight, stage);
    return stages;
  }();
  return random.pick(all);
}

} // namespace

std::vector<Program> sequencePrograms(unsigned part) {
  std::vector<Program> programs;
  for (unsigned i = 0; i < programsPerPart; ++i) {
    std::string name = fmt::format("sequence{}.{}", part, i);
    Random random(1, name);
    SequenceWriter writer(random);
    const unsigned stages = unsigned(random.between(4, 9));
    for (unsigned stage = 0; stage < stages; ++stage) {
      const Stage &chosen = anyStage(random);
      writer.beginStage();
      chosen.write(writer);
      writer.endStage(chosen.name);
    }
    programs.push_back(writer.finish(std::move(name)));
  }
  return programs;
}

} // namespace tlc::conformance
