// SPDX-License-Identifier: Apache-2.0
/// \file
/// The subcommand `bench`.
#include "tools/tlc/Bench.h"

#include "kernels/harness/KernelRun.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/support/Excerpt.h"
#include "tools/tlc/Cublas.h"
#include "tools/tlc/DeviceChoice.h"
#include "tools/tlc/Heartbeat.h"
#include "tools/tlc/Messages.h"
#include "tools/tlc/Rounds.h"
#include "tools/tlc/Time.h"
#include "tools/tlc/Verdicts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <random>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

/// One line of the result.
struct Line {
  const kernels::Request &request;
  const kernels::KernelRun &run;
  kernels::Verdict verdict;
  std::vector<double> ours;   ///< seconds per launch, one per round
  std::vector<double> cublas; ///< empty: no peer

  double flops() const { return request.kernel->flops(request.values); }
  double bytes() const { return request.kernel->bytes(request.values); }
  /// Times of cuBLAS by ours, round by round: above 1 ours is faster.
  std::vector<double> ratios() const {
    std::vector<double> values;
    for (auto [peer, own] : zip(cublas, ours))
      values.push_back(peer / own);
    return values;
  }
};

/// Who times what, and what became of the peer ("in turns with cuBLAS").
void printHeader(ArrayRef<std::unique_ptr<Device>> ranks, StringRef peer, RoundOptions options, bool json) {
  const std::string &name = ranks.front()->properties().name;
  if (!json) {
    outs() << (ranks.size() == 1 ? "" : formatv("{0} ranks of ", ranks.size()).str()) << name
           << ", median of " << options.rounds << " rounds of " << options.launches << " launches, " << peer
           << '\n';
    return;
  }
  json::OStream os(outs());
  os.object([&] {
    os.attribute("device", name);
    os.attribute("ranks", int64_t(ranks.size()));
    os.attribute("rounds", options.rounds);
    os.attribute("launches", options.launches);
    os.attribute("peer", peer);
  });
  outs() << '\n';
}

void printText(const Line &line) {
  double seconds = median(line.ours);
  for (const auto &[name, value] : line.request.values.values())
    if (value != "auto")
      outs() << name << '=' << value << ' ';
  outs() << formatv(": {0:f1} us, {1:f1} TFLOP/s, {2:f0} GB/s", seconds * 1e6, line.flops() / seconds * 1e-12,
                    line.bytes() / seconds * 1e-9);
  if (!line.cublas.empty())
    outs() << formatv(", cuBLAS {0:f1} us, ratio {1:f3}", median(line.cublas) * 1e6, median(line.ratios()));
  outs() << (line.verdict.correct() ? "\n" : ", WRONG\n");
  outs().flush();
}

void printJson(const Line &line) {
  double seconds = median(line.ours);
  json::OStream os(outs());
  os.object([&] {
    os.attribute("kernel", StringRef(line.request.kernel->name()));
    for (const auto &[name, value] : line.request.values.values()) {
      int64_t number = 0;
      if (StringRef(value).getAsInteger(10, number))
        os.attribute(name, value);
      else
        os.attribute(name, number);
    }
    os.attribute("variant", line.run.variant());
    writeVerdict(os, line.verdict);
    os.attribute("ours_us", seconds * 1e6);
    os.attribute("ours_tflops", line.flops() / seconds * 1e-12);
    os.attribute("ours_gbytes_per_second", line.bytes() / seconds * 1e-9);
    if (const CudaCompilation *compilation = cudaCompilationOf(line.run.program()))
      os.attributeArray("kernels", [&] {
        for (const CudaKernel &kernel : compilation->kernels)
          os.object([&] {
            os.attribute("entry", kernel.entry);
            os.attribute("registers", kernel.registers);
            os.attribute("spill_bytes", kernel.spillBytes);
          });
      });
    if (line.cublas.empty())
      return;
    os.attributeObject("peers", [&] {
      os.attributeObject("cublas", [&] {
        os.attribute("us", median(line.cublas) * 1e6);
        os.attribute("tflops", line.flops() / median(line.cublas) * 1e-12);
        os.attribute("ratio", median(line.ratios()));
        os.attributeArray("ratios", [&] {
          for (double ratio : line.ratios())
            os.value(ratio);
        });
      });
    });
    os.attribute("ratio", median(line.ratios()));
  });
  outs() << '\n';
  outs().flush();
}

/// Whether cuBLAS has the operation.
bool hasPeer(StringRef kernel) { return kernel == "gemm"; }

/// The same product by cuBLAS into `output`; nothing if it has none of these types.
std::optional<Contestant> cublasContestant(Cublas &cublas, const kernels::Request &request,
                                           const kernels::KernelRun &run, void *output) {
  const std::vector<TensorView> &tensors = run.arguments().launchArguments().tensors;
  GemmProblem problem{tensors[0], tensors[1], tensors[2], request.values.choice("layout") == "tn"};
  problem.c.data = output;
  if (!Cublas::supports(problem))
    return std::nullopt;
  return [&cublas, problem] { return cublas.launch(problem); };
}

} // namespace

BenchCommand::BenchCommand()
    : command("bench", "Time a kernel on a GPU"),
      kernel(cl::sub(command), cl::Positional, cl::desc("<kernel | file.cpp>")),
      suite("suite", cl::sub(command),
            cl::desc("All shapes of the kernel's suite; -D changes their other parameters")),
      json("json", cl::sub(command), cl::desc("One JSON object per line")),
      gpu("gpu", cl::sub(command), cl::value_desc("ordinal"), cl::init(0), cl::desc("Which GPU")),
      ranks("ranks", cl::sub(command), cl::value_desc("count"),
            cl::desc("GPUs, from that of --gpu on, that run the kernel together")),
      rounds("rounds", cl::sub(command), cl::init(RoundOptions().rounds),
             cl::desc("Turns of each contestant")),
      warmups("warmups", cl::sub(command), cl::init(RoundOptions().warmups),
              cl::desc("Launches before each batch")),
      launches("launches", cl::sub(command), cl::init(RoundOptions().launches),
               cl::desc("Launches in a batch")),
      cublas("cublas", cl::sub(command), cl::value_desc("file"),
             cl::desc("libcublas to compare with instead of the one that is installed")),
      tuning(command), flags(command) {}

ExitCode BenchCommand::execute() const {
  if (kernel.empty())
    return failUsage("expected a kernel, but got none; 'tlc bench --help' shows how");
  Result<CompileOptions> options = flags.options();
  if (!options)
    return failUsage(options.error().message);
  Result<std::optional<Alignment>> alignment = flags.alignment();
  if (!alignment)
    return failUsage(alignment.error().message);
  Result<kernels::Definitions> definitions = flags.definitions();
  if (!definitions)
    return failUsage(definitions.error().message);
  Result<CacheOptions> cache = flags.kernelFlags().cache();
  if (!cache)
    return failUsage(cache.error().message);
  for (const cl::opt<int> *count : {&rounds, &warmups, &launches})
    if (*count < (count == &warmups ? 0 : 1) || *count > 10000)
      return failUsage(formatv("expected --{0} from {1} to 10000, but got {2}", count->ArgStr,
                               count == &warmups ? 0 : 1, count->getValue())
                           .str());
  if (ranks.getNumOccurrences() && definitions->contains("ranks"))
    return failUsage("expected --ranks or -D ranks, but got both");
  if (ranks.getNumOccurrences())
    (*definitions)["ranks"] = std::to_string(ranks);
  RoundOptions roundOptions{rounds, warmups, launches};

  if (!cublas.empty() && !sys::fs::exists(cublas))
    return fail("cannot open '" + excerpt(cublas) + "' (--cublas): no such file");

  const Format format = json ? Format::json : Format::text;
  std::vector<Diagnostic> ofFile;
  Result<const kernels::Kernel *> found = flags.kernelFlags().find(kernel, json ? &ofFile : nullptr);
  if (!found)
    return failBy(found.error(), ofFile, format);
  // All cases are checked before anything runs.
  std::vector<kernels::Definitions> cases = {*definitions};
  if (suite) {
    cases = (*found)->suite();
    for (kernels::Definitions &entry : cases)
      for (const auto &[name, value] : *definitions)
        entry[name] = value;
  }
  std::vector<kernels::Request> requests;
  for (const kernels::Definitions &entry : cases) {
    auto request = kernels::Request::parseLaunch(**found, entry, flags.fixedDimensions());
    if (!request)
      return failUsage(request.error().message);
    requests.push_back(std::move(*request));
  }

  const kernels::Request &first = requests.front();
  Result<std::vector<std::unique_ptr<Device>>> gpus = openGpus(gpu, first.kernel->ranks(first.values));
  if (!gpus)
    return fail(gpus.error().message);
  if (!flags.namesTarget())
    options->target = gpus->front()->properties().target;
  for (kernels::Request &request : requests) {
    Result<kernels::Request> tuned =
        tuning.apply(request, {gpus->front()->properties(), *options, *alignment});
    if (!tuned)
      return failBy(tuned.error());
    request = std::move(*tuned);
  }
  std::unique_ptr<Cublas> peer;
  std::string peerState = "no peer for this kernel";
  if (hasPeer(kernel)) {
    Result<std::unique_ptr<Cublas>> opened = Cublas::open(cublas);
    if (!opened && !cublas.empty())
      return fail(opened.error().message);
    peerState = opened ? "in turns with cuBLAS" : "without cuBLAS: " + opened.error().message;
    if (opened)
      peer = std::move(*opened);
  }
  printHeader(*gpus, peerState, roundOptions, json);

  kernels::Library library(std::move(*cache));
  std::vector<double> ratios;
  bool correct = true;
  for (const kernels::Request &request : requests) {
    const Heartbeat heartbeat([what = formatv("timing {0}, problem {1} of {2}", kernel.getValue(),
                                              &request - requests.data() + 1, requests.size())
                                          .str()] { return what; });
    kernels::CompileLog log;
    Result<std::shared_ptr<const Artifact>> artifact =
        library.compile(request, *options, log, ProgramCode::cubin);
    if (!artifact)
      return failCompile(artifact.error(), log.diagnostics, format);
    print(log.diagnostics, Remarks::hide);
    if (flags.wantsRemarks())
      printRemarks(**artifact);
    if (flags.wantsTime())
      printTimes(log.times, log.foundAfter);
    Result<std::shared_ptr<const kernels::Problem>> problem =
        kernels::Problem::create(request, {.seed = std::random_device()()});
    if (!problem)
      return fail(problem.error().message);
    auto run = kernels::KernelRun::create(*gpus, *problem, *artifact, *alignment);
    if (!run)
      return fail(run.error().message);
    Result<kernels::Verdict> before = run->verify();
    if (!before)
      return fail(before.error().message);

    std::vector<Contestant> contestants = {[&] { return run->launch(); }};
    std::optional<kernels::DeviceMemory> peerOutput;
    if (peer) {
      auto memory = kernels::DeviceMemory::allocate(*gpus->front(),
                                                    run->arguments().initial().tensors.back().bytes().size());
      if (!memory)
        return fail(memory.error().message);
      peerOutput.emplace(std::move(*memory));
      if (auto contestant = cublasContestant(*peer, request, *run, peerOutput->address()))
        contestants.push_back(*contestant);
    }
    auto times = timeInTurns(*gpus, contestants, roundOptions);
    if (!times)
      return fail(times.error().message);
    // Launching again and again must not have changed the result.
    Result<kernels::Verdict> after = run->verify();
    if (!after)
      return fail(after.error().message);

    Line line{request, *run, before->correct() ? *after : *before, (*times)[0],
              times->size() > 1 ? (*times)[1] : std::vector<double>()};
    json ? printJson(line) : printText(line);
    if (!line.verdict.correct()) {
      fail("wrong result: " + line.verdict.complaint);
      correct = false;
    }
    if (!line.cublas.empty())
      ratios.push_back(median(line.ratios()));
  }
  if (!ratios.empty()) {
    double mean = geometricMean(ratios), lowest = *min_element(ratios);
    if (json)
      outs() << json::Value(json::Object{{"kernel", kernel.getValue()},
                                         {"cases", int64_t(requests.size())},
                                         {"correct", correct},
                                         {"geometric_mean", mean},
                                         {"lowest", lowest}})
             << '\n';
    else
      outs() << formatv("geometric mean of the ratios {0:f3}, lowest {1:f3}\n", mean, lowest);
  }
  return correct ? ExitCode::success : ExitCode::failure;
}
