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
#include <numeric>
#include <system_error>

using namespace tlc;
using namespace tlc::kernels;

namespace {

/// By which powers of two a size can be divided, as far as accesses of up to 16 bytes need it.
int64_t alignmentOf(int64_t size) {
  constexpr int64_t most = 16;
  return std::gcd(size, most);
}

/// True if the line was measured for what is asked, on whatever device and build.
bool fits(const TuningLine &line, const TuningLine &problem) {
  if (!line.isSameSetting(problem) || line.sizes.size() != problem.sizes.size())
    return false;
  for (const auto &[name, range] : problem.sizes)
    if (auto found = line.sizes.find(name); found == line.sizes.end() || !found->second.contains(range.at) ||
                                            alignmentOf(range.at) < alignmentOf(found->second.at))
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

std::string digestOf(const std::string &text) {
  Hash128 hash;
  hash.update(std::as_bytes(std::span(text)));
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

std::string linesOf(size_t count, const Kernel &kernel) {
  return fmt::format("{} line{} of tuning for '{}'", count, count == 1 ? "" : "s", kernel.name());
}

constexpr size_t mostShown = 100; // bytes of a text

/// The request with values of a line, or why the kernel refuses them.
Result<Request> withValues(const Request &request, const Definitions &values, const std::string &target) {
  const auto refuse = [](std::string why) { return Error{ErrorKind::invalidArgument, std::move(why)}; };
  const Kernel &kernel = *request.kernel;
  const auto isOpen = [&](const auto &value) {
    return std::ranges::any_of(kernel.parameters(), [&](const Parameter &parameter) {
      return parameter.name == value.first && parameter.isOpen();
    });
  };
  if (const auto other = std::ranges::find_if_not(values, isOpen); other != values.end())
    return refuse(fmt::format("'{}' is no open parameter", printable(other->first, mostShown)));
  Definitions given = request.given;
  for (const auto &[name, value] : values)
    given[name] = value;
  Result<Request> changed =
      Request::parse(kernel, given, request.fixedDimensions,
                     request.ofEmulator.empty() ? DefaultSizes::usual : DefaultSizes::emulator);
  if (!changed)
    return changed;
  if (const Target *found = findTarget(target))
    if (std::string conflict = kernel.conflictOn(*found, changed->values); !conflict.empty())
      return refuse(std::move(conflict));
  return changed;
}

} // namespace

std::string kernels::buildOf(const Kernel &kernel) { return digestOf(buildId() + ' ' + kernel.code()); }

bool kernels::isGiven(const Request &request, const Parameter &parameter) {
  const auto found = request.given.find(parameter.name);
  return found != request.given.end() && found->second != "auto";
}

TuningLine kernels::problemOf(const Request &request, const TuningSetting &setting) {
  const Kernel &kernel = *request.kernel;
  std::vector<std::string> fixed = request.fixedDimensions;
  std::ranges::sort(fixed);
  TuningLine line = {.device = setting.device.name,
                     .multiprocessors = setting.device.multiprocessors,
                     .build = buildOf(kernel),
                     .kernel = std::string(kernel.name()),
                     .target = setting.options.target,
                     .options = digestOf(fingerprint(setting.options)),
                     .variant = !setting.variant                         ? ""
                                : *setting.variant == Alignment::aligned ? "aligned"
                                                                         : "general",
                     .fixedDimensions = fmt::format("{}", fmt::join(fixed, ","))};
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
    if (std::error_code unknown; entry->path().extension() == ".jsonl" && entry->is_regular_file(unknown))
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

Tuned Tuning::apply(const Request &request, const TuningSetting &setting) const {
  const Kernel &kernel = *request.kernel;
  const TuningLine problem = problemOf(request, setting);
  Tuned tuned = {request};
  size_t foreign = 0, older = 0;
  std::string otherDevice;
  std::vector<std::pair<double, const TuningLine *>> matching; // with distances
  for (const TuningLine &line : lines) {
    if (line.kernel != problem.kernel || !line.skipped.empty())
      continue;
    if (line.device != problem.device) {
      ++foreign;
      otherDevice = line.device;
    } else if (line.build != problem.build) {
      ++older;
    } else if (fits(line, problem)) {
      matching.emplace_back(distance(line, problem), &line);
    }
  }
  std::ranges::sort(matching, [](const auto &a, const auto &b) { // the last of equals first
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  if (foreign)
    tuned.remarks.push_back(fmt::format("{} {} ignored because {} of another device ('{}'), but this is '{}'",
                                        linesOf(foreign, kernel), foreign == 1 ? "is" : "are",
                                        foreign == 1 ? "it is" : "they are",
                                        printable(otherDevice, mostShown), setting.device.name));
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
  for (const auto &[distance, line] : matching) {
    if (line->values.empty())
      return tuned;
    Result<Request> changed = withValues(request, line->values, setting.options.target);
    if (!changed) {
      std::string remark = fmt::format("a line of tuning for '{}' is ignored because of its values: {}",
                                       kernel.name(), printable(changed.error().message, 1000));
      if (std::ranges::find(tuned.remarks, remark) == tuned.remarks.end())
        tuned.remarks.push_back(std::move(remark));
      continue;
    }
    tuned.request = std::move(*changed);
    tuned.request.given = request.given; // what a line gives may be given otherwise the next time
    tuned.isChanged = true;
    return tuned;
  }
  return tuned;
}
