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
#include "runtime/support/NearestName.h"

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

/// A wrong use of what follows, at a line of the file.
class WrongUse : public std::invalid_argument {
public:
  WrongUse(const std::string &message, dsl::Loc where) : std::invalid_argument(message), where(where) {}
  dsl::Loc where;
};

/// The values of a kernel's parameters.
class Values {
public:
  using Texts = std::vector<std::pair<std::string, std::string>>;
  using Name = dsl::At<std::string_view>;
  explicit Values(Texts texts) : texts(std::move(texts)) {}

  /// Of a size or a constant.
  int64_t operator[](Name name) const { return parsed<int64_t>(name, "an integer"); }
  double number(Name name) const { return parsed<double>(name, "a number"); }
  /// Of a choice among names of element types.
  ElementType type(Name name) const {
    if (std::optional<ElementType> element = parseElementType(text(name)))
      return *element;
    throw WrongUse("expected the name of an element type, but parameter '" + std::string(name.value) +
                       "' is '" + text(name) + "'",
                   name.loc);
  }
  const std::string &text(Name name) const {
    std::string known;
    std::vector<std::string_view> names;
    for (const auto &[key, value] : texts) {
      if (key == name.value)
        return value;
      known += (known.empty() ? "" : ", ") + key;
      names.push_back(key);
    }
    throw WrongUse("expected a parameter of the kernel (" + (known.empty() ? "it has none" : known) +
                       "), but got '" + std::string(name.value) + "'" + nearestText(name.value, names),
                   name.loc);
  }

private:
  template <class T> T parsed(const Name &name, const char *what) const {
    const std::string &whole = text(name);
    T value{};
    auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
    if (error == std::errc() && end == whole.data() + whole.size())
      return value;
    throw WrongUse("expected parameter '" + std::string(name.value) + "' to be " + what +
                       " because it is read as one, but it is '" + whole +
                       "'; v[name] reads integers, v.number(name) numbers, v.type(name) element types, "
                       "v.text(name) any",
                   name.loc);
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

  const HostArray &tensor(Values::Name name) const { return find(tensors, name); }
  /// That of a rank.
  const HostArray &tensor(Values::Name name, int64_t of) const {
    if (of < 0 || of >= int64_t(ofRanks.size()))
      throw WrongUse("expected a rank from 0 to " + std::to_string(int64_t(ofRanks.size()) - 1) + " of '" +
                         std::string(name.value) + "', but got " + std::to_string(of),
                     name.loc);
    if (of != rank && ofRanks[size_t(of)].empty() && !tensors.empty())
      throw WrongUse("expected a tensor of rank " + std::to_string(rank) +
                         " because contents see those of their own rank, but got '" +
                         std::string(name.value) + "' of rank " + std::to_string(of),
                     name.loc);
    return find(ofRanks[size_t(of)], name);
  }

private:
  static const HostArray &find(const Tensors &tensors, const Values::Name &name) {
    if (auto found = tensors.find(name.value); found != tensors.end())
      return found->second;
    std::string known;
    std::vector<std::string_view> names;
    for (const auto &[each, array] : tensors) {
      known += (known.empty() ? "" : ", ") + each;
      names.push_back(each);
    }
    throw WrongUse("expected a tensor that has contents here (" + (known.empty() ? "none has" : known) +
                       "), but got '" + std::string(name.value) + "'" + nearestText(name.value, names),
                   name.loc);
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
  using Name = dsl::At<std::string>;

  KernelEntry(std::string name, std::string summary, dsl::Loc where)
      : name(std::move(name)), summary(std::move(summary)), where(where) {}

  /// What `-D name=value` sets. A size has the name of a dimension of the program, which runs for any value;
  /// for each value of the others there is a program.
  KernelEntry &size(Name name, int64_t fallback, const Limits &limits = {}) {
    return integer(kernels::Parameter::Kind::size, std::move(name), fallback, limits);
  }
  KernelEntry &constant(Name name, int64_t fallback, const Limits &limits = {}) {
    return integer(kernels::Parameter::Kind::constant, std::move(name), fallback, limits);
  }
  KernelEntry &number(Name name, double fallback, const Limits &limits = {}) {
    char digits[32];
    for (int count = 6; count <= 17; ++count)
      if (std::snprintf(digits, sizeof(digits), "%.*g", count, fallback);
          std::strtod(digits, nullptr) == fallback)
        break;
    parameters.push_back({noted("parameter", name), limits.help, kernels::Parameter::Kind::number, digits,
                          limits.least.value_or(-largest), limits.most.value_or(largest)});
    parameters.back().mayBeAuto = false;
    return *this;
  }
  /// The first one is the default.
  KernelEntry &choice(Name name, std::vector<std::string> choices, std::string help = {}) {
    kernels::Parameter parameter{noted("parameter", name), std::move(help), kernels::Parameter::Kind::choice,
                                 choices.empty() ? "" : choices.front()};
    parameter.choices = std::move(choices);
    parameters.push_back(std::move(parameter));
    return *this;
  }
  /// A choice of element types.
  KernelEntry &type(Name name, std::initializer_list<ElementType> types, std::string help = {}) {
    std::vector<std::string> names;
    for (ElementType each : types)
      names.emplace_back(toString(each));
    return choice(std::move(name), std::move(names), std::move(help));
  }

  /// The program runs on several devices at once, its ranks, as many as `--ranks` or the parameter `ranks`
  /// says, from 1 to `mostRanks`. Each has the tensors that the program declares. A reference, and contents,
  /// are asked for rank by rank: `in.rank` is the rank, `in.tensor(name, rank)` the tensor of another one.
  KernelEntry &ranks(int64_t fallback = 2, dsl::Loc where = dsl::Loc::current()) {
    hasRanks = true;
    return constant(Name("ranks", where), fallback,
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
  KernelEntry &random(const Name &tensor, double low, double high) {
    ranges[noted("random", tensor)] = {low, high};
    return *this;
  }
  /// What an input holds, from the tensors before it: `function(const HostInputs &)` gives a function from a
  /// position, one int64_t per axis, to the number there.
  template <class F> KernelEntry &contents(const Name &tensor, F function) {
    inputs[noted("contents", tensor)] = hostFunction(std::move(function));
    return *this;
  }
  /// What an output should hold, of the same form; `--verify` compares with it.
  template <class F> KernelEntry &reference(const Name &tensor, F function) {
    outputs[noted("reference", tensor)] = hostFunction(std::move(function));
    return *this;
  }
  /// Largest |actual - expected| / max(|expected|, floor); if it is not said, 0 for integers, and for floats
  /// twice the rounding error and 1e-4, with the floor 1.
  KernelEntry &tolerance(const Name &tensor, Tolerance limit) {
    tolerances[noted("tolerance", tensor)] = limit;
    return *this;
  }
  /// The extents of each tensor whose address the program's table holds, which are contiguous: names of
  /// sizes. `contents`, `reference` and `in.tensor` take them for one tensor, whose first axis counts them.
  KernelEntry &members(const Name &table, std::vector<std::string> sizes) {
    tables[noted("members", table)] = std::move(sizes);
    return *this;
  }
  /// The same of tensors of their own extents, which `function(const Values &)` gives as MemberExtents: the
  /// first elements along each axis of memory of these sizes. The others are NaN, or all bits of an integer,
  /// and are not to be written.
  template <class F> KernelEntry &members(const Name &table, std::vector<std::string> sizes, F function) {
    extentsOfMembers[table.value] = std::move(function);
    return members(table, std::move(sizes));
  }
  /// Floating-point operations, `function(const Values &)`.
  template <class F> KernelEntry &flops(F function) {
    operations = std::move(function);
    return *this;
  }
  /// One more problem for `tlc bench --suite`.
  KernelEntry &bench(Definitions values, dsl::Loc where = dsl::Loc::current()) {
    places[{"bench", std::to_string(suite.size())}] = where;
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
  /// Of the calls above, by name and what they describe: a parameter, a tensor.
  std::map<std::pair<std::string, std::string>, dsl::Loc> places = {};

private:
  static constexpr int64_t largest = 0x7fffffff;

  std::string noted(const char *call, const Name &name) {
    places.insert_or_assign({call, name.value}, name.loc);
    return name.value;
  }
  KernelEntry &integer(kernels::Parameter::Kind kind, const Name &name, int64_t fallback,
                       const Limits &limits) {
    if (limits.onEmulator)
      emulatorSizes[name.value] = std::to_string(*limits.onEmulator);
    parameters.push_back({noted("parameter", name), limits.help, kind, std::to_string(fallback),
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

/// What a function of the file has thrown.
struct Thrown {
  std::string message = {};
  std::optional<dsl::Loc> where = {}; ///< of a wrong use
};

/// What libtlc finds in the shared object. The first two members stay what they are in all versions.
struct KernelFileInterface {
  uint32_t version;
  uint32_t layout; ///< sizes of what both sides share, as the file's compiler sees them
  void (*registerKernels)(KernelFile &);
  /// Runs the body; what it throws is caught where it was compiled, and becomes the text.
  bool (*guard)(const std::function<void()> &body, Thrown &thrown);
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
                                                   sizeof(Thrown),
                                                   sizeof(dsl::Loc),
                                                   sizeof(dsl::Scope),
                                                   sizeof(dsl::Index),
                                                   sizeof(dsl::Scalar),
                                                   sizeof(dsl::Predicate),
                                                   sizeof(dsl::Fragment),
                                                   sizeof(dsl::Operand),
                                                   sizeof(dsl::Shared),
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
                                                   sizeof(dsl::ChannelOptions),
                                                   sizeof(dsl::RoleOptions),
                                                   sizeof(dsl::ProductOptions),
                                                   allElementTypes.size()});

inline bool guard(const std::function<void()> &body, Thrown &thrown) {
  try {
    body();
    return true;
  } catch (const WrongUse &error) {
    thrown = {error.what(), error.where};
  } catch (const std::exception &error) {
    thrown = {error.what()};
  } catch (...) {
    thrown = {"something that is no std::exception"};
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
