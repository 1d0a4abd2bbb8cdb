// SPDX-License-Identifier: Apache-2.0
/// \file
/// Compiles, runs, evaluates, compares.
#include "test/differential/Compare.h"

#include "compiler/codegen/PtxForms.h"
#include "compiler/dsl/Module.h"
#include "compiler/evaluator/Evaluator.h"
#include "compiler/pipeline/Compiler.h"
#include "compiler/pipeline/Pipeline.h"
#include "kernels/harness/DeviceArguments.h"
#include "kernels/harness/ElementBits.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/device/LaunchRanks.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/target/Target.h"
#include "test/differential/Domain.h"
#include "test/differential/Inputs.h"
#include "test/differential/Trace.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <fstream>

using namespace tlc;
using namespace tlc::differential;
using kernels::DeviceMemory, kernels::HostTensor;

namespace {

constexpr std::string_view verdictNames[] = {"right",   "discarded",  "refused", "mistake", "evaluator",
                                             "refusal", "internal",   "slow",    "launch",  "finding",
                                             "wrong",   "strayWrite", "crash",   "hang"};
constexpr double slowSeconds = 10;

/// What the compiler may refuse: it needs more than the target has, or its warps would wait for each other
/// where only some of them come, and says so.
constexpr std::string_view userReasons[] = {
    "bytes of shared memory, but",
    "no target has this function",
    "required here",
    "because they are interleaved, but this is another access",
    "because no other matrix instruction is asynchronous, but wgmma is switched off",
    "because no other matrix instruction is asynchronous, but sm_100a has no wgmma",
    "because its left factor is sparse, but",
    "columns of tensor memory, of which",
    "because the products of one block arrive at its own barriers alone",
    "but another use of it takes no such order",
    "because each warp decides by itself",
    "because nothing else combines tiles",
    "that divide each other's, so that elements stay in their threads",
    "because multimem accesses 4 bytes at least",
};

/// What only a mistake of the compiler's own makes it say.
constexpr std::string_view internalReasons[] = {"phase '", "'tile.", "'simt.", "promises"};

Outcome failure(Verdict verdict, std::string message) {
  return {.verdict = verdict, .message = std::move(message)};
}

/// What the evaluator cannot say, because the program does not.
constexpr std::string_view unspecified[] = {"inexact", "not specified", "unspecified"};

Verdict verdictOfMeaning(std::string_view message) {
  auto has = [&](std::string_view part) { return message.find(part) != std::string_view::npos; };
  return std::ranges::any_of(unspecified, has) ? Verdict::discarded : Verdict::evaluator;
}

Verdict verdictOfRefusal(std::string_view message) {
  auto has = [&](std::string_view part) { return message.find(part) != std::string_view::npos; };
  if (std::ranges::any_of(userReasons, has))
    return Verdict::refused;
  return std::ranges::any_of(internalReasons, has) ? Verdict::internal : Verdict::refusal;
}

std::string switchedOff(const Optimizations &optimizations) {
  std::string text;
  for (const OptimizationSwitch &one : optimizationSwitches())
    if (!(optimizations.*one.member))
      text += fmt::format("{}{}", text.empty() ? "without " : ", ", one.name);
  if (optimizations.sharesAllPlaces)
    text += fmt::format("{}sharing places", text.empty() ? "" : ", ");
  return text.empty() ? "with all optimisations" : text;
}

std::vector<Optimizations> subsets(const ProgramTree &tree, bool all) {
  std::vector<Optimizations> result = {Optimizations()};
  if (!all) {
    if (tree.optimizations != Optimizations())
      result.push_back(tree.optimizations);
    return result;
  }
  // Those that change what the target has: twice the time for each of the others.
  const Target target = *findTarget(tree.target);
  std::vector<OptimizationSwitch> switches;
  for (const OptimizationSwitch &one : optimizationSwitches()) {
    const bool isOfTcgen05 = one.member == &Optimizations::tcgen05 ||
                             one.member == &Optimizations::rowSplitting ||
                             one.member == &Optimizations::tensorMemoryFactors;
    if ((target.tcgen05 || !isOfTcgen05) && (target.wgmma || one.member != &Optimizations::wgmma))
      switches.push_back(one);
  }
  // Of many switches few are off together, or few are on: otherwise it takes over a minute.
  constexpr size_t mostInAllWays = 9, together = 3;
  for (unsigned bits = 1; bits < 1U << switches.size(); ++bits) {
    const auto off = size_t(std::popcount(bits));
    if (switches.size() > mostInAllWays && std::min(off, switches.size() - off) > together)
      continue;
    Optimizations subset;
    for (size_t i = 0; i < switches.size(); ++i)
      subset.*switches[i].member = (bits >> i & 1) == 0;
    result.push_back(subset);
  }
  return result;
}

/// What the compiler decides with these options: what is equal here becomes the same code, in a quarter of
/// the time. Nothing if it refuses the module.
std::optional<std::string> decisions(mlir::ModuleOp module, const CompileOptions &options) {
  std::string text;
  for (Alignment alignment : {Alignment::aligned, Alignment::general}) {
    mlir::FailureOr<std::string> planned = Compiler(options).emit(module, lastOptionalPhase, alignment);
    if (mlir::failed(planned))
      return std::nullopt;
    text += *planned;
  }
  return text;
}

class Comparer {
public:
  Comparer(const ProgramTree &tree, const CompareOptions &options) : tree(tree), options(options) {}

  Outcome run() {
    const bool onGpu = options.device == RunOn::gpu;
    if (onGpu && tree.ranks > 1)
      return failure(Verdict::discarded, "it runs on several ranks");
    if (onGpu && gpu() && tree.target == "sm_100a" && (*gpu())->properties().target != tree.target)
      return failure(Verdict::discarded, "the GPU has no tensor memory");
    dsl::Program program = trace(tree);
    if (!program.ok())
      return failure(Verdict::mistake, program.errorText());
    dsl::ProgramModule input = dsl::ProgramModule::take(std::move(program));
    prepareContext(*input.context);
    Result<std::vector<HostTensor>> made = makeTensors(tree);
    if (!made)
      return failure(Verdict::launch, made.error().message);
    initial = std::move(*made);
    input.module->walk([&](mlir::Operation *op) {
      if (op != input.module->getOperation())
        outcome.operations.insert(op->getName().getStringRef().str());
    });
    if (options.device != RunOn::nothing)
      if (Outcome evaluated = evaluate(*input.module); evaluated.verdict != Verdict::right)
        return evaluated;
    std::set<std::string> compiled;
    for (const Optimizations &subset : subsets(tree, options.allSubsets)) {
      what = switchedOff(subset);
      CompileOptions compileOptions;
      compileOptions.optimizations = subset;
      compileOptions.target = tree.target;
      compileOptions.multicast = true;
      std::clock_t begin = std::clock(); // of this process: others that run do not count
      std::optional<std::string> decided = decisions(*input.module, compileOptions);
      if (decided && !compiled.insert(std::move(*decided)).second)
        continue;
      Compiler compiler(compileOptions);
      mlir::FailureOr<Artifact> artifact = compiler.compile(*input.module, "drawn");
      double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
      if (mlir::failed(artifact))
        return refusal(compiler);
      if (seconds > slowSeconds)
        return failure(Verdict::slow, fmt::format("{}: compiling takes {:.1f} s", what, seconds));
      noteBranches(*artifact);
      if (Outcome written = writePtx(*artifact, compiled.size()); written.verdict != Verdict::right)
        return written;
      if (Outcome launched = launch(*artifact); launched.verdict != Verdict::right)
        return launched;
    }
    return std::move(outcome);
  }

private:
  Outcome evaluate(mlir::ModuleOp module) {
    std::vector<evaluator::Arguments> ranks(size_t(tree.ranks));
    const size_t ofRank = initial.size() / ranks.size();
    for (size_t at = 0; at < initial.size(); ++at) {
      const HostTensor &tensor = initial[at];
      evaluator::Tensor values = {tensor.element(), tensor.shape(), {}};
      if (infoOf(tensor).table)
        values.strides = tensor.strides();
      bool isDefined = hasValues(infoOf(tensor).access);
      for (int64_t number = 0; number < tensor.elementCount(); ++number)
        values.elements.push_back(isDefined ? evaluator::elementOf(tensor.element(), tensor.at(number))
                                            : evaluator::Element());
      addArgument(infoOf(tensor), std::move(values), ranks[at / ofRank].tensors);
    }
    for (evaluator::Arguments &arguments : ranks)
      for (const ScalarInfo &scalar : tree.scalars)
        arguments.scalars.push_back(evaluator::elementOf(scalar.element, scalar.value));
    Result<evaluator::Report> report =
        evaluator::evaluate(module, llvm::MutableArrayRef(ranks), {.multiprocessors = multiprocessors()});
    if (!report)
      return failure(verdictOfMeaning(report.error().message), report.error().message);
    if (!report->ambiguities.empty())
      return failure(Verdict::discarded, report->ambiguities.front());
    if (!report->failures.empty())
      return failure(Verdict::mistake, report->failures.front());
    expected.clear();
    for (size_t at = 0, argument = 0; at < initial.size(); ++at) {
      if (at % ofRank == 0)
        argument = 0;
      const std::optional<TableInfo> &table = infoOf(initial[at]).table;
      evaluator::Tensor &given = ranks[at / ofRank].tensors[argument];
      expected.push_back(std::move(table ? given.members[size_t(table->number)] : given));
      argument += table && table->readsNumbers ? 2 : 1;
    }
    outcome.isExact = std::ranges::all_of(expected, [](const evaluator::Tensor &tensor) {
      return std::ranges::all_of(tensor.elements,
                                 [](const evaluator::Element &element) { return element.bound == 0; });
    });
    return {};
  }

  const TensorInfo &infoOf(const HostTensor &tensor) const {
    return *std::ranges::find(tree.tensors, tensor.name(), &TensorInfo::name);
  }

  /// The arguments that give the program this tensor.
  void addArgument(const TensorInfo &info, evaluator::Tensor tensor,
                   std::vector<evaluator::Tensor> &arguments) const {
    if (!info.table)
      return arguments.push_back(std::move(tensor));
    const size_t count = size_t(info.table->count);
    evaluator::Tensor table = {ElementType::i64, {info.table->count}, {}};
    table.elements.resize(count);
    table.members.resize(count);
    table.members[size_t(info.table->number)] = std::move(tensor);
    arguments.push_back(std::move(table));
    if (!info.table->readsNumbers)
      return;
    const std::vector<int64_t> numbers = tree.memberNumbersOf(info);
    evaluator::Tensor read = {ElementType::i32, {int64_t(numbers.size())}, {}};
    for (int64_t number : numbers)
      read.elements.push_back(evaluator::elementOf(ElementType::i32, double(number)));
    arguments.push_back(std::move(read));
  }

  Outcome refusal(const Compiler &compiler) {
    std::string message = what + ": ";
    for (const Diagnostic &diagnostic : compiler.diagnostics())
      if (diagnostic.severity != Diagnostic::Severity::remark)
        message += toString(diagnostic) + "\n";
    return failure(verdictOfRefusal(message), std::move(message));
  }

  /// What the compiler made of the program, and its reasons for not making more.
  void noteBranches(const Artifact &artifact) {
    for (const Remark &remark : artifact.remarks)
      outcome.remarks.insert(fmt::format("{}: {}", remark.id, withoutNames(remark.message)));
    for (const Variant &variant : artifact.variants) {
      for (std::string_view instruction : {"wgmma.mma", "tcgen05.mma", "mma.sync", "cp.async.bulk.tensor",
                                           "cp.async.wait_group", "setmaxnreg", "stmatrix", "ldmatrix"})
        if (variant.ptx.find(instruction) != std::string::npos)
          outcome.remarks.insert(fmt::format("made {}", instruction));
      for (const Launch &launch : variant.launches)
        if (!launch.names.roles.empty())
          outcome.remarks.insert("made roles");
    }
  }

  /// `number` tells apart what is compiled with different optimisations.
  Outcome writePtx(const Artifact &artifact, size_t number) const {
    if (options.ptxFolder.empty())
      return {};
    for (const Variant &variant : artifact.variants) {
      const std::string path =
          fmt::format("{}/{}.{}.{}.ptx", options.ptxFolder, tree.seed, number, variant.name);
      if (!(std::ofstream(path) << variant.ptx))
        return failure(Verdict::launch, fmt::format("cannot write '{}'", path));
    }
    return {};
  }

  static std::string withoutNames(std::string_view message) {
    std::string text;
    bool isQuoted = false;
    for (char c : message) {
      isQuoted ^= c == '\'';
      if (!isQuoted && !(c >= '0' && c <= '9'))
        text += c;
    }
    return text;
  }

  /// One for the process, as a context takes longer to make than most programs run.
  static const Result<std::unique_ptr<Device>> &gpu() {
    static const Result<std::unique_ptr<Device>> device =
        createCudaDevice(0, {.print = [](std::string_view) {}});
    return device;
  }

  int multiprocessors() const {
    return options.device == RunOn::gpu && gpu() ? (*gpu())->properties().multiprocessors
                                                 : tree.multiprocessors;
  }

  /// Under two schedules, or on the GPU.
  Outcome launch(const Artifact &artifact) {
    if (options.device == RunOn::nothing) {
      for (const Variant &variant : artifact.variants)
        outcome.forms.merge(formsOf(variant.ptx));
      return {};
    }
    if (options.device == RunOn::gpu) {
      const Result<std::unique_ptr<Device>> &device = gpu();
      return device ? launchOn({&*device, 1}, artifact, what)
                    : failure(Verdict::launch, device.error().message);
    }
    for (bool isSeeded : {false, true}) {
      EmulatorOptions emulator = {.target = findTarget(tree.target),
                                  .multiprocessors = tree.multiprocessors,
                                  .hostThreads = 1,
                                  .maximumSteps = uint64_t(1) << 22,
                                  .raceCheck = RaceCheck::strict,
                                  .print = [](std::string_view) {}};
      if (isSeeded)
        emulator.scheduleSeed = tree.seed;
      std::vector<std::unique_ptr<Device>> devices =
          createEmulatorDevices(unsigned(tree.ranks), std::move(emulator));
      Outcome done = launchOn(devices, artifact, what + (isSeeded ? ", seeded schedule" : ""));
      if (done.verdict != Verdict::right)
        return done;
    }
    return {};
  }

  /// A device for each rank.
  Outcome launchOn(std::span<const std::unique_ptr<Device>> devices, const Artifact &artifact,
                   const std::string &where) {
    auto failed = [&](Verdict verdict, const Error &error) {
      return failure(verdict, fmt::format("{}: {}", where, error.message));
    };
    std::vector<HostTensor> tensors = initial;
    const size_t ofRank = tensors.size() / devices.size();
    std::vector<DeviceMemory> memory, scratch; // of the tensors, and of workspaces
    std::vector<Device *> all;
    std::vector<std::shared_ptr<const LoadedProgram>> programs;
    std::vector<LaunchArguments> arguments(devices.size());
    for (size_t rank = 0; rank < devices.size(); ++rank) {
      all.push_back(devices[rank].get());
      Result<std::shared_ptr<const LoadedProgram>> program = devices[rank]->load(artifact);
      if (!program)
        return failed(Verdict::launch, program.error());
      programs.push_back(std::move(*program));
      arguments[rank].rank = int64_t(rank);
      arguments[rank].ranks = int64_t(devices.size());
      Result<void> placed = place(*devices[rank], artifact, std::span(tensors).subspan(rank * ofRank, ofRank),
                                  arguments[rank], memory, scratch);
      if (!placed)
        return failed(Verdict::launch, placed.error());
    }
    for (size_t i = 0; i < artifact.tensors.size(); ++i)
      for (LaunchArguments &ours : arguments)
        for (const LaunchArguments &theirs : arguments)
          if (artifact.tensors[i].symmetric)
            ours.tensors[i].ofRanks.push_back(theirs.tensors[i].data);
    if (Result<void> done = launchAndWait(all, programs, arguments); !done)
      return failed(done.error().kind == ErrorKind::execution ? Verdict::finding : Verdict::launch,
                    done.error());
    for (size_t number = 0; number < tensors.size(); ++number) {
      std::span<std::byte> bytes = tensors[number].bytes();
      Result<void> copied =
          all[number / ofRank]->copyToHost(bytes.data(), memory[number].address(), bytes.size());
      if (!copied)
        return failed(Verdict::finding, copied.error());
    }
    Outcome checked = check(tensors);
    if (checked.verdict != Verdict::right)
      checked.message = fmt::format("{}: {}", where, checked.message);
    else
      outcome.forms.merge(formsOf(artifact.variants[chooseVariant(artifact, arguments.front().tensors)].ptx));
    return checked;
  }

  /// Fills in the arguments of one rank.
  Result<void> place(Device &device, const Artifact &artifact, std::span<HostTensor> tensors,
                     LaunchArguments &arguments, std::vector<DeviceMemory> &memory,
                     std::vector<DeviceMemory> &scratch) {
    auto upload = [&](std::span<const std::byte> bytes, std::vector<DeviceMemory> &to) -> Result<void *> {
      Result<DeviceMemory> place = DeviceMemory::allocate(device, bytes.size());
      if (!place)
        return place.error();
      to.push_back(std::move(*place));
      if (Result<void> copied = device.copyToDevice(to.back().address(), bytes.data(), bytes.size()); !copied)
        return copied.error();
      return to.back().address();
    };
    for (const HostTensor &tensor : tensors) {
      Result<void *> place = upload(tensor.bytes(), memory);
      if (!place)
        return place.error();
      const TensorInfo &info = infoOf(tensor);
      if (!info.table) {
        arguments.tensors.push_back(tensor.view(*place));
        continue;
      }
      std::vector<int64_t> addresses(size_t(info.table->count), 0);
      addresses[size_t(info.table->number)] = std::bit_cast<int64_t>(tensor.view(*place).data);
      const std::vector<int64_t> numbers = tree.memberNumbersOf(info);
      const std::vector<int32_t> read(numbers.begin(), numbers.end());
      auto add = [&]<class Number>(const std::vector<Number> &values, ElementType type) -> Result<void> {
        Result<void *> there = upload(std::as_bytes(std::span(values)), scratch);
        if (!there)
          return there.error();
        arguments.tensors.push_back({*there, type, {int64_t(values.size())}, {1}});
        return {};
      };
      if (Result<void> added = add(addresses, ElementType::i64); !added)
        return added;
      if (info.table->readsNumbers)
        if (Result<void> added = add(read, ElementType::i32); !added)
          return added;
    }
    Result<std::vector<int64_t>> dimensions =
        bindDimensions(artifact, arguments.tensors, arguments.rank, arguments.ranks);
    if (!dimensions)
      return dimensions.error();
    Result<std::vector<WorkspaceRequest>> requests =
        workspaceRequests(artifact, *dimensions, device.properties());
    if (!requests)
      return requests.error();
    for (const WorkspaceRequest &request : *requests) {
      Result<void *> place = upload(std::vector<std::byte>(request.bytes, std::byte{0xFF}), scratch);
      if (!place)
        return place.error();
      arguments.tensors.push_back(request.view(*place));
    }
    for (const ScalarInfo &scalar : tree.scalars)
      arguments.scalars.push_back(valueOf(scalar));
    return {};
  }

  static Result<void> launchAndWait(std::span<Device *const> devices,
                                    std::span<const std::shared_ptr<const LoadedProgram>> programs,
                                    std::span<const LaunchArguments> arguments) {
    if (devices.size() == 1)
      return devices.front()->launch(*programs.front(), arguments.front());
    if (Result<void> connected = connect(devices); !connected)
      return connected;
    std::vector<RankLaunch> launches;
    for (size_t rank = 0; rank < devices.size(); ++rank)
      launches.push_back({devices[rank], programs[rank].get(), &arguments[rank]});
    Result<void> done = launchRanks(launches);
    for (Device *device : devices)
      if (Result<void> ended = device->synchronize(); done && !ended)
        done = ended;
    return done;
  }

  static ScalarValue valueOf(const ScalarInfo &scalar) {
    std::array<std::byte, 8> bytes = {};
    kernels::storeElement(scalar.element, bytes.data(), scalar.value);
    return {scalar.element, std::bit_cast<uint64_t>(bytes)};
  }

  Outcome check(const std::vector<HostTensor> &tensors) {
    for (size_t number = 0; number < tensors.size(); ++number) {
      const HostTensor &tensor = tensors[number];
      if (std::optional<std::string> stray = tensor.findStrayWrite())
        return failure(Verdict::strayWrite, *stray);
      const std::vector<evaluator::Element> &elements = expected[number].elements;
      uint64_t different = 0;
      std::string first;
      for (int64_t i = 0; i < tensor.elementCount(); ++i) {
        const evaluator::Element &element = elements[size_t(i)];
        double actual = tensor.at(i);
        if (isRight(tensor.element(), element, actual))
          continue;
        if (different++ == 0)
          first = fmt::format("'{}' {}: expected {}, but got {}", tensor.name(), tensor.indexText(i),
                              describe(tensor.element(), element), actual);
      }
      if (different != 0)
        return failure(Verdict::wrong,
                       fmt::format("{} ({} of {} elements)", first, different, tensor.elementCount()));
    }
    return {};
  }

  /// What nothing wrote still has the poison, all bits set.
  static bool isRight(ElementType type, const evaluator::Element &expected, double actual) {
    if (!expected.defined) {
      constexpr uint64_t allBits = ~uint64_t(0);
      double poison = kernels::loadElement(type, reinterpret_cast<const std::byte *>(&allBits));
      return std::isnan(poison) ? std::isnan(actual) : actual == poison;
    }
    evaluator::Element element = {.value = actual};
    if (isInteger(type))
      element.integer = int64_t(actual);
    return evaluator::agrees(type, expected, element);
  }

  static std::string describe(ElementType type, const evaluator::Element &element) {
    if (!element.defined)
      return "nothing to be written";
    if (isInteger(type))
      return fmt::to_string(element.integer);
    return element.bound == 0 ? fmt::to_string(element.value)
                              : fmt::format("{} within {}", element.value, element.bound);
  }

  const ProgramTree &tree;
  CompareOptions options;
  Outcome outcome = {};
  std::vector<HostTensor> initial;
  std::vector<evaluator::Tensor> expected;
  std::string what; ///< is being compiled
};

} // namespace

std::string_view differential::nameOf(Verdict verdict) { return verdictNames[size_t(verdict)]; }

std::optional<Verdict> differential::parseVerdict(std::string_view name) {
  auto found = std::ranges::find(verdictNames, name);
  return found == std::end(verdictNames) ? std::nullopt
                                         : std::optional(Verdict(found - std::begin(verdictNames)));
}

Outcome differential::compare(const ProgramTree &tree, const CompareOptions &options) {
  return Comparer(tree, options).run();
}

std::string differential::moduleText(const ProgramTree &tree) {
  dsl::Program program = trace(tree);
  return program.ok() ? program.text() : program.errorText();
}
