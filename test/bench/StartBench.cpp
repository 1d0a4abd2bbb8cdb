// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a new process takes to its first launch: by the driver alone, which loads the machine code that the
/// cache has, by the runtime alone, which loads an artifact, and by the C interface, which takes the program
/// from the cache by name. Processes start in shuffled order.
///
///     start_bench [--json] [--rounds N] [--emulator]
#include "runtime/artifact/ProgramCode.h"
#include "runtime/artifact/Serialize.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/support/Math.h"
#include "test/bench/start/Child.h"
#include "tools/libtlc/tlc.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <random>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace tlc;
namespace fs = std::filesystem;

extern char **environ;

namespace {

[[noreturn]] void fail(std::string_view what) {
  fmt::print(stderr, "start_bench: {}\n", what);
  std::exit(1);
}
void require(bool holds, std::string_view what) {
  if (!holds)
    fail(what);
}
void requireC(bool holds) { require(holds, tlc_last_error()); }

/// Removed in the end.
struct Folder {
  fs::path path;
  Folder() {
    std::string pattern = fs::temp_directory_path() / "tlc-bench-XXXXXX";
    require(::mkdtemp(pattern.data()), "cannot make a temporary folder");
    path = pattern;
  }
  Folder(const Folder &) = delete;
  ~Folder() { fs::remove_all(path); }
};

void write(const fs::path &path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }

/// Fills a cache, and returns the program as bytes.
std::vector<std::byte> prepareCache(const fs::path &folder, tlc_device *device, bool ptxOnly) {
  const std::string path = folder;
  tlc_cache_options cache = {};
  cache.size = sizeof(cache);
  cache.folder = path.c_str();
  cache.ptx_only = ptxOnly;
  requireC(tlc_set_cache(&cache) == TLC_OK);
  const char *names[] = {"rows", "columns", "dtype"}, *values[] = {"8", "64", "f32"};
  tlc_compile_options options = {};
  options.size = sizeof(options);
  options.device = device;
  tlc_program *program = tlc_compile_with("softmax", names, values, 3, &options);
  requireC(program);
  size_t size = 0;
  requireC(tlc_program_save(program, nullptr, 0, &size) == TLC_OK);
  std::vector<std::byte> bytes(size);
  requireC(tlc_program_save(program, bytes.data(), size, &size) == TLC_OK);
  tlc_release(program);
  return bytes;
}

/// What the driver is called with.
void writePlan(const fs::path &path, const Artifact &artifact, const DeviceProperties &device) {
  LaunchArguments arguments;
  for (uintptr_t i = 1; i <= 2; ++i)
    arguments.tensors.push_back(
        contiguousView(reinterpret_cast<void *>(i << 32), ElementType::f32, {start_rows, start_columns}));
  const Result<LaunchPlan> plan = planLaunch(artifact, arguments, device);
  require(bool(plan), plan ? "" : plan.error().message);
  require(plan->launches.size() == 1 && plan->zeroFills.empty(), "expected one launch");
  const PlannedLaunch &launch = plan->launches.front();
  static start_plan written;
  require(launch.tensorMaps.empty() && launch.pointers.size() <= start_most_pointers &&
              launch.launch->entry.size() < sizeof(written.entry) &&
              launch.parameters.size() <= sizeof(written.values) &&
              launch.launch->parameters.size() <= start_most_parameters &&
              launch.launch->cluster == std::array<unsigned, 3>{1, 1, 1},
          "expected a launch with few parameters, and without tensor maps and clusters");
  std::strcpy(written.entry, launch.launch->entry.c_str());
  std::ranges::copy(launch.grid, written.grid);
  std::ranges::copy(launch.launch->block(), written.block);
  written.shared_bytes = launch.launch->sharedBytes;
  written.pointers = uint32_t(launch.pointers.size());
  for (size_t i = 0; i != launch.pointers.size(); ++i)
    written.pointer_offsets[i] = uint32_t(launch.pointers[i].offset);
  size_t offset = 0;
  for (const KernelParameter &parameter : launch.launch->parameters) {
    offset = alignTo(offset, parameterAlignment(artifact, parameter));
    written.parameter_offsets[written.parameters++] = uint32_t(offset);
    offset += parameterBytes(artifact, parameter);
  }
  std::memcpy(written.values, launch.parameters.data(), launch.parameters.size());
  const std::string &code = plan->variant->cubin;
  written.code_bytes = code.size();
  write(path, std::string(reinterpret_cast<const char *>(&written), sizeof(written)) + code);
}

struct Contestant {
  std::string_view name, description;
  std::vector<std::string> command = {};
  std::vector<std::string> variables = {}; ///< of the environment, besides those of this process
  std::vector<std::array<double, start_phases>> milliseconds = {}; ///< from its start, of each round
};

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void run(Contestant &contestant) {
  std::vector<char *> arguments, variables;
  for (std::string &each : contestant.command)
    arguments.push_back(each.data());
  arguments.push_back(nullptr);
  for (char **each = environ; *each; ++each)
    variables.push_back(*each);
  for (std::string &each : contestant.variables)
    variables.push_back(each.data());
  variables.push_back(nullptr);
  int pipe[2];
  require(::pipe2(pipe, O_CLOEXEC) == 0, "cannot make a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  pid_t process = 0;
  const int64_t begin = now();
  require(::posix_spawn(&process, arguments[0], &actions, nullptr, arguments.data(), variables.data()) == 0,
          "cannot start a process");
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  std::string text;
  char bytes[4096];
  for (ssize_t count; (count = ::read(pipe[0], bytes, sizeof(bytes))) > 0;)
    text.append(bytes, size_t(count));
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(process, &status, 0);
  require(status == 0, fmt::format("'{}' has failed", contestant.name));
  std::array<double, start_phases> times = {};
  const char *next = text.data(), *end = text.data() + text.size();
  for (double &time : times) {
    int64_t nanoseconds = 0;
    const auto [rest, error] = std::from_chars(next, end, nanoseconds);
    require(error == std::errc(), "expected the times of a process");
    next = rest + 1;
    time = double(nanoseconds - begin) / 1e6;
  }
  contestant.milliseconds.push_back(times);
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + ptrdiff_t(values.size() / 2));
  return values[values.size() / 2];
}
double medianOf(const Contestant &contestant, int phase) {
  std::vector<double> values;
  for (const auto &round : contestant.milliseconds)
    values.push_back(round[size_t(phase)]);
  return median(std::move(values));
}
/// Of each round, so that the clock of the host changes both.
double medianOver(const Contestant &contestant, const Contestant &first) {
  std::vector<double> values;
  for (size_t round = 0; round != first.milliseconds.size(); ++round)
    values.push_back(contestant.milliseconds[round][start_launched] -
                     first.milliseconds[round][start_launched]);
  return median(std::move(values));
}

void print(const std::vector<Contestant> &contestants, std::string_view device, bool asJson) {
  const Contestant &first = contestants.front();
  if (!asJson)
    fmt::print("{}: milliseconds from the start of a process, medians of {} rounds\n"
               "{:<52} {:>8} {:>8} {:>8} {:>8} {:>10}\n",
               device, first.milliseconds.size(), "", "main", "device", "loaded", "launched", "over first");
  for (const Contestant &each : contestants) {
    const double main = medianOf(each, start_main), opened = medianOf(each, start_device),
                 loaded = medianOf(each, start_loaded), launched = medianOf(each, start_launched),
                 over = medianOver(each, first);
    if (asJson)
      fmt::print(R"({{"start": "{}", "main_ms": {:.3f}, "device_ms": {:.3f}, "loaded_ms": {:.3f}, )"
                 R"("launched_ms": {:.3f}, "over_first_ms": {:.3f}, "rounds": {}, "device": "{}"}})"
                 "\n",
                 each.name, main, opened, loaded, launched, over, first.milliseconds.size(), device);
    else
      fmt::print("{:<52} {:8.2f} {:8.2f} {:8.2f} {:8.2f} {:10.2f}\n", each.description, main, opened, loaded,
                 launched, over);
  }
}

std::vector<Contestant> contestantsOnGpu(const fs::path &folder, tlc_device *device, const fs::path &programs,
                                         const DeviceProperties &properties) {
  const std::vector<std::byte> withCubin = prepareCache(folder / "cubin", device, false),
                               ptx = prepareCache(folder / "ptx", device, true);
  const Result<Artifact> artifact = deserialize(withCubin);
  require(bool(artifact), "expected an artifact");
  require(codeOf(*artifact) == ProgramCode::cubin, "expected ptxas, which makes the machine code that is "
                                                   "compared; 'tlc cache list' says what is wrong with it");
  writePlan(folder / "plan", *artifact, properties);
  write(folder / "artifact", {reinterpret_cast<const char *>(withCubin.data()), withCubin.size()});
  const std::string raw = programs / "start_raw", runtime = programs / "start_runtime",
                    interface = programs / "start_interface";
  return {{"raw", "the driver alone, cubin", {raw, folder / "plan"}},
          {"runtime", "libtlc_runtime, artifact with a cubin", {runtime, "gpu", folder / "artifact"}},
          {"cubin", "libtlc by name, cubin in the cache", {interface, "gpu", folder / "cubin"}},
          {"ptx",
           "libtlc by name, PTX in the cache",
           {interface, "gpu", folder / "ptx"},
           {"CUDA_CACHE_DISABLE=1"}},
          {"ptx_driver_cache",
           "the same, compiled code in the driver's cache",
           {interface, "gpu", folder / "ptx"}}};
}

std::vector<Contestant> contestantsOnEmulator(const fs::path &folder, tlc_device *device,
                                              const fs::path &programs) {
  const std::vector<std::byte> ptx = prepareCache(folder / "ptx", device, true);
  write(folder / "artifact", {reinterpret_cast<const char *>(ptx.data()), ptx.size()});
  return {
      {"runtime", "libtlc_runtime, artifact", {programs / "start_runtime", "emulator", folder / "artifact"}},
      {"ptx",
       "libtlc by name, PTX in the cache",
       {programs / "start_interface", "emulator", folder / "ptx"}}};
}

} // namespace

int main(int count, char **arguments) {
  bool asJson = false, isEmulated = false;
  int rounds = 31;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--json" || argument == "--emulator") {
      (argument == "--json" ? asJson : isEmulated) = true;
      continue;
    }
    const std::string_view value = argument == "--rounds" && i + 1 < count ? arguments[++i] : "";
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), rounds);
    if (error != std::errc() || end != value.data() + value.size() || rounds < 1)
      fail(fmt::format("expected '--json', '--emulator' and '--rounds N' with N >= 1, but got '{}'",
                       argument));
  }
  tlc_device *device = isEmulated ? tlc_device_emulator(nullptr) : tlc_device_gpu(0);
  if (!device) {
    fmt::print("start_bench: nothing is measured without a GPU, but with --emulator: {}\n", tlc_last_error());
    return 0;
  }
  const std::string name = tlc_device_name(device);
  const fs::path programs = fs::read_symlink("/proc/self/exe").parent_path();
  const Folder folder;
  std::vector<Contestant> contestants;
  if (isEmulated) {
    contestants = contestantsOnEmulator(folder.path, device, programs);
  } else {
    const Result<std::unique_ptr<Device>> gpu = createCudaDevice(0);
    require(bool(gpu), "expected a GPU");
    contestants = contestantsOnGpu(folder.path, device, programs, (*gpu)->properties());
  }
  for (Contestant &each : contestants) {
    run(each); // not counted
    each.milliseconds.clear();
  }
  std::vector<Contestant *> order;
  for (Contestant &each : contestants)
    order.push_back(&each);
  std::mt19937 random(1);
  for (int round = 0; round < rounds; ++round) {
    std::ranges::shuffle(order, random);
    for (Contestant *each : order)
      run(*each);
  }
  print(contestants, name, asJson);
  tlc_device_release(device);
  return 0;
}
