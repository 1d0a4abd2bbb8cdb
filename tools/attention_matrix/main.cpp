// SPDX-License-Identifier: Apache-2.0
/// \file
/// tlc-attention-matrix: a kernel of attention with every combination of its options, on the emulator or a
/// GPU.
#include "compiler/pipeline/Options.h"
#include "kernels/Registry.h"
#include "kernels/harness/KernelRun.h"
#include "kernels/library/Library.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/emulator/EmulatorDevice.h"
#include "runtime/target/Target.h"
#include "tools/attention_matrix/AttentionCases.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>
#include <random>
#include <string_view>

using namespace tlc;
using namespace tlc::kernels;
using namespace tlc::attention_matrix;

namespace {

constexpr std::string_view help =
    R"(tlc-attention-matrix: a kernel of attention with every combination of its options, each at sizes drawn for it.

  --kernel <name>           attention_fwd, attention_fwd_fp8, attention_bwd or attention_decode
                            (default: attention_fwd)
  --device <emulator|cuda>  where programs run (default: emulator, its checker on)
  --target <name>           what programs are compiled for, and the emulator stands for (default: sm_90a)
  --schedules <count>       orders of warps in which the emulator runs each, the usual one first (default: one,
                            in every second run not the usual one)
  --multiprocessors <count> of the emulator (default: 3)
  --part <i>/<n>            only the i-th program of every n, from 1 (default: 1/1, all)
  --program <number>        only that one, whatever the part
  --sizes <count>           sizes for each program (default: 4)
  --longest <length>        any lengths up to there, instead of those around tiles; a sample is compared
  --seed <number>           of sizes and inputs (default: random, printed)

Exit status: 0 all right, 1 some result is wrong or some program failed, 2 an error.
)";

constexpr uint64_t mostMultiprocessors = 1024;

struct Settings {
  std::string kernel = "attention_fwd";
  bool onGpu = false;
  const Target *target = findTarget(CompileOptions().target);
  uint64_t schedules = 0; ///< 0: not given
  uint64_t multiprocessors = 3;
  uint64_t part = 1, parts = 1, sizes = 4, longest = 0;
  uint64_t seed = std::random_device()();
  std::optional<uint64_t> program = {};
};

Option both(Option first, const Option &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// The options of a kernel; none if the tool does not know it.
std::vector<Option> optionsOf(std::string_view kernel, const Target &target) {
  std::vector<Option> options;
  if (kernel == "attention_fwd")
    options = attentionOptions(both(shortRows(), longRows()));
  if (kernel == "attention_fwd_fp8")
    options = fp8AttentionOptions();
  if (kernel == "attention_bwd")
    options = backwardOptions(both(gradientRows(), moreGradientRows()));
  if (kernel == "attention_decode")
    options = decodeOptions();
  if (!target.wgmma) // the explicit form's instruction
    for (Option &option : options)
      std::erase_if(
          option, [](const auto &value) { return value.contains("form") && value.at("form") == "explicit"; });
  if (target.tcgen05 && kernel == "attention_fwd")
    options.push_back(dataflows());
  return options;
}

bool parse(std::string_view text, uint64_t &number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// What is wrong with the arguments; empty if nothing is.
std::string read(std::span<char *> arguments, Settings &settings) {
  for (size_t i = 0; i < arguments.size(); i += 2) {
    std::string_view name = arguments[i];
    if (i + 1 == arguments.size())
      return fmt::format("expected a value after '{}'; --help shows what there is", name);
    std::string_view value = arguments[i + 1];
    bool isGood = false;
    if (name == "--kernel") {
      settings.kernel = value;
      isGood = !optionsOf(value, *settings.target).empty();
    } else if (name == "--device") {
      settings.onGpu = value == "cuda";
      isGood = settings.onGpu || value == "emulator";
    } else if (name == "--target") {
      settings.target = findTarget(value);
      if (!settings.target)
        return fmt::format("expected a target of {}, but got '{}'", targetNames(), value);
      isGood = true;
    } else if (name == "--schedules") {
      isGood = parse(value, settings.schedules) && settings.schedules > 0;
    } else if (name == "--multiprocessors") {
      isGood = parse(value, settings.multiprocessors) && settings.multiprocessors > 0 &&
               settings.multiprocessors <= mostMultiprocessors;
    } else if (name == "--part") {
      size_t slash = std::min(value.find('/'), value.size());
      isGood = slash < value.size() && parse(value.substr(0, slash), settings.part) &&
               parse(value.substr(slash + 1), settings.parts) && settings.part >= 1 &&
               settings.part <= settings.parts;
    } else if (name == "--program") {
      isGood = parse(value, settings.program.emplace());
    } else if (name == "--sizes") {
      isGood = parse(value, settings.sizes) && settings.sizes > 0;
    } else if (name == "--longest") {
      isGood = parse(value, settings.longest) && settings.longest > 0 && settings.longest <= 1 << 20;
    } else if (name == "--seed") {
      isGood = parse(value, settings.seed);
    } else {
      return fmt::format("expected an option, but got '{}'; --help shows what there is", name);
    }
    if (!isGood)
      return fmt::format("'{}' is no value of {}; --help shows what there is", value, name);
  }
  return {};
}

std::string textOf(const Definitions &definitions) {
  std::string text;
  for (const auto &[name, value] : definitions)
    text += fmt::format(" {}={}", name, value);
  return text;
}

class Product {
public:
  explicit Product(const Settings &settings)
      : settings(settings), options(optionsOf(settings.kernel, *settings.target)) {
    for (const Option &option : options)
      count *= option.size();
  }

  Result<void> openGpu() {
    Result<std::unique_ptr<Device>> opened = createCudaDevice(0);
    if (!opened)
      return opened.error();
    gpu = std::move(*opened);
    return {};
  }

  /// What is wrong with `--program`; empty if nothing is.
  std::string whyNotProgram() const {
    if (settings.program && *settings.program >= count)
      return fmt::format("expected a program below {}, but got {}", count, *settings.program);
    return {};
  }

  int run() {
    fmt::print("{}: {} combinations, part {}/{}, seed {}, {} for {}\n", settings.kernel, count, settings.part,
               settings.parts, settings.seed, gpu ? gpu->properties().name : "emulator",
               settings.target->name);
    if (settings.program)
      runProgram(*settings.program);
    else
      for (uint64_t number = settings.part - 1; number < count; number += settings.parts)
        runProgram(number);
    fmt::print("{} programs, {} combinations that do not fit, {} runs, {} failures\n", programs, refused,
               runs, failures);
    return failures == 0 ? 0 : 1;
  }

private:
  /// The values of combination `number`, so that neighbours differ in the last options.
  std::vector<size_t> valuesOf(uint64_t number) const {
    std::vector<size_t> values(options.size());
    for (size_t i = options.size(); i-- > 0;) {
      values[i] = number % options[i].size();
      number /= options[i].size();
    }
    return values;
  }

  void runProgram(uint64_t number) {
    std::seed_seq seeds = {settings.seed, number};
    Random random(seeds);
    std::vector<size_t> values = valuesOf(number);
    std::shared_ptr<const Artifact> artifact;
    for (uint64_t i = 0; i < settings.sizes; ++i) {
      Case drawn = drawCase(options, values, random, int(settings.longest));
      Result<Request> request = Request::parse(settings.kernel, drawn.all());
      if (!request && !artifact) {
        ++refused;
        return;
      }
      std::string complaint = request ? runOne(*request, artifact, random) : request.error().message;
      if (complaint.empty())
        continue;
      ++failures;
      fmt::print("program {}:{}: {}\n  again: --kernel {} --target {} --multiprocessors {} --program {} "
                 "--seed {} --sizes {}{}\n",
                 number, textOf(drawn.all()), complaint, settings.kernel, settings.target->name,
                 settings.multiprocessors, number, settings.seed, settings.sizes,
                 settings.schedules > 0 ? fmt::format(" --schedules {}", settings.schedules) : "");
      std::fflush(stdout);
      if (!artifact)
        return;
    }
  }

  /// What is wrong; empty if nothing is. Compiles the first time.
  std::string runOne(const Request &request, std::shared_ptr<const Artifact> &artifact, Random &random) {
    if (!artifact) {
      ++programs;
      CompileLog log;
      CompileOptions options;
      options.target = settings.target->name;
      Result<std::shared_ptr<const Artifact>> compiled =
          Library(CacheOptions::inMemory()).compile(request, options, log);
      if (!compiled)
        return compiled.error().message;
      artifact = *compiled;
    }
    ProblemOptions options;
    options.seed = random();
    options.placement.rowPadding = random() % 2 == 0 ? 0 : 8;
    if (settings.longest == 0)
      options.referenceOperations = 1e12; // every element
    const bool isUsual = settings.schedules > 0 || options.seed % 2 != 0;
    Result<std::shared_ptr<const Problem>> problem = Problem::create(request, options);
    if (!problem)
      return problem.error().message;
    for (uint64_t i = 0; i < std::max<uint64_t>(gpu ? 1 : settings.schedules, 1); ++i) {
      EmulatorOptions emulatorOptions{.target = settings.target,
                                      .multiprocessors = int(settings.multiprocessors),
                                      .raceCheck = RaceCheck::strict};
      if (i > 0 || !isUsual)
        emulatorOptions.scheduleSeed = options.seed + i;
      ++runs;
      std::unique_ptr<Device> emulator = gpu ? nullptr : createEmulatorDevice(emulatorOptions);
      Result<KernelRun> run = KernelRun::create(gpu ? *gpu : *emulator, *problem, artifact);
      if (!run)
        return run.error().message;
      Result<Verdict> verdict = run->verify();
      std::string complaint = verdict ? verdict->complaint : verdict.error().message;
      if (!complaint.empty())
        return emulatorOptions.scheduleSeed
                   ? fmt::format("schedule {}: {}", *emulatorOptions.scheduleSeed, complaint)
                   : complaint;
    }
    return {};
  }

  const Settings &settings;
  std::vector<Option> options;
  std::unique_ptr<Device> gpu; ///< else each run has an emulator of its own
  uint64_t count = 1, programs = 0, refused = 0, runs = 0, failures = 0;
};

int fail(const std::string &message) {
  fmt::print(stderr, "tlc-attention-matrix: error: {}\n", message);
  return 2;
}

} // namespace

int main(int argc, char **argv) {
  std::span<char *> arguments(argv + 1, size_t(argc - 1));
  if (arguments.size() == 1 && std::string_view(arguments[0]) == "--help") {
    fmt::print("{}", help);
    return 0;
  }
  Settings settings;
  if (std::string mistake = read(arguments, settings); !mistake.empty())
    return fail(mistake);
  Product product(settings);
  if (std::string mistake = product.whyNotProgram(); !mistake.empty())
    return fail(mistake);
  if (settings.onGpu)
    if (Result<void> opened = product.openGpu(); !opened)
      return fail(opened.error().message);
  return product.run();
}
