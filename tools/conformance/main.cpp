// SPDX-License-Identifier: Apache-2.0
/// \file
/// tlc-conformance: random programs whose results on a GPU are recorded, and
/// which the emulator must repeat.
#include "tools/conformance/Recording.h"
#include "tools/conformance/Runner.h"
#include "tools/conformance/Watched.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>

using namespace tlc;
using namespace tlc::conformance;

namespace {

constexpr std::string_view help =
    R"(tlc-conformance: is the emulator right? Random programs, and what a GPU computed.

  tlc-conformance record <folder> [<group>...]   run on the GPU and write <folder>/<group>.txt
  tlc-conformance check <folder> [<group>...]    run on the emulator and compare with what was recorded
  tlc-conformance compare [<group>...]           run on both and name the first values that differ
  tlc-conformance emulate [<group>...]           run on the emulator only, in two orders that must agree
  tlc-conformance dump <folder> [<group>...]     run on the GPU and write whole outputs, <folder>/<program>.bin
  tlc-conformance ptx <program>                  print a program, such as arithmetic.0
  tlc-conformance list                           print the groups

A program such as sequence3.17 may stand in place of a group, but for record.

  --outputs <folder>   record, compare: take the GPU's outputs from a folder that dump has written

Without a group: all of them. A program that the GPU refuses, that faults or that has not ended after 15 s is named;
record and dump continue after it in a new process. What is in the folder already stays; to record it again, take it away
first. The groups sequence0 to sequence7 may be recorded at the same time.
Exit status: 0 all equal, 1 differences, 2 an error.
)";

int fail(const std::string &message) {
  fmt::print(stderr, "error: {}\n", message);
  return 2;
}

std::optional<std::string> readFile(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

bool writeFile(const std::filesystem::path &path, const void *bytes, size_t count) {
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char *>(bytes), std::streamsize(count));
  return bool(file);
}

std::string groupOf(const std::string &name) { return name.substr(0, name.find('.')); }

size_t print(const Program &program, const std::vector<Difference> &differences) {
  for (const Difference &difference : differences)
    fmt::print("{}: '{}': {}\n", program.name, difference.column, difference.text);
  return differences.size();
}

enum class Action : uint8_t { record, check, compare, emulate, dump };

struct Request {
  Action action = Action::emulate;
  std::filesystem::path folder = {};
  std::filesystem::path outputs = {}; ///< empty: a GPU's
};

/// What one invocation does to each group in turn.
class Suite {
public:
  explicit Suite(Request request, std::optional<Progress> progress = {})
      : request(std::move(request)), progress(progress) {}

  /// The status of the process.
  int run(const std::vector<std::string> &names) {
    const bool emulates = request.action == Action::check || request.action == Action::compare ||
                          request.action == Action::emulate;
    const bool needsGpu = request.action == Action::record || request.action == Action::compare ||
                          request.action == Action::dump;
    if (needsGpu && request.outputs.empty()) {
      Result<Machine> found = cudaMachine(0);
      if (!found)
        return fail(found.error().message);
      gpu = std::move(*found);
      fmt::print("{}\n", gpu.device->properties().name);
    }
    if (emulates)
      emulated = emulatorMachine();
    if (request.action == Action::emulate)
      otherOrder = emulatorMachine(1);
    if (request.action == Action::record || request.action == Action::dump)
      std::filesystem::create_directories(request.folder);
    for (const std::string &name : names)
      if (!runAll(name))
        return hasEnded ? programFailed : 2;
    fmt::print("{} programs, {} columns, {} differences, {} errors\n", programs, columns, differences,
               errors);
    return errors ? 2 : differences ? 1 : 0;
  }

private:
  std::string deviceName() const {
    if (gpu.device)
      return gpu.device->properties().name;
    return readFile(request.outputs / "device").value_or("unknown");
  }

  /// A group, or one program of it.
  bool runAll(const std::string &name) {
    const std::string group = groupOf(name);
    const std::filesystem::path path = request.folder / (group + ".txt");
    Recording recording;
    if (request.action == Action::check) {
      const std::optional<std::string> text = readFile(path);
      if (!text)
        return fail(fmt::format("cannot read '{}'", path.string())), false;
      Result<Recording> parsed = parseRecording(group, *text);
      if (!parsed)
        return fail(parsed.error().message), false;
      recording = std::move(*parsed);
    } else if (request.action == Action::record) {
      if (const std::optional<std::string> text = readFile(path))
        if (Result<Recording> parsed = parseRecording(group, *text))
          recording = std::move(*parsed);
      recording.device = deviceName();
    }
    for (const Program &program : programsOf(group)) {
      if (name != group && name != program.name)
        continue;
      ++programs;
      columns += program.columns.size();
      if (Result<void> done = runOne(program, group, recording); !done) {
        ++errors;
        fmt::print("{}: {}\n", program.name, done.error().message);
        // After an error of the GPU nothing more can run in this process.
        if (progress)
          return hasEnded = true, false;
      }
    }
    return request.action != Action::record || write(group, recording);
  }

  bool write(const std::string &group, const Recording &recording) {
    const std::filesystem::path path = request.folder / (group + ".txt");
    const std::string text = toText(group, recording);
    return writeFile(path, text.data(), text.size()) ||
           (fail(fmt::format("cannot write '{}'", path.string())), false);
  }

  Result<void> recordOne(const Program &program, const std::string &group, Recording &recording) {
    RecordedProgram &recorded = recording.programs[program.name];
    const uint64_t print = fingerprint(program);
    if (recorded.fingerprint == print)
      return {};
    // Without columns for as long as it has not succeeded: it may end this process.
    recorded = {.fingerprint = print};
    if (gpu.device && !write(group, recording))
      return Error{ErrorKind::environment, "nothing recorded"};
    if (progress)
      progress->begin(program.name);
    Result<std::vector<std::byte>> output = outputOf(program);
    if (!output)
      return output.error();
    recorded = record(program, *output);
    return {};
  }

  /// What the GPU computed, now or when it was dumped.
  Result<std::vector<std::byte>> outputOf(const Program &program) {
    if (gpu.device)
      return runProgram(gpu, program);
    const std::filesystem::path path = request.outputs / (program.name + ".bin");
    const std::optional<std::string> bytes = readFile(path);
    uint64_t print = 0;
    if (!bytes || bytes->size() != sizeof(print) + program.output.size())
      return Error{ErrorKind::environment, fmt::format("'{}' holds no output of it", path.string())};
    std::memcpy(&print, bytes->data(), sizeof(print));
    if (print != fingerprint(program))
      return Error{ErrorKind::environment,
                   fmt::format("'{}' is the output of another program", path.string())};
    const auto *begin = reinterpret_cast<const std::byte *>(bytes->data()) + sizeof(print);
    return std::vector<std::byte>(begin, begin + program.output.size());
  }

  Result<void> dump(const Program &program) {
    const std::filesystem::path path = request.folder / (program.name + ".bin");
    if (std::filesystem::exists(path))
      return {};
    const std::string name = deviceName();
    // Empty for as long as it has not succeeded.
    if (!writeFile(request.folder / "device", name.data(), name.size()) || !writeFile(path, "", 0))
      return Error{ErrorKind::environment, fmt::format("cannot write '{}'", path.string())};
    progress->begin(program.name);
    Result<std::vector<std::byte>> output = runProgram(gpu, program);
    if (!output)
      return output.error();
    const uint64_t print = fingerprint(program);
    std::string bytes(reinterpret_cast<const char *>(&print), sizeof(print));
    bytes.append(reinterpret_cast<const char *>(output->data()), output->size());
    if (!writeFile(path, bytes.data(), bytes.size()))
      return Error{ErrorKind::environment, fmt::format("cannot write '{}'", path.string())};
    return {};
  }

  Result<void> runOne(const Program &program, const std::string &group, Recording &recording) {
    if (request.action == Action::dump)
      return dump(program);
    if (request.action == Action::record)
      return recordOne(program, group, recording);
    Result<std::vector<std::byte>> ours = std::vector<std::byte>();
    if (emulated.device)
      ours = runProgram(emulated, program);
    if (!ours)
      return ours.error();
    if (request.action == Action::emulate) {
      const Result<std::vector<std::byte>> others = runProgram(otherOrder, program);
      if (!others)
        return others.error();
      differences += print(program, compareOutputs(program, *ours, *others));
      return {};
    }
    if (request.action == Action::check) {
      auto found = recording.programs.find(program.name);
      Result<std::vector<Difference>> result =
          compare(program, *ours, found == recording.programs.end() ? RecordedProgram() : found->second);
      if (!result)
        return result.error();
      differences += print(program, *result);
      return {};
    }
    Result<std::vector<std::byte>> theirs = outputOf(program);
    if (!theirs)
      return theirs.error();
    differences += print(program, compareOutputs(program, *ours, *theirs));
    return {};
  }

  Request request;
  std::optional<Progress> progress; ///< where a GPU's errors end the process
  bool hasEnded = false;            ///< in a program
  Machine gpu, emulated, otherOrder;
  size_t programs = 0, columns = 0, differences = 0, errors = 0;
};

constexpr std::chrono::seconds longestProgram{15};

int printProgram(const std::string &name) {
  for (const Program &program : programsOf(groupOf(name)))
    if (program.name == name) {
      fmt::print("{}", program.ptx);
      return 0;
    }
  return fail(fmt::format("there is no program '{}'", name));
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    fmt::print("{}", help);
    return words.empty() ? 2 : 0;
  }
  const std::string verb = words[0];
  const std::vector<std::string> known = groupNames();
  if (verb == "list") {
    for (const std::string &group : known)
      fmt::print("{}\n", group);
    return 0;
  }
  if (verb == "ptx")
    return words.size() == 2 ? printProgram(words[1]) : fail("expected the name of one program");
  constexpr std::pair<std::string_view, Action> actions[] = {{"record", Action::record},
                                                             {"check", Action::check},
                                                             {"compare", Action::compare},
                                                             {"emulate", Action::emulate},
                                                             {"dump", Action::dump}};
  const auto action =
      std::ranges::find(actions, std::string_view(verb), &std::pair<std::string_view, Action>::first);
  if (action == std::end(actions))
    return fail(
        fmt::format("expected record, check, compare, emulate, dump, ptx or list, but got '{}'", verb));
  Request request = {.action = action->second};
  if (auto option = std::ranges::find(words, "--outputs"); option != words.end()) {
    if (option + 1 == words.end() || (request.action != Action::record && request.action != Action::compare))
      return fail("'--outputs' needs a folder, and is for record and compare");
    request.outputs = option[1];
    words.erase(option, option + 2);
  }
  size_t next = 1;
  if (request.action == Action::record || request.action == Action::check || request.action == Action::dump) {
    if (words.size() < 2)
      return fail(fmt::format("'{}' needs a folder", verb));
    request.folder = words[next++];
  }
  const std::vector<std::string> names(words.begin() + ptrdiff_t(next), words.end());
  for (const std::string &name : names) {
    if (std::ranges::find(known, groupOf(name)) == known.end())
      return fail(fmt::format("expected a group of {}, but got '{}'", fmt::join(known, ", "), name));
    if (request.action == Action::record && name != groupOf(name))
      return fail(
          fmt::format("a group is recorded as a whole: expected '{}', but got '{}'", groupOf(name), name));
  }
  const std::vector<std::string> &chosen = names.empty() ? known : names;
  if (request.action == Action::dump || (request.action == Action::record && request.outputs.empty()))
    return runWatched(longestProgram,
                      [&](const Progress &progress) { return Suite(request, progress).run(chosen); });
  return Suite(std::move(request)).run(chosen);
}
