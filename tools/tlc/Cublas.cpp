// SPDX-License-Identifier: Apache-2.0
/// \file
/// The few functions of cuBLAS that a product takes, looked up by name.
#include "tools/tlc/Cublas.h"

#include "runtime/support/Excerpt.h"

#include <array>
#include <dlfcn.h>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::driver;

namespace {

/// Values of cuBLAS's enumerations; its headers need not be installed.
enum Operation : int { keep = 0, transpose = 1 };
enum DataType : int { real32 = 0, real16 = 2, bfloat16 = 14 };
constexpr int computeIn32 = 68, defaultAlgorithm = -1;

int dataTypeOf(ElementType type) {
  return type == ElementType::f16 ? real16 : type == ElementType::bf16 ? bfloat16 : real32;
}

/// The stride of the rows, in the way of column-major libraries at least the number of columns.
int leadingDimension(const TensorView &tensor) {
  int64_t columns = std::max<int64_t>(tensor.shape[1], 1);
  return static_cast<int>(tensor.shape[0] > 1 ? tensor.strides[0] : columns);
}

} // namespace

struct Cublas::Functions {
  void *library = nullptr;
  int (*create)(void **handle) = nullptr;
  int (*destroy)(void *handle) = nullptr;
  int (*gemm)(void *handle, int opA, int opB, int m, int n, int k, const void *alpha, const void *a,
              int typeA, int lda, const void *b, int typeB, int ldb, const void *beta, void *c, int typeC,
              int ldc, int compute, int algorithm) = nullptr;

  ~Functions() {
    if (library)
      dlclose(library);
  }
};

Cublas::Cublas(std::unique_ptr<Functions> functions) : functions(std::move(functions)) {}

Cublas::~Cublas() {
  if (handle)
    functions->destroy(handle);
}

Result<std::unique_ptr<Cublas>> Cublas::open(const std::string &path) {
  auto functions = std::make_unique<Functions>();
  constexpr std::array usualNames = {"libcublas.so.13", "libcublas.so.12"};
  if (!path.empty())
    functions->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (const char *name : usualNames)
    if (path.empty() && !functions->library)
      functions->library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!functions->library)
    return Error{ErrorKind::environment,
                 fmt::format("cannot open {}: {}", path.empty() ? "libcublas.so.13 or libcublas.so.12" : path,
                             dlerror())};
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(functions->library, name));
    return function != nullptr;
  };
  if (!find(functions->create, "cublasCreate_v2") || !find(functions->destroy, "cublasDestroy_v2") ||
      !find(functions->gemm, "cublasGemmEx"))
    return Error{ErrorKind::environment, formatMessage("'{}' is not cuBLAS: {}", path, dlerror())};
  std::unique_ptr<Cublas> cublas(new Cublas(std::move(functions)));
  if (int status = cublas->functions->create(&cublas->handle); status != 0) {
    cublas->handle = nullptr;
    return Error{ErrorKind::environment, fmt::format("cublasCreate failed with status {}", status)};
  }
  return cublas;
}

bool Cublas::supports(const GemmProblem &problem) {
  ElementType in = problem.a.element, out = problem.c.element;
  return (in == ElementType::f16 || in == ElementType::bf16) && problem.b.element == in &&
         (out == in || out == ElementType::f32);
}

Result<void> Cublas::launch(const GemmProblem &problem) {
  // Row-major C is column-major Cᵀ = Bᵀ · Aᵀ, and row-major storage is the transposed column-major one.
  auto [m, n] = std::array{static_cast<int>(problem.c.shape[0]), static_cast<int>(problem.c.shape[1])};
  int k = static_cast<int>(problem.a.shape[1]);
  const float one = 1, zero = 0;
  int status = functions->gemm(handle, problem.transposedB ? transpose : keep, keep, n, m, k, &one,
                               problem.b.data, dataTypeOf(problem.b.element), leadingDimension(problem.b),
                               problem.a.data, dataTypeOf(problem.a.element), leadingDimension(problem.a),
                               &zero, problem.c.data, dataTypeOf(problem.c.element),
                               leadingDimension(problem.c), computeIn32, defaultAlgorithm);
  if (status != 0)
    return Error{ErrorKind::execution, fmt::format("cublasGemmEx failed with status {}", status)};
  return {};
}
