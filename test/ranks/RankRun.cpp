// SPDX-License-Identifier: Apache-2.0
/// \file
/// Devices, memory, comparisons.
#include "test/ranks/RankRun.h"

#include "compiler/dsl/Module.h"
#include "compiler/pipeline/Compiler.h"
#include "runtime/device/LaunchPlan.h"
#include "test/Expect.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace tlc;
using namespace tlc::test;

evaluator::Tensor test::unwritten(ElementType type, std::vector<int64_t> extents) {
  size_t count = 1;
  for (int64_t extent : extents)
    count *= size_t(extent);
  return {type, std::move(extents), std::vector<evaluator::Element>(count)};
}

evaluator::Tensor test::filled(ElementType type, std::vector<int64_t> extents, double number) {
  evaluator::Tensor tensor = unwritten(type, std::move(extents));
  for (evaluator::Element &element : tensor.elements)
    element = evaluator::elementOf(type, number);
  return tensor;
}

evaluator::Tensor test::tensorOf(ElementType type, std::vector<int64_t> extents,
                                 const std::vector<double> &numbers) {
  evaluator::Tensor tensor = unwritten(type, std::move(extents));
  REQUIRE(tensor.elements.size() == numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i)
    tensor.elements[i] = evaluator::elementOf(type, numbers[i]);
  return tensor;
}

std::vector<double> test::numbersOf(const evaluator::Tensor &tensor) {
  std::vector<double> numbers;
  for (const evaluator::Element &element : tensor.elements)
    numbers.push_back(isInteger(tensor.type) ? double(element.integer) : element.value);
  return numbers;
}

namespace {

dsl::ProgramModule traced(const Body &body) {
  dsl::Program program = dsl::Program::trace("test", body);
  INFO(program.errorText());
  REQUIRE(program.ok());
  return dsl::ProgramModule::take(std::move(program));
}

/// Numbers of 32 bits; all bits are set where nothing has been written.
std::vector<uint32_t> wordsOf(const evaluator::Tensor &tensor) {
  std::vector<uint32_t> words(tensor.elements.size(), ~uint32_t(0));
  for (size_t i = 0; i < words.size(); ++i)
    if (const evaluator::Element &element = tensor.elements[i]; element.defined)
      words[i] =
          isInteger(tensor.type) ? uint32_t(element.integer) : std::bit_cast<uint32_t>(float(element.value));
  return words;
}

void setWords(evaluator::Tensor &tensor, const std::vector<uint32_t> &words) {
  for (size_t i = 0; i < words.size(); ++i)
    tensor.elements[i] =
        evaluator::elementOf(tensor.type, isInteger(tensor.type) ? double(int32_t(words[i]))
                                                                 : double(std::bit_cast<float>(words[i])));
}

/// A rank's device memory: its tensors, then its workspaces, poisoned.
struct RankMemory {
  LaunchArguments arguments;

  RankMemory(Device &device, const Artifact &artifact, const evaluator::Arguments &given, int64_t rank,
             int64_t ranks) {
    arguments.rank = rank;
    arguments.ranks = ranks;
    for (const evaluator::Tensor &tensor : given.tensors) {
      std::vector<uint32_t> words = wordsOf(tensor);
      void *memory = expectValue(device.allocate(words.size() * sizeof(uint32_t)));
      expectSuccess(device.copyToDevice(memory, words.data(), words.size() * sizeof(uint32_t)));
      arguments.tensors.push_back(contiguousView(memory, tensor.type, tensor.extents));
    }
    std::vector<int64_t> dimensions = expectValue(bindDimensions(artifact, arguments.tensors, rank, ranks));
    for (const WorkspaceRequest &request :
         expectValue(workspaceRequests(artifact, dimensions, device.properties()))) {
      const std::vector<std::byte> poison(request.bytes, std::byte(0xFF));
      void *memory = expectValue(device.allocate(poison.size()));
      expectSuccess(device.copyToDevice(memory, poison.data(), poison.size()));
      arguments.tensors.push_back(request.view(memory));
    }
  }
};

} // namespace

std::vector<evaluator::Arguments>
test::argumentsOf(int64_t ranks, const std::function<std::vector<evaluator::Tensor>(int64_t)> &make) {
  std::vector<evaluator::Arguments> all;
  for (int64_t rank = 0; rank < ranks; ++rank)
    all.push_back({make(rank), {}});
  return all;
}

std::vector<int64_t> test::rankCounts() {
  std::vector<int64_t> counts = {1, 2, 3, 4, 8};
  std::erase_if(counts, [](int64_t count) { return count > mostRanks(); });
  return counts;
}

Artifact test::compiledProgram(const Body &body, const CompileOptions &options) {
  dsl::ProgramModule program = traced(body);
  prepareContext(*program.context);
  Compiler compiler(options);
  auto artifact = compiler.compile(*program.module, "test");
  std::string said;
  for (const Diagnostic &diagnostic : compiler.diagnostics())
    said += diagnostic.message + "\n";
  INFO(said);
  REQUIRE(succeeded(artifact));
  return *artifact;
}

std::string test::launch(const Artifact &artifact, std::vector<evaluator::Arguments> &ranks,
                         const RankOptions &options) {
  std::vector<std::unique_ptr<Device>> owned = openRanks(ranks.size(), options);
  std::vector<Device *> devices;
  for (const std::unique_ptr<Device> &device : owned)
    devices.push_back(device.get());
  expectSuccess(connect(devices));
  std::vector<std::shared_ptr<const LoadedProgram>> programs;
  std::vector<RankMemory> memories;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    programs.push_back(expectValue(devices[rank]->load(artifact)));
    memories.emplace_back(*devices[rank], artifact, ranks[rank], int64_t(rank), int64_t(ranks.size()));
  }
  for (size_t i = 0; i < artifact.tensors.size(); ++i)
    for (RankMemory &memory : memories)
      for (const RankMemory &other : memories)
        if (artifact.tensors[i].symmetric)
          memory.arguments.tensors[i].ofRanks.push_back(other.arguments.tensors[i].data);
  std::vector<RankLaunch> launches;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    launches.push_back({devices[rank], programs[rank].get(), &memories[rank].arguments});
  std::string errors;
  for (int i = 0; i < options.launches && errors.empty(); ++i)
    if (Result<void> launched = options.enqueue ? options.enqueue(launches) : launchRanks(launches);
        !launched)
      errors += launched.error().message;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    if (Result<void> done = devices[rank]->synchronize(); !done)
      errors += (errors.empty() ? "" : "\n") + done.error().message;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (size_t i = 0; i < ranks[rank].tensors.size(); ++i) {
      evaluator::Tensor &tensor = ranks[rank].tensors[i];
      std::vector<uint32_t> words(tensor.elements.size());
      expectSuccess(devices[rank]->copyToHost(words.data(), memories[rank].arguments.tensors[i].data,
                                              words.size() * sizeof(uint32_t)));
      setWords(tensor, words);
    }
  return errors;
}

std::string test::evaluated(const Body &body, std::vector<evaluator::Arguments> &ranks) {
  dsl::ProgramModule program = traced(body);
  std::vector<evaluator::Arguments> results = ranks; // which an error leaves unspecified
  auto report = evaluator::evaluate(*program.module, llvm::MutableArrayRef(results));
  if (!report)
    return report.error().message;
  ranks = std::move(results);
  return "";
}

std::vector<evaluator::Arguments> test::runOnRanks(const Body &body, std::vector<evaluator::Arguments> ranks,
                                                   const RankOptions &options) {
  std::vector<evaluator::Arguments> expected = ranks;
  REQUIRE(evaluated(body, expected) == "");
  REQUIRE(launch(compiledProgram(body, options.compile), ranks, options) == "");
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (size_t i = 0; i < ranks[rank].tensors.size(); ++i) {
      INFO("rank " << rank << ", tensor " << i);
      const evaluator::Tensor &tensor = ranks[rank].tensors[i];
      for (size_t element = 0; element < tensor.elements.size(); ++element) {
        const evaluator::Element &wanted = expected[rank].tensors[i].elements[element];
        INFO("element " << element << " is " << numbersOf(tensor)[element] << ", evaluated " << wanted.value);
        CHECK((!wanted.defined || evaluator::agrees(tensor.type, wanted, tensor.elements[element])));
      }
    }
  return ranks;
}
