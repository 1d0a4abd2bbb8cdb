// SPDX-License-Identifier: Apache-2.0
/// \file
/// Descriptions as bytes.
#include "kernels/file/Description.h"

#include "kernels/file/Pack.h"

using namespace tlc;
using namespace tlc::kernels;

namespace {

void add(Packer &packer, const Definitions &definitions) {
  packer.add(definitions.size());
  for (const auto &[name, value] : definitions)
    packer.add(name).add(value);
}

void add(Packer &packer, const std::set<std::string> &names) {
  packer.add(names.size());
  for (const std::string &name : names)
    packer.add(name);
}

Definitions definitionsOf(Unpacker &unpacker) {
  Definitions definitions;
  for (size_t left = unpacker.count(); left > 0; --left) {
    std::string name = unpacker.text();
    definitions[std::move(name)] = unpacker.text();
  }
  return definitions;
}

std::set<std::string> namesOf(Unpacker &unpacker) {
  std::set<std::string> names;
  for (size_t left = unpacker.count(); left > 0; --left)
    names.insert(unpacker.text());
  return names;
}

void add(Packer &packer, const Parameter &parameter) {
  packer.add(parameter.name).add(parameter.description).add(parameter.kind).add(parameter.fallback);
  packer.add(parameter.least).add(parameter.most).add(parameter.multipleOf).add(parameter.mayBeAuto);
  packer.add(parameter.choices.size());
  for (const std::string &choice : parameter.choices)
    packer.add(choice);
  packer.add(parameter.element).add(parameter.position).add(parameter.candidates.size());
  for (const std::string &candidate : parameter.candidates)
    packer.add(candidate);
}

Parameter parameterOf(Unpacker &unpacker) {
  Parameter parameter;
  parameter.name = unpacker.text();
  parameter.description = unpacker.text();
  parameter.kind = unpacker.get(Parameter::Kind::scalar);
  parameter.fallback = unpacker.text();
  parameter.least = unpacker.get<int64_t>();
  parameter.most = unpacker.get<int64_t>();
  parameter.multipleOf = unpacker.get<int64_t>();
  parameter.mayBeAuto = unpacker.get<bool>();
  for (size_t left = unpacker.count(); left > 0; --left)
    parameter.choices.push_back(unpacker.text());
  parameter.element = unpacker.get(allElementTypes.back());
  parameter.position = unpacker.text();
  for (size_t left = unpacker.count(); left > 0; --left)
    parameter.candidates.push_back(unpacker.text());
  return parameter;
}

void add(Packer &packer, const KernelDescription &kernel) {
  packer.add(kernel.name).add(kernel.summary).add(kernel.position).add(kernel.parameters.size());
  for (const Parameter &parameter : kernel.parameters)
    add(packer, parameter);
  add(packer, kernel.emulatorSizes);
  packer.add(kernel.suite.size());
  for (const Definitions &problem : kernel.suite)
    add(packer, problem);
  packer.add(kernel.ranges.size());
  for (const auto &[name, range] : kernel.ranges)
    packer.add(name).add(range.first).add(range.second);
  add(packer, kernel.contents);
  add(packer, kernel.references);
  packer.add(kernel.tolerances.size());
  for (const auto &[name, tolerance] : kernel.tolerances)
    packer.add(name).add(tolerance.limit).add(tolerance.floor);
  packer.add(kernel.tables.size());
  for (const auto &[name, sizes] : kernel.tables) {
    packer.add(name).add(sizes.size());
    for (const std::string &size : sizes)
      packer.add(size);
  }
  packer.add(kernel.hasRanks).add(kernel.positions.size());
  for (const auto &[call, position] : kernel.positions)
    packer.add(call.first).add(call.second).add(position);
}

KernelDescription descriptionOf(Unpacker &unpacker) {
  KernelDescription kernel;
  kernel.name = unpacker.text();
  kernel.summary = unpacker.text();
  kernel.position = unpacker.text();
  for (size_t left = unpacker.count(); left > 0; --left)
    kernel.parameters.push_back(parameterOf(unpacker));
  kernel.emulatorSizes = definitionsOf(unpacker);
  for (size_t left = unpacker.count(); left > 0; --left)
    kernel.suite.push_back(definitionsOf(unpacker));
  for (size_t left = unpacker.count(); left > 0; --left) {
    auto &[low, high] = kernel.ranges[unpacker.text()];
    low = unpacker.get<double>();
    high = unpacker.get<double>();
  }
  kernel.contents = namesOf(unpacker);
  kernel.references = namesOf(unpacker);
  for (size_t left = unpacker.count(); left > 0; --left) {
    Tolerance &tolerance = kernel.tolerances[unpacker.text()];
    tolerance.limit = unpacker.get<double>();
    tolerance.floor = unpacker.get<double>();
  }
  for (size_t left = unpacker.count(); left > 0; --left) {
    std::vector<std::string> &sizes = kernel.tables[unpacker.text()];
    for (size_t more = unpacker.count(); more > 0; --more)
      sizes.push_back(unpacker.text());
  }
  kernel.hasRanks = unpacker.get<bool>();
  for (size_t left = unpacker.count(); left > 0; --left) {
    std::string call = unpacker.text(), name = unpacker.text();
    kernel.positions[{std::move(call), std::move(name)}] = unpacker.text();
  }
  return kernel;
}

} // namespace

std::string kernels::pack(const std::vector<KernelDescription> &kernels) {
  Packer packer;
  packer.add(kernels.size());
  for (const KernelDescription &kernel : kernels)
    add(packer, kernel);
  return packer.take();
}

std::optional<std::vector<KernelDescription>> kernels::unpackDescriptions(std::string_view bytes) {
  Unpacker unpacker(bytes);
  std::vector<KernelDescription> kernels;
  for (size_t left = unpacker.count(); left > 0; --left)
    kernels.push_back(descriptionOf(unpacker));
  return unpacker.isWhole() && !kernels.empty() ? std::optional(std::move(kernels)) : std::nullopt;
}
