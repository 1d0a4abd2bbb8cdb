// SPDX-License-Identifier: Apache-2.0
/// \file
/// What of tlc/kernel.h needs no compiling with each file of kernels: nothing here throws.
#define TLC_READS_KERNEL_FILES
#include "kernels/file/kernel.h"
#include "runtime/support/NearestName.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

using namespace tlc;

namespace {

constexpr int64_t largest = 0x7fffffff; // of parameters, where a kernel does not say

/// "expected a tensor (X, Y), but got 'Z'; the nearest name is 'Y'".
template <class Named>
std::string unknown(std::string what, const char *none, const Named &named, std::string_view name) {
  std::string known;
  std::vector<std::string_view> names;
  for (const auto &[each, value] : named) {
    known += (known.empty() ? "" : ", ") + each;
    names.push_back(each);
  }
  return "expected " + what + " (" + (known.empty() ? none : known) + "), but got '" + std::string(name) +
         "'" + nearestText(name, names);
}

std::string join(std::span<const int64_t> list) {
  std::string text;
  for (int64_t each : list)
    text += (text.empty() ? "" : ", ") + std::to_string(each);
  return text;
}

template <class T>
std::string parse(std::string_view name, const std::string &whole, const char *what, T &value) {
  auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
  if (error == std::errc() && end == whole.data() + whole.size())
    return "";
  return "expected parameter '" + std::string(name) + "' to be " + what +
         " because it is read as one, but it is '" + whole +
         "'; v[name] reads integers, v.number(name) numbers, v.type(name) element types, "
         "v.text(name) any";
}

HostInputs::Found findIn(const HostInputs::Tensors &tensors, std::string_view name) {
  if (auto found = tensors.find(name); found != tensors.end())
    return {&found->second};
  return {nullptr, unknown("a tensor that has contents here", "none has", tensors, name)};
}

} // namespace

Values::Values(Texts texts, std::vector<std::string> ofLaunch)
    : texts(std::move(texts)), ofLaunch(std::move(ofLaunch)) {}
Values::~Values() = default;

std::string Values::read(std::string_view name, const std::string *&text) const {
  for (const auto &[key, value] : texts)
    if (key == name) {
      text = &value;
      return "";
    }
  if (std::ranges::find(ofLaunch, name) != ofLaunch.end())
    return "expected a parameter that is known while the program is traced, but '" + std::string(name) +
           "' is a scalar, which a launch gives; use k.scalar(\"" + std::string(name) + "\", ...)";
  return unknown("a parameter of the kernel", "it has none", texts, name);
}

std::string Values::read(std::string_view name, int64_t &value) const {
  const std::string *text = nullptr;
  std::string wrong = read(name, text);
  return text ? parse(name, *text, "an integer", value) : wrong;
}

std::string Values::read(std::string_view name, double &value) const {
  const std::string *text = nullptr;
  std::string wrong = read(name, text);
  return text ? parse(name, *text, "a number", value) : wrong;
}

std::string Values::read(std::string_view name, ElementType &value) const {
  const std::string *text = nullptr;
  std::string wrong = read(name, text);
  if (!text)
    return wrong;
  const std::optional<ElementType> element = parseElementType(*text);
  if (!element)
    return "expected the name of an element type, but parameter '" + std::string(name) + "' is '" + *text +
           "'";
  value = *element;
  return "";
}

HostArray::HostArray(std::string name, std::vector<int64_t> shape, std::span<const double> numbers)
    : name(std::move(name)), extents(std::move(shape)), numbers(numbers) {}
HostArray::HostArray(const HostArray &) = default;
HostArray::~HostArray() = default;

const double *HostArray::find(std::span<const int64_t> at) const {
  if (at.size() != extents.size())
    return nullptr;
  int64_t number = 0;
  for (size_t axis = 0; axis != extents.size(); ++axis) {
    if (at[axis] < 0 || at[axis] >= extents[axis])
      return nullptr;
    number = number * extents[axis] + at[axis];
  }
  return &numbers[size_t(number)];
}

std::string HostArray::outside(std::span<const int64_t> at) const {
  return "expected a position in '" + name + "' of extents " + join(extents) + ", but got " + join(at);
}

HostInputs::Found HostInputs::find(std::string_view name) const { return findIn(tensors, name); }

HostInputs::Found HostInputs::find(std::string_view name, int64_t of) const {
  if (of < 0 || of >= int64_t(ofRanks.size()))
    return {nullptr, "expected a rank from 0 to " + std::to_string(int64_t(ofRanks.size()) - 1) + " of '" +
                         std::string(name) + "', but got " + std::to_string(of)};
  if (of != rank && ofRanks[size_t(of)].empty() && !tensors.empty())
    return {nullptr, "expected a tensor of rank " + std::to_string(rank) +
                         " because contents see those of their own rank, but got '" + std::string(name) +
                         "' of rank " + std::to_string(of)};
  return findIn(ofRanks[size_t(of)], name);
}

std::string tlc::detail::compress(std::span<const double> dense, int64_t columns, int64_t group,
                                  SparseMatrix &matrix) {
  const size_t extent = size_t(group), stored = extent / 2;
  if ((group != 4 && group != 2) || columns < 0 || columns % (2 * group) != 0 ||
      (columns == 0 ? !dense.empty() : dense.size() % size_t(columns) != 0))
    return "expected rows of groups of 4 elements, or of 2 of f32, two for each byte of metadata, but got " +
           std::to_string(dense.size()) + " elements in rows of " + std::to_string(columns) +
           " and groups of " + std::to_string(group);
  matrix.metadata.assign(dense.size() / (2 * extent), 0);
  for (size_t at = 0; at != dense.size(); at += extent) {
    std::vector<size_t> places;
    for (bool isZero : {false, true})
      for (size_t i = 0; i != extent; ++i)
        if ((dense[at + i] == 0) == isZero && (!isZero || places.size() < stored))
          places.push_back(i);
    if (places.size() > stored)
      return "expected " + std::to_string(stored) + " elements other than 0 at most in " +
             std::to_string(extent) + ", but got " + std::to_string(places.size()) + " from element " +
             std::to_string(at) + " on";
    std::sort(places.begin(), places.end());
    for (size_t place : places)
      matrix.values.push_back(dense[at + place]);
    // Elements of 32 bits count as two of 16.
    size_t low = group == 4 ? places[0] : 2 * places[0], high = group == 4 ? places[1] : low + 1;
    matrix.metadata[at / (2 * extent)] += double((high << 2 | low) << (at / extent % 2 * 4));
  }
  return "";
}

std::string tlc::detail::otherAxes(size_t expected, size_t actual) {
  return "expected a function of " + std::to_string(expected) +
         " positions because the tensor has as many axes, but got one of " + std::to_string(actual);
}

KernelEntry::KernelEntry(std::string name, std::string summary, dsl::Loc where)
    : name(std::move(name)), summary(std::move(summary)), where(where) {}
KernelEntry::~KernelEntry() = default;

KernelEntry &KernelEntry::size(const Name &name, int64_t fallback, const Limits &limits) {
  return integer(kernels::Parameter::Kind::size, name, fallback, limits);
}

KernelEntry &KernelEntry::constant(const Name &name, int64_t fallback, const Limits &limits) {
  return integer(kernels::Parameter::Kind::constant, name, fallback, limits);
}

KernelEntry &KernelEntry::number(const Name &name, double fallback, const Limits &limits) {
  parameters.push_back({noted("parameter", name), limits.help, kernels::Parameter::Kind::number,
                        textOf(fallback), limits.least.value_or(-largest), limits.most.value_or(largest)});
  parameters.back().mayBeAuto = false;
  return *this;
}

std::string KernelEntry::textOf(double number) {
  char digits[32];
  for (int count = 6; count <= 17; ++count)
    if (std::snprintf(digits, sizeof(digits), "%.*g", count, number); std::strtod(digits, nullptr) == number)
      break;
  return digits;
}

KernelEntry &KernelEntry::addScalar(const Name &name, ElementType type, std::string fallback,
                                    const Limits &limits) {
  kernels::Parameter parameter{noted("parameter", name), limits.help, kernels::Parameter::Kind::scalar,
                               std::move(fallback)};
  const int64_t most = int64_t(~uint64_t(0) >> (isFloat(type) ? 1 : 65 - bitsOf(type)));
  parameter.least = std::max(limits.least.value_or(-most - 1), -most - 1);
  parameter.most = std::min(limits.most.value_or(most), most);
  parameter.multipleOf = limits.multipleOf;
  parameter.element = type;
  if (limits.onEmulator)
    emulatorSizes[name.value] = std::to_string(*limits.onEmulator);
  parameter.position = std::string(name.loc.file_name()) + ":" + std::to_string(name.loc.line()) + ":" +
                       std::to_string(name.loc.column());
  parameters.push_back(std::move(parameter));
  return *this;
}

KernelEntry &KernelEntry::choice(const Name &name, std::vector<std::string> choices, std::string help) {
  kernels::Parameter parameter{noted("parameter", name), std::move(help), kernels::Parameter::Kind::choice,
                               choices.empty() ? "" : choices.front()};
  parameter.choices = std::move(choices);
  parameters.push_back(std::move(parameter));
  return *this;
}

KernelEntry &KernelEntry::type(const Name &name, std::initializer_list<ElementType> types, std::string help) {
  std::vector<std::string> names;
  for (ElementType each : types)
    names.emplace_back(toString(each));
  return choice(name, std::move(names), std::move(help));
}

KernelEntry &KernelEntry::open(const Name &name, std::initializer_list<int64_t> values, std::string help) {
  std::vector<std::string> texts;
  for (int64_t each : values)
    texts.push_back(std::to_string(each));
  return addOpen(name, std::move(texts), std::move(help));
}

KernelEntry &KernelEntry::open(const Name &name, std::initializer_list<std::string> values,
                               std::string help) {
  return addOpen(name, values, std::move(help));
}

KernelEntry &KernelEntry::addOpen(const Name &name, std::vector<std::string> values, std::string help) {
  choice(name, values, std::move(help));
  parameters.back().candidates = std::move(values);
  return *this;
}

KernelEntry &KernelEntry::ranks(int64_t fallback, dsl::Loc where) {
  hasRanks = true;
  return constant(Name("ranks", where), fallback,
                  {.least = 1, .most = mostRanks, .help = "devices that run it together"});
}

KernelEntry &KernelEntry::random(const Name &tensor, double low, double high) {
  ranges[noted("random", tensor)] = {low, high};
  return *this;
}

KernelEntry &KernelEntry::tolerance(const Name &tensor, Tolerance limit) {
  tolerances[noted("tolerance", tensor)] = limit;
  return *this;
}

KernelEntry &KernelEntry::members(const Name &table, std::vector<std::string> sizes) {
  tables[noted("members", table)] = std::move(sizes);
  return *this;
}

KernelEntry &KernelEntry::bench(Definitions values, dsl::Loc where) {
  places[{"bench", std::to_string(suite.size())}] = where;
  suite.push_back(std::move(values));
  return *this;
}

KernelEntry &KernelEntry::setContents(const Name &tensor, HostFunction function) {
  inputs[noted("contents", tensor)] = std::move(function);
  return *this;
}

KernelEntry &KernelEntry::setReference(const Name &tensor, HostFunction function) {
  outputs[noted("reference", tensor)] = std::move(function);
  return *this;
}

KernelEntry &KernelEntry::setMembers(const Name &table, std::vector<std::string> sizes,
                                     MemberFunction function) {
  extentsOfMembers[table.value] = std::move(function);
  return members(table, std::move(sizes));
}

std::string KernelEntry::noted(const char *call, const Name &name) {
  places.insert_or_assign({call, name.value}, name.loc);
  return name.value;
}

KernelEntry &KernelEntry::integer(kernels::Parameter::Kind kind, const Name &name, int64_t fallback,
                                  const Limits &limits) {
  if (limits.onEmulator)
    emulatorSizes[name.value] = std::to_string(*limits.onEmulator);
  parameters.push_back({noted("parameter", name), limits.help, kind, std::to_string(fallback),
                        limits.least.value_or(0), limits.most.value_or(largest), limits.multipleOf});
  return *this;
}

KernelEntry &KernelFile::kernel(std::string name, std::string summary, dsl::Loc where) {
  entries.push_back(std::make_unique<KernelEntry>(std::move(name), std::move(summary), where));
  return *entries.back();
}
