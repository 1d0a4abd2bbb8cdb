// SPDX-License-Identifier: Apache-2.0
/// \file
/// Bodies of processes, and their answers as text.
#include "tools/tlc/tune/Processes.h"

#include "kernels/harness/KernelRun.h"
#include "kernels/library/Library.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/emulator/trace/Summary.h"
#include "runtime/emulator/trace/TraceRequest.h"
#include "runtime/support/ChildProcess.h"
#include "runtime/support/Math.h"
#include "runtime/target/Occupancy.h"
#include "tools/tlc/Rounds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <thread>

using namespace tlc;
using namespace tlc::driver;

namespace {

/// In front of an answer's text.
enum class Mark : char { time = 't', skipped = 's', passing = 'p', broken = 'b', wrongUse = 'w' };

std::string pack(Mark mark, const std::string &text) { return char(mark) + text; }

TuneAnswer skip(std::string reason) { return {.microseconds = 0, .skipped = std::move(reason)}; }

/// Because of an error, which may be one of the machine.
TuneAnswer skip(const tlc::Error &error) {
  return {.microseconds = 0, .skipped = error.message, .isPassing = error.kind == ErrorKind::environment};
}

/// The body's answer, from a process. What ends the process is why the candidate is skipped.
Result<TuneAnswer> askProcess(std::chrono::seconds limit, const std::function<Result<TuneAnswer>()> &body) {
  Result<std::string> text = answerOfChild(limit, [&] {
    const Result<TuneAnswer> answer = body();
    if (!answer)
      return pack(Mark::broken, answer.error().message);
    return answer->skipped.empty() ? pack(Mark::time, fmt::format("{}", answer->microseconds))
                                   : pack(answer->isPassing ? Mark::passing : Mark::skipped, answer->skipped);
  });
  if (!text)
    return text.error().kind == ErrorKind::execution
               ? Result<TuneAnswer>(
                     {.microseconds = 0, .skipped = "its process " + text.error().message, .isPassing = true})
               : text.error();
  const llvm::StringRef rest = llvm::StringRef(*text).drop_front();
  switch (Mark(text->front())) {
  case Mark::broken:
  case Mark::wrongUse:
    return tlc::Error{ErrorKind::environment, rest.str()};
  case Mark::skipped:
  case Mark::passing:
    return TuneAnswer{
        .microseconds = 0, .skipped = rest.str(), .isPassing = Mark(text->front()) == Mark::passing};
  case Mark::time:
    break;
  }
  TuneAnswer answer;
  (void)rest.getAsDouble(answer.microseconds);
  return answer;
}

/// A GPU may need a moment after a process on it was killed.
Result<ChosenDevice> openPatiently(const TuneSetting &setting, Findings &findings) {
  constexpr int attempts = 3;
  for (int attempt = 1;; ++attempt) {
    Result<ChosenDevice> chosen = setting.open(findings);
    if (chosen || attempt == attempts)
      return chosen;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

/// The first error of a compilation, else the message.
std::string reasonOf(const tlc::Error &error, const kernels::CompileLog &log) {
  for (const Diagnostic &diagnostic : log.diagnostics)
    if (diagnostic.severity == Diagnostic::Severity::error)
      return diagnostic.message;
  return error.message;
}

/// Why no block of it has room on a multiprocessor, or nothing.
std::string lackOfRoom(const Artifact &artifact, const Target &target) {
  for (const Variant &variant : artifact.variants)
    for (const Launch &launch : variant.launches)
      if (const Occupancy room = occupancyOf({launch.threads, 1, launch.sharedBytes}, target);
          room.blocks() == 0)
        return fmt::format(
            "no block of '{}' has room on a multiprocessor: it takes {} bytes of shared memory and "
            "{} threads",
            launch.entry, launch.sharedBytes, launch.threads);
  return {};
}

/// Microseconds of all launches by the cycles of one block each, the others in waves after it.
Result<double> modelOf(const TuneSetting &setting, const kernels::Request &request,
                       const std::shared_ptr<const Artifact> &artifact) {
  auto problem = kernels::Problem::create(
      request, {.seed = setting.seed, .derived = kernels::DerivedInputs::random}); // nothing is compared
  if (!problem)
    return problem.error();
  const Target &target = *findTarget(setting.options.target);
  double sum = 0;
  size_t launches = 1; // until the variant is known
  for (size_t number = 0; number < launches; ++number) {
    TraceRequest traced{.block = 0, .launch = number, .trace = {}};
    EmulatorOptions options = setting.model;
    options.raceCheck = RaceCheck::off;
    options.trace = &traced;
    const std::unique_ptr<Device> device = createEmulatorDevice(std::move(options));
    Result<kernels::KernelRun> run =
        kernels::KernelRun::create(*device, *problem, artifact, setting.alignment);
    if (!run)
      return run.error();
    const std::vector<Variant> &variants = run->program().artifact().variants;
    const auto variant =
        llvm::find_if(variants, [&](const Variant &each) { return each.name == run->variant(); });
    launches = variant->launches.size();
    if (Result<void> done = run->execute(); !done) {
      if (number > 0 && done.error().kind == ErrorKind::invalidArgument)
        return sum; // launches of no blocks are left out
      return done.error();
    }
    const emulator::Trace &trace = traced.trace;
    const auto launch =
        llvm::find_if(variant->launches, [&](const Launch &each) { return each.entry == trace.kernel; });
    if (launch != variant->launches.end())
      sum += emulator::launchMicroseconds(trace, *launch, target, setting.model.multiprocessors);
  }
  return sum;
}

/// What tracing one block may cost where its time is but a hint.
bool isAffordable(const TuneSetting &setting, const kernels::Request &request) {
  constexpr double mostOperations = 5e7, mostBytes = 64e6;
  return setting.kind == DeviceKind::emulator ||
         (request.kernel->flops(request.values) / setting.model.multiprocessors <= mostOperations &&
          request.kernel->bytes(request.values) <= mostBytes);
}

/// What differs between tensors, or nothing.
std::string differenceOf(const std::vector<kernels::TensorSpec> &expected,
                         const std::vector<kernels::TensorSpec> &actual) {
  const auto isSame = [](const kernels::TensorSpec &a, const kernels::TensorSpec &b) {
    return a.name == b.name && a.element == b.element && a.access == b.access && a.shape == b.shape;
  };
  return std::ranges::equal(expected, actual, isSame) ? ""
                                                      : "its tensors are others than those of the kernel's "
                                                        "own choice, but open parameters may not change "
                                                        "what a kernel computes";
}

/// Launches until an idle GPU has its usual clock.
Result<void> warmUp(kernels::KernelRun &run, Device &device) {
  constexpr std::chrono::milliseconds least(30);
  constexpr int atOnce = 8;
  for (const auto end = std::chrono::steady_clock::now() + least; std::chrono::steady_clock::now() < end;) {
    for (int i = 0; i != atOnce; ++i)
      if (Result<void> launched = run.launch(); !launched)
        return launched;
    if (Result<void> done = device.synchronize(); !done)
      return done;
  }
  return {};
}

/// How often the launch is repeated in a batch, from a time of it.
int launchesOf(double seconds) {
  constexpr double batch = 0.05;
  constexpr int most = 20;
  return std::clamp(int(batch / std::max(seconds, 1e-9)), 1, most);
}

/// For an error that is the candidate's, "it does not compile" and why.
Result<std::shared_ptr<const Artifact>> compileCandidate(const TuneSetting &setting,
                                                         const kernels::Request &request) {
  kernels::CompileLog log;
  Result<std::shared_ptr<const Artifact>> artifact =
      kernels::Library(setting.cache).compile(request, setting.options, log, setting.device.code);
  if (!artifact)
    return tlc::Error{artifact.error().kind, "it does not compile: " + reasonOf(artifact.error(), log)};
  return artifact;
}

} // namespace

Result<kernels::Request> TuneSetting::request(const kernels::Definitions &given,
                                              const kernels::Definitions &values) const {
  kernels::Definitions all = given;
  for (const auto &[name, value] : values)
    all[name] = value;
  return kernels::Request::parseLaunch(*kernel, all, fixedDimensions, sizes);
}

Result<std::pair<DeviceKind, DeviceProperties>> driver::askDevice(const TuneSetting &setting) {
  Result<std::string> text = answerOfChild(setting.limit, [&] {
    Findings findings;
    Result<ChosenDevice> chosen = setting.open(findings);
    if (!chosen)
      return pack(chosen.error().kind == ErrorKind::invalidArgument ? Mark::wrongUse : Mark::broken,
                  chosen.error().message);
    const DeviceProperties &device = chosen->device().properties();
    return pack(Mark::time, fmt::format("{}\n{}\n{}\n{}\n{}", chosen->kind == DeviceKind::cuda ? 1 : 0,
                                        device.code == ProgramCode::cubin ? 1 : 0, device.multiprocessors,
                                        device.target, device.name));
  });
  if (!text)
    return tlc::Error{ErrorKind::environment, "opening the device " + text.error().message};
  llvm::StringRef rest = llvm::StringRef(*text).drop_front();
  if (const Mark mark = Mark(text->front()); mark != Mark::time)
    return tlc::Error{mark == Mark::wrongUse ? ErrorKind::invalidArgument : ErrorKind::environment,
                      rest.str()};
  const auto next = [&] {
    const auto [first, others] = rest.split('\n');
    rest = others;
    return first;
  };
  const DeviceKind kind = next() == "1" ? DeviceKind::cuda : DeviceKind::emulator;
  DeviceProperties device;
  device.code = next() == "1" ? ProgramCode::cubin : ProgramCode::ptx;
  (void)next().getAsInteger(10, device.multiprocessors);
  device.target = next().str();
  device.name = rest.str();
  return std::pair(kind, device);
}

Result<TuneAnswer> driver::prepareCandidate(const TuneSetting &setting, const kernels::Definitions &given,
                                            const kernels::Definitions &values) {
  return askProcess(setting.limit, [&]() -> Result<TuneAnswer> {
    const Result<kernels::Request> request = setting.request(given, values);
    if (!request)
      return skip(request.error());
    const Result<std::shared_ptr<const Artifact>> artifact = compileCandidate(setting, *request);
    if (!artifact)
      return skip(artifact.error());
    if (std::string lack = lackOfRoom(**artifact, *findTarget(setting.options.target)); !lack.empty())
      return skip(std::move(lack));
    if (!isAffordable(setting, *request))
      return TuneAnswer{};
    const Result<double> modelled = modelOf(setting, *request, *artifact);
    if (!modelled && setting.kind == DeviceKind::emulator)
      return skip(modelled.error());
    return TuneAnswer{.microseconds = modelled ? *modelled : 0};
  });
}

Result<TuneAnswer> driver::timeCandidate(const TuneSetting &setting, const kernels::Definitions &given,
                                         const kernels::Definitions &values,
                                         const std::shared_ptr<const kernels::Problem> &problem,
                                         TuneCheck check) {
  return askProcess(setting.limit, [&]() -> Result<TuneAnswer> {
    Findings findings;
    const Result<ChosenDevice> chosen = openPatiently(setting, findings);
    if (!chosen)
      return chosen.error();
    const Result<kernels::Request> request = setting.request(given, values);
    if (!request)
      return skip(request.error());
    const Result<std::shared_ptr<const Artifact>> artifact = compileCandidate(setting, *request);
    if (!artifact)
      return skip(artifact.error());
    if (std::string other = differenceOf(problem->initial().specs, request->kernel->tensors(request->values));
        !other.empty())
      return skip(std::move(other));
    Result<kernels::KernelRun> run =
        kernels::KernelRun::create(chosen->ranks, problem, *artifact, setting.alignment);
    if (!run)
      return skip(run.error());
    constexpr int mostSpilled = 128; // bytes of a thread
    if (const CudaCompilation *compilation = cudaCompilationOf(run->program()))
      for (const CudaKernel &kernel : compilation->kernels)
        if (kernel.spillBytes > mostSpilled && !values.empty())
          return skip(fmt::format("'{}' has {} bytes of registers spilled by each thread", kernel.entry,
                                  kernel.spillBytes));
    if (check == TuneCheck::compare) {
      const Result<kernels::Verdict> verdict = run->verify();
      if (!verdict)
        return skip(verdict.error());
      if (!verdict->correct())
        return skip("wrong result: " + verdict->complaint);
    } else if (const Result<void> done = run->execute(); !done) {
      return skip(done.error());
    }
    if (setting.kind == DeviceKind::emulator)
      return TuneAnswer{};
    if (const Result<void> warm = warmUp(*run, chosen->device()); !warm)
      return skip(warm.error());
    const RoundOptions rounds = {.rounds = 3, .warmups = 2, .launches = launchesOf(run->seconds())};
    const auto times = timeInTurns(chosen->ranks, {[&] { return run->launch(); }}, rounds);
    if (!times)
      return skip(times.error());
    return TuneAnswer{.microseconds = median(times->front()) * 1e6};
  });
}
