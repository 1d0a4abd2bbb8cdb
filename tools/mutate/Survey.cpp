// SPDX-License-Identifier: Apache-2.0
/// \file
/// Surveys and what they say.
#include "tools/mutate/Survey.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::mutate;

Result<Survey> Survey::make(Origin origin, std::string_view ptx, const Trial &trial,
                            std::span<const Equivalent> equivalents, const Sources &sources, unsigned threads,
                            const OnTried &onTried, const Trial &ofListed) {
  if (Outcome outcome = trial(std::string(ptx)); outcome.detection != Detection::none)
    return Error{ErrorKind::execution, fmt::format("{}: fails as it is: {}", origin.text(), outcome.message)};
  Result<std::vector<Mutant>> mutants = mutantsOf(ptx, sources);
  if (!mutants)
    return mutants.error();
  Survey survey;
  for (Mutant &mutant : *mutants) {
    Entry entry{std::move(mutant), {}};
    auto found = std::ranges::find_if(
        equivalents, [&](const Equivalent &each) { return each.covers(origin, entry.mutant); });
    if (found != equivalents.end())
      entry.equivalent = &*found;
    survey.all.push_back(std::move(entry));
  }
  std::vector<Outcome> outcomes = tryAll(
      survey.all.size(),
      [&](size_t i) {
        const Entry &entry = survey.all[i];
        return (entry.equivalent && ofListed ? ofListed : trial)(entry.mutant.applyTo(ptx));
      },
      threads, onTried);
  for (size_t i = 0; i != outcomes.size(); ++i)
    survey.all[i].outcome = std::move(outcomes[i]);
  survey.from = std::move(origin);
  return survey;
}

size_t Survey::equivalentCount() const {
  return size_t(std::ranges::count_if(all, [](const Entry &entry) { return entry.equivalent != nullptr; }));
}

std::array<size_t, detectionCount> Survey::counts() const {
  std::array<size_t, detectionCount> counts = {};
  for (const Entry &entry : all)
    if (!entry.equivalent)
      ++counts[size_t(entry.outcome.detection)];
  return counts;
}

std::vector<const Survey::Entry *> Survey::wrong() const {
  std::vector<const Entry *> wrong;
  for (const Entry &entry : all)
    if ((entry.outcome.detection == Detection::none) != (entry.equivalent != nullptr))
      wrong.push_back(&entry);
  return wrong;
}

std::string Survey::summary() const {
  const std::array<size_t, detectionCount> counts = this->counts();
  std::string found;
  for (size_t i = 1; i != detectionCount; ++i)
    if (counts[i] != 0)
      found += fmt::format("{} {}, ", counts[i], toString(Detection(i)));
  return fmt::format("{}: {} mutants: {}{} equivalent, {} missed", from.text(), all.size(), found,
                     equivalentCount(), counts[0]);
}

std::string Survey::complaint(const Entry &entry) const {
  const Mutant &mutant = entry.mutant;
  if (!entry.equivalent)
    return fmt::format("{}: missed: {} ({}, PTX line {})", from.text(), mutant.key(), mutant.location,
                       mutant.line);
  return fmt::format("{}: line {} of the list calls it equivalent, but it is found: {}: {}", from.text(),
                     entry.equivalent->line, mutant.key(),
                     entry.outcome.message.substr(0, entry.outcome.message.find('\n')));
}
