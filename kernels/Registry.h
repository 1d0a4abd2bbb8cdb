// SPDX-License-Identifier: Apache-2.0
/// \file
/// The kernels by name: all that tools and tests need to compile, run, check
/// and time them without knowing one.
#pragma once

#include "compiler/dsl/Program.h"
#include "kernels/Parameters.h"
#include "kernels/Tolerance.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/target/Target.h"

#include <array>
#include <functional>
#include <span>
#include <vector>

namespace tlc::kernels {

/// Every remark of kernels: its id, which docs/remarks.md explains.
inline constexpr std::array<std::string_view, 2> kernelRemarkIds = {"plain-form", "split-keys"};
inline constexpr std::string_view plainFormRemark = kernelRemarkIds[0];
inline constexpr std::string_view splitKeysRemark = kernelRemarkIds[1];

/// Expected values of some elements of the tensor number `output` (counted among outputs of all ranks);
/// `elements` are row-major numbers. An error where there is no reference, or it fails. It may keep what
/// outputs share.
using Reference =
    std::function<Result<std::vector<double>>(size_t output, std::span<const int64_t> elements)>;

/// A tensor of a kernel for given parameters, and what random contents suit it.
struct TensorSpec {
  std::string name;
  ElementType element = ElementType::f32;
  Access access = Access::input;
  std::vector<int64_t> shape;
  double low = -1, high = 1;         ///< inputs are uniform in [low, high)
  std::vector<double> contents = {}; ///< of an input that is not random
  /// Of an input that follows from other tensors, of all ranks: its contents, from theirs. Of those that are
  /// derived themselves the ones before it have contents.
  std::function<Result<std::vector<double>>(std::span<const std::vector<double>> tensors)> derived = {};
  /// Whether an element, row-major, is one that nothing may depend on; then it is no number, and of an output
  /// it stays that.
  std::function<bool(int64_t)> isPadding = {};
  /// Whether the argument is a table of addresses, of the tensor's parts along its first axis.
  bool isTable = false;
};

class Kernel {
public:
  /// `name` and `summary` outlive it.
  Kernel(std::string_view name, std::string_view summary, std::vector<Parameter> parameters)
      : itsName(name), itsSummary(summary), declared(std::move(parameters)) {}
  Kernel(const Kernel &) = delete;
  virtual ~Kernel() = default;

  std::string_view name() const { return itsName; }
  /// Of a kernel that is no part of tlc: a name for its code, for the keys of compiled programs.
  virtual std::string code() const { return {}; }
  /// The file of the user's that has it; empty where it is part of tlc.
  virtual std::string file() const { return {}; }
  std::string_view summary() const { return itsSummary; }
  std::span<const Parameter> parameters() const { return declared; }
  /// `defaults` come before those of the parameters.
  Result<Parameters> parse(const Definitions &given, const Definitions &defaults = {}) const;

  /// The program for `target`; sizes guide its configuration only, unless `options` fixes a dimension.
  virtual dsl::Program build(const Parameters &values, const Target &target,
                             const dsl::TraceOptions &options = {}) const = 0;

  /// On how many ranks, devices that run the program at once, these values run it.
  virtual int64_t ranks(const Parameters &) const { return 1; }

  /// The tensors in the order of the program's arguments, without workspaces; of several ranks those of each,
  /// rank by rank.
  virtual std::vector<TensorSpec> tensors(const Parameters &values) const = 0;
  /// For the contents of the inputs, which outlive it.
  virtual Reference reference(const Parameters &values,
                              std::span<const std::vector<double>> inputs) const = 0;
  /// Of the elements of that output.
  virtual Tolerance tolerance(const Parameters &values, size_t output) const = 0;

  /// What is wrong with values that are allowed each by itself; empty if nothing is.
  virtual std::string conflict(const Parameters &) const { return {}; }
  /// What is wrong with values without a conflict on this target; empty if nothing is.
  virtual std::string conflictOn(const Target &, const Parameters &) const { return {}; }

  /// What the kernel chose itself for `target`, and why not better.
  virtual std::vector<Remark> remarks(const Parameters &, const Target &) const { return {}; }

  virtual double flops(const Parameters &values) const = 0;
  /// Bytes that must cross global memory: every input once, every output once.
  double bytes(const Parameters &values) const;
  /// Defaults of sizes where the emulator runs the kernel: it ends within seconds then, and has still several
  /// tiles and steps.
  virtual Definitions emulatorSizes() const = 0;
  /// What is benchmarked.
  virtual std::vector<Definitions> suite() const = 0;

private:
  std::string_view itsName, itsSummary;
  std::vector<Parameter> declared;
};

/// By name.
std::span<const Kernel *const> allKernels();
Result<const Kernel *> findKernel(std::string_view name);

} // namespace tlc::kernels
