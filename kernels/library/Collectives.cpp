// SPDX-License-Identifier: Apache-2.0
#include "kernels/library/Collectives.h"

#include "kernels/library/Gemm.h"
#include "kernels/library/call/Mistake.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/device/TensorGeometry.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/Math.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

using namespace tlc;
using namespace tlc::collectives;
using kernels::mistake;
using kernels::Schema;

namespace {

/// In the order of `RankKernel`.
constexpr std::array<std::string_view, 4> kernelNames = {"all_reduce", "all_gather_gemm",
                                                         "gemm_reduce_scatter", "gemm_all_reduce"};

int64_t countOf(const TensorView &view) {
  return std::accumulate(view.shape.begin(), view.shape.end(), int64_t(1), std::multiplies());
}

size_t bytesOf(const TensorView &view) { return size_t(tlc::bytesOf(view.element, countOf(view))); }

/// That its elements follow one another.
Result<void> checkDense(std::string_view argument, const TensorView &view) {
  int64_t expected = 1;
  for (size_t axis = view.shape.size(); axis-- > 0; expected *= view.shape[axis])
    if (!isEmpty(view) && view.shape[axis] > 1 && view.strides[axis] != expected)
      return mistake(
          "argument '{}' axis {}: expected a stride of {} because NCCL takes memory without gaps, but "
          "got {}",
          argument, axis, expected, view.strides[axis]);
  return {};
}

/// The matrices of all ranks as one.
Result<TensorView> stack(std::string_view argument, const TensorView &view) {
  const int64_t row = view.strides[view.shape[1] > 1 ? 1 : 0], expected = view.shape[1] * row;
  if (!isEmpty(view) && view.shape[0] > 1 && view.strides[0] != expected)
    return mistake(
        "argument '{}' axis 0: expected a stride of {} because one product has the rows of all ranks, "
        "but got {}",
        argument, expected, view.strides[0]);
  return TensorView{
      view.data, view.element, {view.shape[0] * view.shape[1], view.shape[2]}, {row, view.strides[2]}};
}

/// One of the kernels' work on this rank.
class Call {
public:
  /// Checks the tensors, but no addresses.
  static Result<Call> make(const Communicator &communicator, RankKernel kernel,
                           std::span<const TensorView> tensors);

  bool isProduct() const { return kernel != RankKernel::allReduce; }
  /// With what is in the workspace, if anything is, at that address.
  gemm::GemmTensors product(void *workspace) const {
    auto placed = [&](TensorView view) {
      if (!view.data)
        view.data = workspace;
      return view;
    };
    return {.a = kernel == RankKernel::allGatherGemm ? placed(between) : a,
            .b = b,
            .c = kernel == RankKernel::gemmReduceScatter ? placed(between) : c};
  }
  /// Bytes of all of the workspace, at that address.
  Result<size_t> workspaceSize(Programs &programs, void *workspace) const {
    if (!isProduct())
      return size_t(0);
    Result<size_t> bytes = gemm::workspaceSize(programs, product(workspace));
    return bytes ? Result<size_t>(ownBytes() + *bytes) : bytes;
  }
  /// Bytes of what is in the workspace before that of the product.
  size_t ownBytes() const { return alignTo(bytesOf(between), workspaceAlignment); }

  Result<void> launch(Programs &programs, Communicator &communicator, Workspace workspace,
                      Stream stream) const;
  bool isFaster(int64_t ranks) const;

private:
  Call(RankKernel kernel) : kernel(kernel), schema(toString(kernel)) {}
  Result<void> describe(const Communicator &communicator, std::span<const TensorView> tensors);

  RankKernel kernel;
  Schema schema;
  TensorView first, last; ///< A or X, and C or Y
  TensorView a, b, c;     ///< of the product
  /// In the workspace: A of all ranks, or the terms of C for all of them.
  TensorView between = {.shape = {0}, .strides = {1}};
};

Result<Call> Call::make(const Communicator &communicator, RankKernel kernel,
                        std::span<const TensorView> tensors) {
  Call call(kernel);
  if (Result<void> valid = call.describe(communicator, tensors); !valid)
    return valid.error();
  return call;
}

Result<void> Call::describe(const Communicator &communicator, std::span<const TensorView> tensors) {
  const size_t expected = isProduct() ? 3 : 2;
  if (tensors.size() != expected)
    return mistake("{} expects {} tensors, but got {}", toString(kernel), expected, tensors.size());
  first = tensors.front();
  last = tensors.back();
  if (!isProduct()) {
    schema.add("X", first.element, Access::input, {"n"}, first);
    schema.add("Y", first.element, Access::output, {"n"}, last);
    return schema.check();
  }
  const bool gathers = kernel == RankKernel::allGatherGemm,
             scatters = kernel == RankKernel::gemmReduceScatter;
  b = tensors[1];
  auto axes = [](bool isOfRanks, std::string_view columns) {
    return isOfRanks ? std::vector<std::string_view>{"ranks", "m", columns}
                     : std::vector<std::string_view>{"m", columns};
  };
  schema.add("A", first.element, Access::input, axes(scatters, "k"), first);
  schema.add("B", first.element, Access::input, {"n", "k"}, b);
  schema.add("C", last.element, Access::output, axes(gathers, "n"), last);
  if (Result<void> valid = schema.check(); !valid)
    return valid;
  if ((gathers || scatters) && schema.extent("ranks") != communicator.ranks())
    return mistake("argument '{}' axis 0: expected {}, as many as there are ranks, but got {}",
                   gathers ? "C" : "A", communicator.ranks(), schema.extent("ranks"));
  if (Result<void> dense = gathers ? checkDense("A", first) : checkDense("C", last); !dense)
    return dense;
  const int64_t rows = schema.extent("m") * communicator.ranks();
  a = first;
  c = last;
  if (gathers)
    between = contiguousView(nullptr, first.element, {rows, schema.extent("k")});
  if (scatters)
    between = contiguousView(nullptr, last.element, {rows, schema.extent("n")});
  if (!gathers && !scatters)
    return {};
  Result<TensorView> all = gathers ? stack("C", last) : stack("A", first);
  if (!all)
    return all.error();
  (gathers ? c : a) = *all;
  return {};
}

Result<void> Call::launch(Programs &programs, Communicator &communicator, Workspace workspace,
                          Stream stream) const {
  if (Result<void> valid = schema.checkMemory(); !valid)
    return valid;
  const bool isInPlace = !isProduct() && first.data == last.data;
  if (Result<void> apart = isInPlace ? Result<void>() : schema.checkApart(); !apart)
    return apart;
  if (!isProduct())
    return communicator.allReduce(first.data, last.data, size_t(countOf(last)), last.element, stream);
  Result<size_t> needed = workspaceSize(programs, workspace.data);
  if (!needed)
    return needed.error();
  if (Result<void> valid = kernels::checkWorkspace(workspace, *needed, "collectives"); !valid)
    return valid;
  const size_t own = ownBytes();
  const Workspace rest = {static_cast<std::byte *>(workspace.data) + own, workspace.bytes - own};
  if (kernel == RankKernel::allGatherGemm)
    if (Result<void> gathered = communicator.allGather(first.data, workspace.data, bytesOf(first), stream);
        !gathered)
      return gathered;
  if (Result<void> done = gemm::multiply(programs, stream, product(workspace.data), rest); !done)
    return done;
  const auto count = size_t(countOf(last));
  if (kernel == RankKernel::gemmReduceScatter)
    return communicator.reduceScatter(workspace.data, last.data, count, last.element, stream);
  if (kernel == RankKernel::gemmAllReduce)
    return communicator.allReduce(last.data, last.data, count, last.element, stream);
  return {};
}

bool Call::isFaster(int64_t ranks) const {
  if (ranks == 1)
    return false;
  if (!isProduct())
    return true;
  // Microseconds, of 2 and 4 H200.
  constexpr double flopsEach = 700e6, bytesEach = 240e3, ofProduct = 4, ofCollective = 10;
  const bool gathers = kernel == RankKernel::allGatherGemm, isSum = kernel == RankKernel::gemmAllReduce;
  const auto others = double(ranks - 1);
  const TensorView &rows = gathers ? between : a;
  const double flops = 2.0 * double(rows.shape[0]) * double(rows.shape[1]) * double(b.shape[0]),
               moved = others * double(bytesOf(gathers ? first : last)),
               received = isSum ? 2 * moved / double(ranks) : moved;
  const double product = ofProduct + flops / flopsEach, collective = ofCollective + received / bytesEach;
  // The kernel of ranks hides the shorter one, and costs so much more: meetings, zeros, tiles that wait.
  const double cost = gathers ? 10 + 15 * (others - 1)
                      : isSum ? 50 + 5 * (others - 1)
                              : 30 + 10 * (others - 1);
  return std::min(product, collective) < cost;
}

} // namespace

std::string_view collectives::toString(RankKernel kernel) { return kernelNames[size_t(kernel)]; }

Result<RankKernel> collectives::findRankKernel(std::string_view name) {
  if (const auto found = std::ranges::find(kernelNames, name); found != kernelNames.end())
    return RankKernel(found - kernelNames.begin());
  return mistake("expected a kernel of ranks among {}, but got '{}'", fmt::join(kernelNames, ", "),
                 excerpt(name));
}

Result<size_t> collectives::workspaceSize(Programs &programs, const Communicator &communicator,
                                          RankKernel kernel, std::span<const TensorView> tensors) {
  Result<Call> call = Call::make(communicator, kernel, tensors);
  return call ? call->workspaceSize(programs, nullptr) : call.error();
}

Result<void> collectives::launch(Programs &programs, Communicator &communicator, RankKernel kernel,
                                 std::span<const TensorView> tensors, Workspace workspace, Stream stream) {
  Result<Call> call = Call::make(communicator, kernel, tensors);
  return call ? call->launch(programs, communicator, workspace, stream) : call.error();
}

Result<bool> collectives::isFaster(const Communicator &communicator, RankKernel kernel,
                                   std::span<const TensorView> tensors) {
  Result<Call> call = Call::make(communicator, kernel, tensors);
  return call ? Result<bool>(call->isFaster(communicator.ranks())) : call.error();
}
