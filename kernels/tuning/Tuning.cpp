// SPDX-License-Identifier: Apache-2.0
/// \file
/// Chooses lines of tuning for requests.
#include "kernels/tuning/Tuning.h"

#include "kernels/library/call/BuildId.h"
#include "runtime/support/Excerpt.h"
#include "runtime/support/Hash.h"
#include "runtime/support/Printable.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <system_error>

using namespace tlc;
using namespace tlc::kernels;

namespace {

/// True if the line was measured for what is asked, on whatever device and build.
bool fits(const TuningLine &line, const TuningLine &problem) {
  if (line.sizes.size() != problem.sizes.size())
    return false;
  for (const auto &[name, range] : problem.sizes)
    if (auto found = line.sizes.find(name); found == line.sizes.end() || !found->second.contains(range.at))
      return false;
  for (const auto &[name, value] : problem.parameters) {
    auto fixed = line.parameters.find(name), tried = line.values.find(name);
    if (fixed != line.parameters.end() ? fixed->second != value
                                       : tried == line.values.end() || tried->second != value)
      return false;
  }
  return std::ranges::all_of(line.parameters,
                             [&](const auto &each) { return problem.parameters.contains(each.first); });
}

/// How far the problem's sizes are from the measured ones.
double distance(const TuningLine &line, const TuningLine &problem) {
  double sum = 0;
  for (const auto &[name, range] : problem.sizes)
    sum += std::abs(std::log((double(range.at) + 1) / (double(line.sizes.at(name).at) + 1)));
  return sum;
}

std::string linesOf(size_t count, const Kernel &kernel) {
  return fmt::format("{} line{} of tuning for '{}'", count, count == 1 ? "" : "s", kernel.name());
}

} // namespace

std::string kernels::buildOf(const Kernel &kernel) {
  const std::string text = buildId() + ' ' + kernel.code();
  Hash128 hash;
  hash.update(std::as_bytes(std::span(text)));
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

bool kernels::isGiven(const Request &request, const Parameter &parameter) {
  const auto found = request.given.find(parameter.name);
  return found != request.given.end() && found->second != "auto";
}

TuningLine kernels::problemOf(const Request &request, std::string_view device) {
  const Kernel &kernel = *request.kernel;
  TuningLine line = {
      .device = std::string(device), .build = buildOf(kernel), .kernel = std::string(kernel.name())};
  for (const Parameter &parameter : kernel.parameters()) {
    if (parameter.isScalar() || (parameter.isOpen() && !isGiven(request, parameter)))
      continue;
    if (parameter.isDimension())
      line.sizes[parameter.name] = SizeRange::around(request.values.size(parameter.name));
    else
      line.parameters[parameter.name] = std::string(*request.values.find(parameter.name));
  }
  return line;
}

Result<Tuning> Tuning::read(const std::filesystem::path &folder) {
  Tuning tuning;
  tuning.folder = folder;
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".jsonl")
      files.push_back(entry->path());
  if (error)
    return Error{ErrorKind::invalidArgument, formatMessage("cannot read the folder of tuning '{}': {}",
                                                           folder.native(), error.message())};
  std::ranges::sort(files);
  for (const std::filesystem::path &file : files) {
    Result<std::string> text = readTuningFile(file);
    if (!text)
      return text.error();
    Result<TuningLines> parsed = parseTuningLines(*text, file.native());
    if (!parsed)
      return parsed.error();
    std::ranges::move(parsed->lines, std::back_inserter(tuning.lines));
    tuning.ofOtherVersions += parsed->ofOtherVersions;
  }
  return tuning;
}

Tuned Tuning::apply(const Request &request, const DeviceProperties &device) const {
  const Kernel &kernel = *request.kernel;
  const TuningLine problem = problemOf(request, device.name);
  Tuned tuned = {request};
  size_t foreign = 0, older = 0;
  std::string otherDevice;
  const TuningLine *best = nullptr;
  double nearest = std::numeric_limits<double>::infinity();
  for (const TuningLine &line : lines) {
    if (line.kernel != problem.kernel || !line.skipped.empty())
      continue;
    if (line.device != problem.device) {
      ++foreign;
      otherDevice = line.device;
    } else if (line.build != problem.build) {
      ++older;
    } else if (fits(line, problem)) {
      if (const double far = distance(line, problem); far <= nearest)
        nearest = far, best = &line;
    }
  }
  constexpr size_t mostShown = 100;
  if (foreign)
    tuned.remarks.push_back(fmt::format("{} {} ignored because {} of another device ('{}'), but this is '{}'",
                                        linesOf(foreign, kernel), foreign == 1 ? "is" : "are",
                                        foreign == 1 ? "it is" : "they are",
                                        printable(otherDevice, mostShown), device.name));
  if (older)
    tuned.remarks.push_back(
        fmt::format("{} {} ignored because the kernel or tlc has changed since; 'tlc tune' "
                    "measures again",
                    linesOf(older, kernel), older == 1 ? "is" : "are"));
  if (ofOtherVersions)
    tuned.remarks.push_back(
        formatMessage("{} line(s) of tuning in '{}' are ignored because they are of another "
                      "version of the format than {}",
                      ofOtherVersions, folder.native(), tuningVersion));
  if (!best || best->values.empty())
    return tuned;
  Definitions given = request.given;
  for (const auto &[name, value] : best->values)
    given[name] = value;
  const auto refuse = [&](const std::string &why) {
    tuned.remarks.push_back(
        fmt::format("a line of tuning for '{}' is ignored because of its values: {}", kernel.name(), why));
    return tuned;
  };
  const auto isOpen = [&](const auto &value) {
    return std::ranges::any_of(kernel.parameters(), [&](const Parameter &parameter) {
      return parameter.name == value.first && parameter.isOpen();
    });
  };
  if (const auto other = std::ranges::find_if_not(best->values, isOpen); other != best->values.end())
    return refuse(fmt::format("'{}' is no open parameter", printable(other->first, mostShown)));
  Result<Request> changed =
      Request::parse(kernel, given, request.fixedDimensions,
                     request.ofEmulator.empty() ? DefaultSizes::usual : DefaultSizes::emulator);
  if (!changed)
    return refuse(printable(changed.error().message, 1000));
  if (const Target *target = findTarget(device.target))
    if (std::string conflict = kernel.conflictOn(*target, changed->values); !conflict.empty())
      return refuse(conflict);
  tuned.request = std::move(*changed);
  tuned.request.given = request.given; // what a line gives may be given otherwise the next time
  tuned.isChanged = true;
  return tuned;
}
