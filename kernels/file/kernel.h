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
/// A function of the file may throw: what it says is reported. Here is what has to be compiled with the file:
/// templates, and all that throws. The rest is in libtlc (docs/rationale/kernel_files.md).
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
  /// `ofLaunch` are names of scalars, which have no value here.
  explicit Values(Texts texts, std::vector<std::string> ofLaunch = {});
  ~Values();
  Values(const Values &) = delete;
  Values &operator=(const Values &) = delete;

  /// Of a size, a constant or a scalar that is an integer. Scalars have values where contents and references
  /// are asked for, rounded to their types, and none where the program is traced.
  int64_t operator[](Name name) const { return valueOf<int64_t>(name); }
  double number(Name name) const { return valueOf<double>(name); }
  /// Of a choice among names of element types.
  ElementType type(Name name) const { return valueOf<ElementType>(name); }
  const std::string &text(Name name) const { return *valueOf<const std::string *>(name); }

private:
  template <class T> T valueOf(const Name &name) const {
    T value{};
    if (std::string wrong = read(name.value, value); !wrong.empty())
      throw WrongUse(wrong, name.loc);
    return value;
  }
  /// What is wrong with the value, or empty.
  std::string read(std::string_view name, const std::string *&text) const;
  std::string read(std::string_view name, int64_t &value) const;
  std::string read(std::string_view name, double &value) const;
  std::string read(std::string_view name, ElementType &value) const;

  Texts texts;
  std::vector<std::string> ofLaunch;
};

/// The numbers of a tensor on the host; reading outside of it throws.
class HostArray {
public:
  HostArray(std::string name, std::vector<int64_t> shape, std::span<const double> numbers);
  HostArray(const HostArray &);
  ~HostArray();

  const std::vector<int64_t> &shape() const { return extents; }
  template <std::integral... Positions> double operator()(Positions... positions) const {
    const int64_t at[] = {int64_t(positions)..., 0};
    const std::span<const int64_t> position(at, sizeof...(Positions));
    if (const double *number = find(position))
      return *number;
    throw std::out_of_range(outside(position));
  }

private:
  const double *find(std::span<const int64_t> at) const;
  std::string outside(std::span<const int64_t> at) const;

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

  const HostArray &tensor(Values::Name name) const { return found(find(name.value), name.loc); }
  /// That of a rank.
  const HostArray &tensor(Values::Name name, int64_t of) const {
    return found(find(name.value, of), name.loc);
  }

  /// A tensor, or why there is none.
  struct Found {
    const HostArray *array = nullptr;
    std::string wrong = {};
  };
  Found find(std::string_view name) const;
  Found find(std::string_view name, int64_t of) const;

private:
  static const HostArray &found(const Found &what, dsl::Loc where) {
    if (!what.array)
      throw WrongUse(what.wrong, where);
    return *what.array;
  }
};

/// A matrix as products take their sparse left factor (dsl::Sparse), row-major.
struct SparseMatrix {
  std::vector<double> values;   ///< [rows, columns / 2]: the elements that are stored
  std::vector<double> metadata; ///< of u8: [rows, columns / 8], of f32 [rows, columns / 4]
};

namespace detail {
/// Adds to the matrix; what is wrong with its elements, or empty.
std::string compress(std::span<const double> dense, int64_t columns, int64_t group, SparseMatrix &matrix);
} // namespace detail

/// Of a matrix whose rows of so many columns are groups of 4 elements, of f32 of 2, half of each group: those
/// that are not 0, and the first others if they are fewer. Throws where a group has more.
inline SparseMatrix compress(std::span<const double> dense, int64_t columns, int64_t group = 4) {
  SparseMatrix matrix;
  if (std::string wrong = detail::compress(dense, columns, group, matrix); !wrong.empty())
    throw std::invalid_argument(wrong);
  return matrix;
}

/// The number at a position of a tensor, one per axis.
using HostElement = std::function<double(std::span<const int64_t> at)>;
/// All numbers of a tensor, from what was read.
using HostFunction = std::function<HostElement(const HostInputs &)>;
/// Of each tensor of a table of addresses.
using MemberExtents = std::vector<std::vector<int64_t>>;

namespace detail {
std::string otherAxes(size_t expected, size_t actual);

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
      throw std::invalid_argument(otherAxes(at.size(), axes));
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

  KernelEntry(std::string name, std::string summary, dsl::Loc where);
  ~KernelEntry();
  KernelEntry(const KernelEntry &) = delete;
  KernelEntry &operator=(const KernelEntry &) = delete;

  /// What `-D name=value` sets. A size has the name of a dimension of the program, which runs for any value;
  /// for each value of the others there is a program.
  KernelEntry &size(const Name &name, int64_t fallback, const Limits &limits = {});
  KernelEntry &constant(const Name &name, int64_t fallback, const Limits &limits = {});
  KernelEntry &number(const Name &name, double fallback, const Limits &limits = {});
  /// A number that each launch gets: `k.scalar(name, type)` of the program, which is compiled once for all
  /// values. Without a default a launch must be given one.
  KernelEntry &scalar(const Name &name, ElementType type, const Limits &limits = {}) {
    return addScalar(name, type, std::string(), limits);
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  KernelEntry &scalar(const Name &name, ElementType type, T fallback, const Limits &limits = {}) {
    if constexpr (std::is_floating_point_v<T>)
      return addScalar(name, type, textOf(double(fallback)), limits);
    else
      return addScalar(name, type, std::to_string(fallback), limits);
  }
  /// The first one is the default.
  KernelEntry &choice(const Name &name, std::vector<std::string> choices, std::string help = {});
  /// A choice of element types.
  KernelEntry &type(const Name &name, std::initializer_list<ElementType> types, std::string help = {});

  /// An open parameter: values among which a tuner chooses (docs/tuning.md), the first one without it, and
  /// `-D` any of them. They may change how fast the kernel is, not what it computes. A heuristic of the file
  /// puts the best guess first.
  KernelEntry &open(const Name &name, std::initializer_list<int64_t> values, std::string help = {});
  KernelEntry &open(const Name &name, std::initializer_list<std::string> values, std::string help = {});

  /// The program runs on several devices at once, its ranks, as many as `--ranks` or the parameter `ranks`
  /// says, from 1 to `mostRanks`. Each has the tensors that the program declares. A reference, and contents,
  /// are asked for rank by rank: `in.rank` is the rank, `in.tensor(name, rank)` the tensor of another one.
  KernelEntry &ranks(int64_t fallback = 2, dsl::Loc where = dsl::Loc::current());

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
  KernelEntry &random(const Name &tensor, double low, double high);
  /// What an input holds, from the tensors before it: `function(const HostInputs &)` gives a function from a
  /// position, one int64_t per axis, to the number there.
  template <class F> KernelEntry &contents(const Name &tensor, F function) {
    return setContents(tensor, hostFunction(std::move(function)));
  }
  /// What an output should hold, of the same form; `--verify` compares with it.
  template <class F> KernelEntry &reference(const Name &tensor, F function) {
    return setReference(tensor, hostFunction(std::move(function)));
  }
  /// Largest |actual - expected| / max(|expected|, floor); if it is not said, 0 for integers, and for floats
  /// twice the rounding error and 1e-4, with the floor 1.
  KernelEntry &tolerance(const Name &tensor, Tolerance limit);
  /// The extents of each tensor whose address the program's table holds, which are contiguous: names of
  /// sizes. `contents`, `reference` and `in.tensor` take them for one tensor, whose first axis counts them.
  KernelEntry &members(const Name &table, std::vector<std::string> sizes);
  /// The same of tensors of their own extents, which `function(const Values &)` gives as MemberExtents: the
  /// first elements along each axis of memory of these sizes. The others are NaN, or all bits of an integer,
  /// and are not to be written.
  template <class F> KernelEntry &members(const Name &table, std::vector<std::string> sizes, F function) {
    return setMembers(table, std::move(sizes), std::move(function));
  }
  /// Floating-point operations, `function(const Values &)`.
  template <class F> KernelEntry &flops(F function) {
    operations = std::move(function);
    return *this;
  }
  /// One more problem for `tlc bench --suite`.
  KernelEntry &bench(Definitions values, dsl::Loc where = dsl::Loc::current());

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
  using MemberFunction = std::function<MemberExtents(const Values &)>;
  KernelEntry &addOpen(const Name &name, std::vector<std::string> values, std::string help);
  KernelEntry &setContents(const Name &tensor, HostFunction function);
  KernelEntry &setReference(const Name &tensor, HostFunction function);
  KernelEntry &setMembers(const Name &table, std::vector<std::string> sizes, MemberFunction function);
  KernelEntry &addScalar(const Name &name, ElementType type, std::string fallback, const Limits &limits);
  /// With as few digits as give the number again.
  static std::string textOf(double number);
  std::string noted(const char *call, const Name &name);
  KernelEntry &integer(kernels::Parameter::Kind kind, const Name &name, int64_t fallback,
                       const Limits &limits);
  template <class F> static HostFunction hostFunction(F function) {
    return [function](const HostInputs &in) mutable { return detail::hostElement(function(in)); };
  }
};

/// The kernels of one file, each of another name.
class KernelFile {
public:
  /// A new one, to be described further; valid until `registerKernels` returns.
  KernelEntry &kernel(std::string name, std::string summary, dsl::Loc where = dsl::Loc::current());

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
