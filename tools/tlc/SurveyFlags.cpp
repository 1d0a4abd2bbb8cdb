// SPDX-License-Identifier: Apache-2.0
/// \file
/// Surveys from the command line.
#include "tools/tlc/SurveyFlags.h"

#include "runtime/support/Excerpt.h"
#include "tools/tlc/Heartbeat.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

Result<std::string> driver::readTextFile(const std::string &path) {
  constexpr size_t most = size_t(256) << 20;
  const auto cannot = [&](const std::string &why) {
    return tlc::Error{ErrorKind::invalidArgument, "cannot read '" + excerpt(path) + "': " + why};
  };
  sys::fs::file_status status;
  if (path != "-") {
    if (std::error_code error = sys::fs::status(path, status))
      return cannot(error.message());
    if (status.type() != sys::fs::file_type::regular_file && status.type() != sys::fs::file_type::fifo_file)
      return cannot("expected a file, a pipe or -, but it is none");
  }
  std::unique_ptr<std::FILE, decltype([](std::FILE *file) { std::fclose(file); })> file(
      path == "-" ? fdopen(dup(STDIN_FILENO), "rb") : std::fopen(path.c_str(), "rb"));
  if (!file)
    return cannot(std::strerror(errno));
  // Piecewise: what never ends has no size to look at.
  std::string text;
  while (text.size() <= most) {
    const size_t begin = text.size();
    constexpr size_t piece = size_t(1) << 20;
    text.resize(begin + piece);
    text.resize(begin + std::fread(text.data() + begin, 1, piece, file.get()));
    if (std::ferror(file.get()))
      return cannot(std::strerror(errno));
    if (text.size() != begin + piece)
      return text;
  }
  return cannot("expected at most " + std::to_string(most >> 20) + " MiB of text, but it is larger");
}

tlc::Error driver::inFile(const std::string &path, const tlc::Error &error) {
  return {error.kind, excerpt(path) + ": " + error.message};
}

Tally &Tally::operator+=(const Tally &other) {
  mutants += other.mutants;
  equivalent += other.equivalent;
  wrong += other.wrong;
  return *this;
}

void Tally::print() const {
  outs() << mutants << " mutants, " << equivalent << " equivalent, " << wrong << " wrong\n";
}

void Tally::printJson(uint64_t seed, json::Array report) const {
  outs() << json::Value(json::Object{{"seed", seed},
                                     {"programs", std::move(report)},
                                     {"mutants", uint64_t(mutants)},
                                     {"equivalent", uint64_t(equivalent)},
                                     {"wrong", uint64_t(wrong)}})
         << '\n';
}

static json::Object toJson(const mutate::Survey &survey, bool verbose) {
  json::Object found;
  const auto counts = survey.counts();
  for (size_t i = 1; i != counts.size(); ++i)
    if (counts[i] != 0)
      found[StringRef(toString(mutate::Detection(i)))] = uint64_t(counts[i]);
  json::Array wrong, tried;
  for (const mutate::Survey::Entry *entry : survey.wrong())
    wrong.push_back(json::fixUTF8(survey.complaint(*entry)));
  json::Object object{{"program", json::fixUTF8(survey.origin().text())},
                      {"mutants", uint64_t(survey.entries().size())},
                      {"found", std::move(found)},
                      {"equivalent", uint64_t(survey.equivalentCount())},
                      {"missed", uint64_t(counts[0])},
                      {"wrong", std::move(wrong)}};
  if (!verbose)
    return object;
  for (const mutate::Survey::Entry &entry : survey.entries())
    tried.push_back(json::Object{
        {"mutant", json::fixUTF8(entry.mutant.key())},
        {"by", entry.equivalent ? std::string("equivalent") : std::string(toString(entry.outcome.detection))},
        {"message", json::fixUTF8(entry.equivalent ? entry.equivalent->reason : entry.outcome.message)}});
  object["tried"] = std::move(tried);
  return object;
}

SurveyFlags::SurveyFlags(cl::SubCommand &command)
    : equivalentFile("equivalent", cl::sub(command), cl::value_desc("file"),
                     cl::desc("Mutants that are as good as the program, with reasons")),
      sourceFolder("sources", cl::sub(command), cl::value_desc("folder"), cl::init("."),
                   cl::desc("Where the paths of the kernel's lines begin; mutants are named by their text")),
      verbose("verbose", cl::sub(command), cl::desc("Say of every mutant what found it")),
      threads("threads", cl::sub(command), cl::value_desc("count"), cl::init(0),
              cl::desc("Mutants that are tried at a time (default: one per core)")) {}

Result<void> SurveyFlags::check() const {
  constexpr unsigned most = 1024;
  if (threads.getNumOccurrences() && (threads < 1 || threads > most))
    return tlc::Error{ErrorKind::invalidArgument, "expected --threads from 1 to " + std::to_string(most) +
                                                      ", but got " + std::to_string(threads)};
  return {};
}

Result<std::vector<mutate::Equivalent>> SurveyFlags::equivalents() const {
  if (equivalentFile.empty())
    return std::vector<mutate::Equivalent>();
  Result<std::string> text = readTextFile(equivalentFile);
  if (!text)
    return text.error();
  Result<std::vector<mutate::Equivalent>> parsed = mutate::parseEquivalents(*text);
  return parsed ? parsed : inFile(equivalentFile, parsed.error());
}

Result<Tally> SurveyFlags::run(mutate::Origin origin, std::string_view ptx, const mutate::Trial &trial,
                               std::span<const mutate::Equivalent> equivalents, json::Array *report) const {
  std::atomic<size_t> tried = 0, mutants = 0;
  const Heartbeat heartbeat([&, what = origin.text()] {
    return mutants == 0 ? fmt::format("{}: running the program itself", what)
                        : fmt::format("{}: {} of {} mutants tried", what, tried.load(), mutants.load());
  });
  Result<mutate::Survey> survey = mutate::Survey::make(
      std::move(origin), ptx, trial, equivalents, mutate::Sources(sourceFolder.getValue()), threads,
      [&](size_t count, size_t of) { tried = count, mutants = of; });
  if (!survey)
    return survey.error();
  const std::vector<const mutate::Survey::Entry *> wrong = survey->wrong();
  const Tally tally{survey->entries().size(), survey->equivalentCount(), wrong.size()};
  if (report) {
    report->push_back(toJson(*survey, verbose));
    return tally;
  }
  outs() << survey->summary() << '\n';
  if (verbose)
    for (const mutate::Survey::Entry &entry : survey->entries()) {
      outs() << "  " << entry.mutant.key() << ": ";
      if (entry.equivalent)
        outs() << "equivalent: " << entry.equivalent->reason << '\n';
      else
        outs() << StringRef(toString(entry.outcome.detection)) << ": "
               << StringRef(entry.outcome.message).split('\n').first << '\n';
    }
  for (const mutate::Survey::Entry *entry : wrong)
    outs() << "  " << survey->complaint(*entry) << '\n';
  outs().flush();
  return tally;
}
