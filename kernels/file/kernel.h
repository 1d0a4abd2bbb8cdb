// SPDX-License-Identifier: Apache-2.0
/// \file
/// All that a file of kernels includes, as <tlc/kernel.h>: the language, and how `tlc` learns of the kernels.
///
///     #include <tlc/kernel.h>
///     using namespace tlc;
///     using namespace tlc::dsl;
///
///     void registerKernels(KernelFile &file) {
///       file.kernel("twice", "Y = 2 X").size("n", 1000).program([](Scope &k) {
///         Index n = k.dim("n");
///         Global X = k.input("X", f32, {n}), Y = k.output("Y", f32, {n});
///         ...
///       });
///     }
///
/// `tlc run file.cpp` compiles it to a shared object and calls `registerKernels` in a process of its own. The
/// tensors are those that the program declares, their extents the values of the sizes that have their names.
/// A function of the file may throw: what it says is reported. Everything here is header-only; the language
/// is in libtlc (docs/rationale/kernel_files.md).
#pragma once

#if defined(__clang__) ? __clang_major__ < 16 : __GNUC__ < 12
#error "tlc needs GCC 12 or clang 16, or a later version"
#endif

#include "compiler/dsl/dsl.h"
#include "kernels/Parameter.h"
#include "kernels/Tolerance.h"

#ifndef __GLIBCXX__
#error "tlc needs the C++ library of GCC (libstdc++)"
#endif

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace tlc::inline v1 {

/// Version of what follows and of the language. A file that was compiled for another one is refused.
inline constexpr uint32_t kernelFileVersion = 1;

using kernels::Definitions;
using kernels::Tolerance;

/// What a number given as a parameter may be. Left out: from 0, or from -(2^31 - 1) for real numbers, to 2^31
/// - 1.
struct Limits {
  std::optional<int64_t> least = {}, most = {};
  int64_t multipleOf = 1;                 ///< of integers
  std::optional<int64_t> onEmulator = {}; ///< default where the emulator runs the kernel
  std::string help = {};
};

/// The values of a kernel's parameters.
class Values {
public:
  using Texts = std::vector<std::pair<std::string, std::string>>;
  explicit Values(Texts texts) : texts(std::move(texts)) {}

  /// Of a size or a constant.
  int64_t operator[](std::string_view name) const { return parsed<int64_t>(name, "an integer"); }
  double number(std::string_view name) const { return parsed<double>(name, "a number"); }
  /// Of a choice among names of element types.
  ElementType type(std::string_view name) const {
    if (std::optional<ElementType> element = parseElementType(text(name)))
      return *element;
    throw std::invalid_argument("expected the name of an element type, but parameter '" + std::string(name) +
                                "' is '" + text(name) + "'");
  }
  const std::string &text(std::string_view name) const {
    std::string known;
    for (const auto &[key, value] : texts) {
      if (key == name)
        return value;
      known += (known.empty() ? "" : ", ") + key;
    }
    throw std::invalid_argument("expected a parameter of the kernel (" +
                                (known.empty() ? "it has none" : known) + "), but got '" + std::string(name) +
                                "'");
  }

private:
  template <class T> T parsed(std::string_view name, const char *what) const {
    const std::string &whole = text(name);
    T value{};
    auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
    if (error == std::errc() && end == whole.data() + whole.size())
      return value;
    throw std::invalid_argument(
        "expected parameter '" + std::string(name) + "' to be " + what +
        " because it is read as one, but it is '" + whole +
        "'; v[name] reads integers, v.number(name) numbers, v.type(name) element types, "
        "v.text(name) any");
  }

  Texts texts;
};

/// The numbers of a tensor on the host; reading outside of it throws.
class HostArray {
public:
  HostArray(std::string name, std::vector<int64_t> shape, std::span<const double> numbers)
      : name(std::move(name)), extents(std::move(shape)), numbers(numbers) {}

  const std::vector<int64_t> &shape() const { return extents; }
  template <std::integral... Positions> double operator()(Positions... positions) const {
    const int64_t at[] = {int64_t(positions)..., 0};
    int64_t number = 0;
    bool inside = sizeof...(Positions) == extents.size();
    for (size_t axis = 0; inside && axis != extents.size(); ++axis) {
      inside = at[axis] >= 0 && at[axis] < extents[axis];
      number = number * extents[axis] + at[axis];
    }
    if (!inside)
      throwOutside({at, sizeof...(Positions)});
    return numbers[size_t(number)];
  }

private:
  static std::string join(std::span<const int64_t> list) {
    std::string text;
    for (int64_t each : list)
      text += (text.empty() ? "" : ", ") + std::to_string(each);
    return text;
  }
  [[noreturn]] void throwOutside(std::span<const int64_t> at) const {
    throw std::out_of_range("expected a position in '" + name + "' of extents " + join(extents) +
                            ", but got " + join(at));
  }

  std::string name;
  std::vector<int64_t> extents;
  std::span<const double> numbers;
};

/// What functions on the host compute from.
struct HostInputs {
  using Tensors = std::map<std::string, HostArray, std::less<>>;

  const Values &values;
  /// What is read: inputs and inouts, as they were before the launch, by name. Of several ranks, those of the
  /// rank whose numbers are asked for.
  Tensors tensors;
  int64_t rank = 0, ranks = 1;
  std::vector<Tensors> ofRanks = {}; ///< of several ranks: by rank

  const HostArray &tensor(std::string_view name) const { return find(tensors, name); }
  /// That of a rank.
  const HostArray &tensor(std::string_view name, int64_t of) const {
    if (of < 0 || of >= int64_t(ofRanks.size()))
      throw std::out_of_range("expected a rank from 0 to " + std::to_string(int64_t(ofRanks.size()) - 1) +
                              " of '" + std::string(name) + "', but got " + std::to_string(of));
    if (of != rank && ofRanks[size_t(of)].empty() && !tensors.empty())
      throw std::invalid_argument("expected a tensor of rank " + std::to_string(rank) +
                                  " because contents see those of their own rank, but got '" +
                                  std::string(name) + "' of rank " + std::to_string(of));
    return find(ofRanks[size_t(of)], name);
  }

private:
  static const HostArray &find(const Tensors &tensors, std::string_view name) {
    if (auto found = tensors.find(name); found != tensors.end())
      return found->second;
    std::string known;
    for (const auto &[each, array] : tensors)
      known += (known.empty() ? "" : ", ") + each;
    throw std::invalid_argument("expected a tensor that has contents here (" +
                                (known.empty() ? "there is none" : known) + "), but got '" +
                                std::string(name) + "'");
  }
};

/// A matrix as products take their sparse left factor (dsl::Sparse), row-major.
struct SparseMatrix {
  std::vector<double> values;   ///< [rows, columns / 2]: the elements that are stored
  std::vector<double> metadata; ///< of u8: [rows, columns / 8], of f32 [rows, columns / 4]
};

/// Of a matrix whose rows of so many columns are groups of 4 elements, of f32 of 2, half of each group: those
/// that are not 0, and the first others if they are fewer. Throws where a group has more.
inline SparseMatrix compress(std::span<const double> dense, int64_t columns, int64_t group = 4) {
  const size_t extent = size_t(group), stored = extent / 2;
  if ((group != 4 && group != 2) || columns < 0 || columns % (2 * group) != 0 ||
      (columns == 0 ? !dense.empty() : dense.size() % size_t(columns) != 0))
    throw std::invalid_argument(
        "expected rows of groups of 4 elements, or of 2 of f32, two for each byte of metadata, but got " +
        std::to_string(dense.size()) + " elements in rows of " + std::to_string(columns) + " and groups of " +
        std::to_string(group));
  SparseMatrix matrix;
  matrix.metadata.assign(dense.size() / (2 * extent), 0);
  for (size_t at = 0; at != dense.size(); at += extent) {
    std::vector<size_t> places;
    for (bool isZero : {false, true})
      for (size_t i = 0; i != extent; ++i)
        if ((dense[at + i] == 0) == isZero && (!isZero || places.size() < stored))
          places.push_back(i);
    if (places.size() > stored)
      throw std::invalid_argument("expected " + std::to_string(stored) +
                                  " elements other than 0 at most in " + std::to_string(extent) +
                                  ", but got " + std::to_string(places.size()) + " from element " +
                                  std::to_string(at) + " on");
    std::sort(places.begin(), places.end());
    for (size_t place : places)
      matrix.values.push_back(dense[at + place]);
    // Elements of 32 bits count as two of 16.
    size_t low = group == 4 ? places[0] : 2 * places[0], high = group == 4 ? places[1] : low + 1;
    matrix.metadata[at / (2 * extent)] += double((high << 2 | low) << (at / extent % 2 * 4));
  }
  return matrix;
}

/// The number at a position of a tensor, one per axis.
using HostElement = std::function<double(std::span<const int64_t> at)>;
/// All numbers of a tensor, from what was read.
using HostFunction = std::function<HostElement(const HostInputs &)>;
/// Of each tensor of a table of addresses.
using MemberExtents = std::vector<std::vector<int64_t>>;

namespace detail {
/// The number of positions that a callable takes, 0 if none fits.
template <class F, size_t count = 1> constexpr size_t axesOf() {
  constexpr bool fits = []<size_t... axis>(std::index_sequence<axis...>) {
    return std::is_invocable_r_v<double, F &, decltype(int64_t(axis))...>;
  }(std::make_index_sequence<count>());
  if constexpr (fits)
    return count;
  else if constexpr (count < 6)
    return axesOf<F, count + 1>();
  else
    return 0;
}

template <class F>
  requires std::is_invocable_r_v<double, F &, std::span<const int64_t>>
HostElement hostElement(F function) {
  return function;
}

template <class F> HostElement hostElement(F function) {
  constexpr size_t axes = axesOf<F>();
  static_assert(
      axes != 0,
      "expected a function of one int64_t per axis, or of a std::span of them, that gives a number");
  return [function](std::span<const int64_t> at) mutable -> double {
    if (at.size() != axes)
      throw std::invalid_argument("expected a function of " + std::to_string(at.size()) +
                                  " positions because the tensor has as many axes, but got one of " +
                                  std::to_string(axes));
    return [&]<size_t... axis>(std::index_sequence<axis...>) {
      return double(function(at[axis]...));
    }(std::make_index_sequence<axes>());
  };
}
} // namespace detail

/// One kernel, described by calls one after the other.
class KernelEntry {
public:
  KernelEntry(std::string name, std::string summary, dsl::Loc where)
      : name(std::move(name)), summary(std::move(summary)), where(where) {}

  /// What `-D name=value` sets. A size has the name of a dimension of the program, which runs for any value;
  /// for each value of the others there is a program.
  KernelEntry &size(std::string name, int64_t fallback, const Limits &limits = {}) {
    return integer(kernels::Parameter::Kind::size, std::move(name), fallback, limits);
  }
  KernelEntry &constant(std::string name, int64_t fallback, const Limits &limits = {}) {
    return integer(kernels::Parameter::Kind::constant, std::move(name), fallback, limits);
  }
  KernelEntry &number(std::string name, double fallback, const Limits &limits = {}) {
    char digits[32];
    for (int count = 6; count <= 17; ++count)
      if (std::snprintf(digits, sizeof(digits), "%.*g", count, fallback);
          std::strtod(digits, nullptr) == fallback)
        break;
    parameters.push_back({std::move(name), limits.help, kernels::Parameter::Kind::number, digits,
                          limits.least.value_or(-largest), limits.most.value_or(largest)});
    parameters.back().mayBeAuto = false;
    return *this;
  }
  /// The first one is the default.
  KernelEntry &choice(std::string name, std::vector<std::string> choices, std::string help = {}) {
    kernels::Parameter parameter{std::move(name), std::move(help), kernels::Parameter::Kind::choice,
                                 choices.empty() ? "" : choices.front()};
    parameter.choices = std::move(choices);
    parameters.push_back(std::move(parameter));
    return *this;
  }
  /// A choice of element types.
  KernelEntry &type(std::string name, std::initializer_list<ElementType> types, std::string help = {}) {
    std::vector<std::string> names;
    for (ElementType each : types)
      names.emplace_back(toString(each));
    return choice(std::move(name), std::move(names), std::move(help));
  }

  /// The program runs on several devices at once, its ranks, as many as `--ranks` or the parameter `ranks`
  /// says, from 1 to `mostRanks`. Each has the tensors that the program declares. A reference, and contents,
  /// are asked for rank by rank: `in.rank` is the rank, `in.tensor(name, rank)` the tensor of another one.
  KernelEntry &ranks(int64_t fallback = 2) {
    hasRanks = true;
    return constant("ranks", fallback,
                    {.least = 1, .most = mostRanks, .help = "devices that run it together"});
  }

  /// A function of the scope, or of the scope and the values.
  template <class F> KernelEntry &program(F function) {
    if constexpr (std::is_invocable_v<F &, dsl::Scope &, const Values &>)
      body = std::move(function);
    else
      body = [function](dsl::Scope &k, const Values &) mutable { function(k); };
    return *this;
  }

  /// Inputs are uniform in [-1, 1), those of integers among 0 to 7, unless a call says otherwise: here in
  /// [low, high).
  KernelEntry &random(const std::string &tensor, double low, double high) {
    ranges[tensor] = {low, high};
    return *this;
  }
  /// What an input holds, from the tensors before it: `function(const HostInputs &)` gives a function from a
  /// position, one int64_t per axis, to the number there.
  template <class F> KernelEntry &contents(const std::string &tensor, F function) {
    inputs[tensor] = hostFunction(std::move(function));
    return *this;
  }
  /// What an output should hold, of the same form; `--verify` compares with it.
  template <class F> KernelEntry &reference(const std::string &tensor, F function) {
    outputs[tensor] = hostFunction(std::move(function));
    return *this;
  }
  /// Largest |actual - expected| / max(|expected|, floor); if it is not said, 0 for integers, and for floats
  /// twice the rounding error and 1e-4, with the floor 1.
  KernelEntry &tolerance(const std::string &tensor, Tolerance limit) {
    tolerances[tensor] = limit;
    return *this;
  }
  /// The extents of each tensor whose address the program's table holds, which are contiguous: names of
  /// sizes. `contents`, `reference` and `in.tensor` take them for one tensor, whose first axis counts them.
  KernelEntry &members(const std::string &table, std::vector<std::string> sizes) {
    tables[table] = std::move(sizes);
    return *this;
  }
  /// The same of tensors of their own extents, which `function(const Values &)` gives as MemberExtents: the
  /// first elements along each axis of memory of these sizes. The others are NaN, or all bits of an integer,
  /// and are not to be written.
  template <class F>
  KernelEntry &members(const std::string &table, std::vector<std::string> sizes, F function) {
    extentsOfMembers[table] = std::move(function);
    return members(table, std::move(sizes));
  }
  /// Floating-point operations, `function(const Values &)`.
  template <class F> KernelEntry &flops(F function) {
    operations = std::move(function);
    return *this;
  }
  /// One more problem for `tlc bench --suite`.
  KernelEntry &bench(Definitions values) {
    suite.push_back(std::move(values));
    return *this;
  }

  static constexpr int64_t mostRanks = 8;

  // What was said.
  std::string name, summary;
  dsl::Loc where;
  bool hasRanks = false;
  std::vector<kernels::Parameter> parameters = {};
  Definitions emulatorSizes = {};
  std::vector<Definitions> suite = {};
  std::function<void(dsl::Scope &, const Values &)> body = {};
  std::map<std::string, std::pair<double, double>> ranges = {};
  std::map<std::string, HostFunction> inputs = {}, outputs = {};
  std::map<std::string, Tolerance> tolerances = {};
  std::map<std::string, std::vector<std::string>> tables = {};
  std::map<std::string, std::function<MemberExtents(const Values &)>> extentsOfMembers = {};
  std::function<double(const Values &)> operations = {};

private:
  static constexpr int64_t largest = 0x7fffffff;

  KernelEntry &integer(kernels::Parameter::Kind kind, std::string name, int64_t fallback,
                       const Limits &limits) {
    if (limits.onEmulator)
      emulatorSizes[name] = std::to_string(*limits.onEmulator);
    parameters.push_back({std::move(name), limits.help, kind, std::to_string(fallback),
                          limits.least.value_or(0), limits.most.value_or(largest), limits.multipleOf});
    return *this;
  }
  template <class F> static HostFunction hostFunction(F function) {
    return [function](const HostInputs &in) mutable { return detail::hostElement(function(in)); };
  }
};

/// The kernels of one file, each of another name.
class KernelFile {
public:
  /// A new one, to be described further; valid until `registerKernels` returns.
  KernelEntry &kernel(std::string name, std::string summary, dsl::Loc where = dsl::Loc::current()) {
    entries.push_back(std::make_unique<KernelEntry>(std::move(name), std::move(summary), where));
    return *entries.back();
  }

  std::vector<std::unique_ptr<KernelEntry>> entries = {};
};

/// What libtlc finds in the shared object. The first two members stay what they are in all versions.
struct KernelFileInterface {
  uint32_t version;
  uint32_t layout; ///< sizes of what both sides share, as the file's compiler sees them
  void (*registerKernels)(KernelFile &);
  /// Runs the body; what it throws is caught where it was compiled, and becomes the text.
  bool (*guard)(const std::function<void()> &body, std::string &thrown);
};

namespace detail {
consteval uint32_t layoutOf(std::initializer_list<size_t> sizes) {
  uint32_t hash = 2166136261U; // FNV-1a
  for (size_t size : sizes)
    hash = (hash ^ uint32_t(size)) * 16777619U;
  return hash;
}

inline constexpr uint32_t sharedLayout = layoutOf({sizeof(KernelFile),
                                                   sizeof(KernelEntry),
                                                   sizeof(kernels::Parameter),
                                                   sizeof(Values),
                                                   sizeof(HostInputs),
                                                   sizeof(HostArray),
                                                   sizeof(Tolerance),
                                                   sizeof(dsl::Loc),
                                                   sizeof(dsl::Scope),
                                                   sizeof(dsl::Index),
                                                   sizeof(dsl::Scalar),
                                                   sizeof(dsl::Predicate),
                                                   sizeof(dsl::Fragment),
                                                   sizeof(dsl::Operand),
                                                   sizeof(dsl::Shared),
                                                   sizeof(dsl::FullBarrier),
                                                   sizeof(dsl::NamedBarrier),
                                                   sizeof(dsl::Range),
                                                   sizeof(dsl::Conversion),
                                                   sizeof(dsl::DimensionFacts),
                                                   sizeof(dsl::TensorFacts),
                                                   sizeof(dsl::MemberFacts),
                                                   sizeof(dsl::WorkspaceOptions),
                                                   sizeof(dsl::PersistentOptions),
                                                   sizeof(dsl::PipelineOptions),
                                                   sizeof(dsl::SharedOptions),
                                                   sizeof(dsl::RingOptions),
                                                   sizeof(dsl::RoleOptions),
                                                   sizeof(dsl::ProductOptions),
                                                   allElementTypes.size()});

inline bool guard(const std::function<void()> &body, std::string &thrown) {
  try {
    body();
    return true;
  } catch (const std::exception &error) {
    thrown = error.what();
  } catch (...) {
    thrown = "something that is no std::exception";
  }
  return false;
}
} // namespace detail

} // namespace tlc::inline v1

#ifndef TLC_READS_KERNEL_FILES // libtlc itself
/// The file defines it.
[[gnu::weak]] void registerKernels(tlc::KernelFile &file);

extern "C" {
[[gnu::weak, gnu::visibility("default")]] extern const tlc::KernelFileInterface tlc_kernel_file;
const tlc::KernelFileInterface tlc_kernel_file = {tlc::kernelFileVersion, tlc::detail::sharedLayout,
                                                  registerKernels, tlc::detail::guard};
}
#endif
