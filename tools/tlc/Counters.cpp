// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/Counters.h"

#include "runtime/support/Printable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <fstream>
#include <iterator>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

namespace {

constexpr StringLiteral metrics = "sm__throughput.avg.pct_of_peak_sustained_elapsed,"
                                  "sm__inst_executed.sum,"
                                  "dram__bytes_read.sum,"
                                  "dram__bytes_write.sum,"
                                  "lts__t_sector_hit_rate.pct,"
                                  "l1tex__data_bank_conflicts_pipe_lsu.sum";

tlc::Error because(const Twine &reason) { return {ErrorKind::environment, reason.str()}; }

/// The fields of a line: "a","b, ""c""".
std::vector<std::string> fieldsOf(StringRef line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i != line.size(); ++i) {
    if (line[i] == '"' && quoted && line.substr(i + 1).starts_with("\""))
      fields.back() += line[++i];
    else if (line[i] == '"')
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += line[i];
  }
  return fields;
}

/// What this process was called with.
std::vector<std::string> ownArguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> arguments;
  for (StringRef rest = text; !rest.empty();) {
    const auto [argument, others] = rest.split('\0');
    arguments.push_back(argument.str());
    rest = others;
  }
  return arguments;
}

} // namespace

std::vector<std::string> driver::runArguments(ArrayRef<std::string> arguments) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const StringRef argument = arguments[i];
    if (argument == "profile" && kept.empty()) {
      kept.emplace_back("run");
      continue;
    }
    const auto [name, value] = argument.ltrim('-').split('=');
    if (argument.starts_with("-") && (name == "json" || name == "no-counters"))
      continue;
    if (argument.starts_with("-") &&
        is_contained({"o", "roofline", "block", "launch", "records", "rounds", "launches", "device"}, name)) {
      i += argument.contains('=') ? 0 : 1; // its value
      continue;
    }
    kept.push_back(argument.str());
  }
  kept.emplace_back("--device=cuda");
  return kept;
}

std::vector<Counter> driver::parseCounters(StringRef csv) {
  std::vector<Counter> counters;
  std::vector<std::string> header;
  const auto column = [&](StringRef name) { return size_t(find(header, name) - header.begin()); };
  for (StringRef line : split(csv, '\n')) {
    std::vector<std::string> fields = fieldsOf(line.trim());
    if (header.empty()) {
      if (is_contained(fields, "Metric Name"))
        header = std::move(fields);
      continue;
    }
    if (const size_t name = column("Metric Name"), unit = column("Metric Unit"),
        value = column("Metric Value");
        std::max({name, unit, value}) < fields.size())
      counters.push_back({fields[name], fields[value], fields[unit]});
  }
  return counters;
}

Result<std::vector<Counter>> driver::countersOf(StringRef entry) {
  const ErrorOr<std::string> ncu = sys::findProgramByName("ncu");
  if (!ncu)
    return because("no counters, because Nsight Compute (ncu) is not in PATH");
  const std::vector<std::string> own = ownArguments();
  if (own.empty())
    return because("no counters, because the system does not tell the command line");
  std::vector<std::string> arguments = {*ncu,
                                        "--csv",
                                        "--metrics",
                                        metrics.str(),
                                        "--launch-count",
                                        "1",
                                        "--kernel-name",
                                        entry.str(),
                                        sys::fs::getMainExecutable(nullptr, nullptr)};
  append_range(arguments, runArguments(ArrayRef(own).drop_front()));
  SmallString<128> path;
  if (const std::error_code error = sys::fs::createTemporaryFile("tlc-counters", "csv", path))
    return because("no counters, because no temporary file can be made: " + error.message());
  const FileRemover remover(path);
  constexpr unsigned seconds = 120;
  std::string trouble;
  const std::optional<StringRef> streams[] = {StringRef(), StringRef(path), StringRef(path)};
  const int status = sys::ExecuteAndWait(*ncu, SmallVector<StringRef>(arguments.begin(), arguments.end()),
                                         std::nullopt, streams, seconds, /*MemoryLimit=*/0, &trouble);
  auto text = MemoryBuffer::getFile(path, /*IsText=*/true);
  std::vector<Counter> counters = text ? parseCounters((*text)->getBuffer()) : std::vector<Counter>();
  if (status == 0 && !counters.empty())
    return counters;
  // "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance
  // Counters"
  StringRef reason = trouble;
  for (StringRef line : split(text ? (*text)->getBuffer() : StringRef(), '\n'))
    if (line.consume_front("==ERROR==") && reason.empty())
      reason = line.trim();
  return because("no counters, because ncu " +
                 (reason.empty() ? "reports none" : "fails: " + printable(reason.str(), 300)));
}
