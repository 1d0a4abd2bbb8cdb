// SPDX-License-Identifier: Apache-2.0
/// \file
/// A layer of experts on several ranks: `moe_dispatch`, `grouped_gemm` and `moe_combine` one after the other,
/// on the same memory. The host reads only the result.
#include "kernels/Tolerance.h"
#include "kernels/cookbook/Cookbook.h"
#include "kernels/harness/DeviceArguments.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/support/Math.h"
#include "test/Expect.h"
#include "test/kernels/CompileOnce.h"
#include "test/ranks/RankRun.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::test;

namespace {

/// Memory of a rank, and what was in it at first.
struct RankTensor {
  HostTensor initial;
  DeviceMemory memory;

  RankTensor(Device &device, HostTensor tensor)
      : initial(std::move(tensor)),
        memory(expectValue(DeviceMemory::allocate(device, initial.bytes().size()))) {
    expectSuccess(device.copyToDevice(memory.address(), initial.bytes().data(), initial.bytes().size()));
  }
  TensorView view() const { return initial.view(memory.address()); }
  HostTensor fetch(Device &device) const {
    HostTensor tensor = initial;
    expectSuccess(device.copyToHost(tensor.bytes().data(), memory.address(), tensor.bytes().size()));
    return tensor;
  }
};

HostTensor unwritten(std::string name, ElementType type, std::vector<int64_t> shape) {
  return expectValue(HostTensor::create(std::move(name), type, std::move(shape)));
}

HostTensor random(Random &random, std::string name, ElementType type, std::vector<int64_t> shape) {
  HostTensor tensor = unwritten(std::move(name), type, std::move(shape));
  tensor.fillRandom(random, -1, 1);
  return tensor;
}

/// Ranks with a device each, on which they run one kernel after the other.
class Ranks {
public:
  explicit Ranks(int64_t count) : devices(openRanks(size_t(count), {})), tensors(size_t(count)) {
    std::vector<Device *> all;
    for (const std::unique_ptr<Device> &device : devices)
      all.push_back(device.get());
    expectSuccess(connect(all));
  }

  int64_t count() const { return int64_t(devices.size()); }
  void add(int64_t rank, HostTensor tensor) {
    std::string name = tensor.name();
    tensors[size_t(rank)].try_emplace(name, *devices[size_t(rank)], std::move(tensor));
  }
  HostTensor fetch(int64_t rank, const std::string &name) {
    return tensors[size_t(rank)].at(name).fetch(*devices[size_t(rank)]);
  }

  /// One launch of all ranks.
  void launchTogether(std::string_view kernel, const Definitions &definitions,
                      const std::vector<std::string> &names) {
    std::vector<Prepared> all = prepare(kernel, definitions, names, count());
    std::vector<RankLaunch> launches;
    for (size_t rank = 0; rank < all.size(); ++rank)
      launches.push_back({devices[rank].get(), all[rank].program.get(), &all[rank].arguments});
    expectSuccess(launchRanks(launches));
    synchronize();
  }
  /// A launch on each rank, which has nothing to do with the others.
  void launchAlone(std::string_view kernel, const Definitions &definitions,
                   const std::vector<std::string> &names) {
    std::vector<Prepared> all = prepare(kernel, definitions, names, 1);
    for (size_t rank = 0; rank < all.size(); ++rank)
      expectSuccess(devices[rank]->launch(*all[rank].program, all[rank].arguments));
    synchronize();
  }

private:
  struct Prepared {
    std::shared_ptr<const LoadedProgram> program;
    LaunchArguments arguments;
    std::vector<DeviceMemory> workspaces;
  };

  /// `together`: how many ranks a launch has.
  std::vector<Prepared> prepare(std::string_view kernel, const Definitions &definitions,
                                const std::vector<std::string> &names, int64_t together) {
    Request request = expectValue(Request::parse(*expectValue(findShippedKernel(kernel)), definitions));
    auto artifact = kernels::test::compileOnce(request);
    std::vector<Prepared> all;
    for (size_t rank = 0; rank < devices.size(); ++rank) {
      Device &device = *devices[rank];
      Prepared &own = all.emplace_back();
      own.program = expectValue(device.load(*artifact));
      own.arguments.rank = together == 1 ? 0 : int64_t(rank);
      own.arguments.ranks = together;
      for (const std::string &name : names)
        own.arguments.tensors.push_back(tensors[rank].at(name).view());
      auto dimensions =
          expectValue(bindDimensions(*artifact, own.arguments.tensors, own.arguments.rank, together));
      for (const WorkspaceRequest &workspace :
           expectValue(workspaceRequests(*artifact, dimensions, device.properties()))) {
        const std::vector<std::byte> poison(workspace.bytes, std::byte(0xFF));
        own.workspaces.push_back(expectValue(DeviceMemory::allocate(device, poison.size())));
        expectSuccess(device.copyToDevice(own.workspaces.back().address(), poison.data(), poison.size()));
        own.arguments.tensors.push_back(workspace.view(own.workspaces.back().address()));
      }
    }
    for (size_t i = 0; i < artifact->tensors.size(); ++i)
      if (artifact->tensors[i].symmetric)
        for (Prepared &own : all)
          for (const Prepared &other : all)
            own.arguments.tensors[i].ofRanks.push_back(other.arguments.tensors[i].data);
    return all;
  }
  void synchronize() {
    for (const std::unique_ptr<Device> &device : devices)
      expectSuccess(device->synchronize());
  }

  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::map<std::string, RankTensor>> tensors; ///< of each rank, freed before its device
};

} // namespace

// Expert 1 gets no rows, the last ranks have fewer experts, some slots are of no expert.
TEST_CASE("a layer of experts is dispatched, multiplied and combined", "[ranks][experts]") {
  constexpr int64_t tokens = 37, depth = 72, width = 70, experts = 5, topk = 3, none = -1;
  const int64_t count = GENERATE(2, 3);
  CAPTURE(count);
  const int64_t ofRank = tlc::ceilDiv(experts, count), capacity = count * tokens * topk + 45;
  Ranks ranks(count);
  Random source(uint64_t(17 + count));
  for (int64_t rank = 0; rank < count; ++rank) {
    std::vector<double> chosen;
    for (int64_t slot = 0; slot < tokens * topk; ++slot) {
      constexpr int64_t choices[] = {0, 2, 3, 4, none};
      chosen.push_back(double(choices[source() % std::size(choices)]));
    }
    HostTensor numbers = unwritten("Experts", ElementType::i32, {tokens, topk});
    numbers.fill(chosen);
    ranks.add(rank, std::move(numbers));
    ranks.add(rank, random(source, "X", ElementType::bf16, {tokens, depth}));
    ranks.add(rank, random(source, "B", ElementType::bf16, {ofRank, width, depth}));
    ranks.add(rank, random(source, "Weights", ElementType::f32, {tokens, topk}));
    ranks.add(rank, unwritten("Rows", ElementType::bf16, {capacity, depth}));
    ranks.add(rank, unwritten("Ends", ElementType::i32, {ofRank}));
    ranks.add(rank, unwritten("Place", ElementType::i32, {tokens, topk, 2}));
    ranks.add(rank, unwritten("Counts", ElementType::i32, {experts}));
    ranks.add(rank, unwritten("C", ElementType::bf16, {capacity, width}));
    ranks.add(rank, unwritten("Y", ElementType::bf16, {tokens, width}));
  }

  auto text = [](int64_t number) { return std::to_string(number); };
  const Definitions exchange = {{"tokens", text(tokens)},     {"topk", text(topk)}, {"tile", "128"},
                                {"capacity", text(capacity)}, {"dtype", "bf16"},    {"ranks", text(count)}};
  auto with = [](Definitions some, const Definitions &more) {
    some.insert(more.begin(), more.end());
    return some;
  };
  ranks.launchTogether("moe_dispatch", with(exchange, {{"hidden", text(depth)}, {"experts", text(experts)}}),
                       {"X", "Experts", "Rows", "Ends", "Place", "Counts"});
  ranks.launchAlone(
      "grouped_gemm",
      {{"rows", text(capacity)}, {"groups", text(ofRank)}, {"n", text(width)}, {"k", text(depth)}},
      {"Rows", "B", "Ends", "C"});
  ranks.launchTogether("moe_combine", with(exchange, {{"hidden", text(width)}}),
                       {"C", "Place", "Weights", "Y"});

  std::vector<HostTensor> matrices;
  for (int64_t rank = 0; rank < count; ++rank)
    matrices.push_back(ranks.fetch(rank, "B"));
  for (int64_t rank = 0; rank < count; ++rank) {
    const HostTensor X = ranks.fetch(rank, "X"), chosen = ranks.fetch(rank, "Experts"),
                     weights = ranks.fetch(rank, "Weights"), Y = ranks.fetch(rank, "Y");
    int64_t wrong = 0;
    for (int64_t token = 0; token < tokens; ++token)
      for (int64_t column = 0; column < width; ++column) {
        double sum = 0, magnitude = 0;
        for (int64_t slot = token * topk; slot < (token + 1) * topk; ++slot) {
          const auto expert = int64_t(chosen.at(slot));
          if (expert == none)
            continue;
          const HostTensor &B = matrices[size_t(expert / ofRank)];
          double product = 0;
          for (int64_t i = 0; i < depth; ++i)
            product += X.at(token * depth + i) * B.at((expert % ofRank * width + column) * depth + i);
          sum += weights.at(slot) * product;
          magnitude += std::abs(weights.at(slot) * product);
        }
        // Each product is rounded to bf16, then their sum.
        const double allowed = 2 * roundingError(ElementType::bf16) * magnitude + 1e-4;
        wrong += !(std::abs(Y.at(token * width + column) - sum) <= allowed);
      }
    INFO("rank " << rank);
    CHECK(wrong == 0);
  }
}
