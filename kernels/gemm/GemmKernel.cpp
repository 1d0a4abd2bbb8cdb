// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of the GEMM.
#include "kernels/KernelList.h"
#include "kernels/gemm/Describe.h"

#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace tlc::kernels {

namespace {
using Kind = Parameter::Kind;

GemmLayout layoutOf(const Parameters &values) {
  return values.choice("layout") == "tn" ? GemmLayout::tn : GemmLayout::nn;
}

std::vector<Parameter> allParameters() {
  std::vector<Parameter> all = {
      {"m", "rows of A and C", Kind::size, "4096", 0, maxExtent},
      {"n", "columns of C", Kind::size, "4096", 0, maxExtent},
      {"k", "columns of A", Kind::size, "4096", 0, maxExtent},
  };
  std::vector<Parameter> config = parametersOf(GemmConfig());
  all.insert(all.end(), config.begin(), config.end());
  all.push_back({.name = "share",
                 .description = "what the blocks of a cluster share: b (they take rows) or a (columns)",
                 .kind = Kind::choice,
                 .fallback = "auto",
                 .choices = {"auto", "a", "b"}});
  all.push_back({.name = "store_role",
                 .description = "whether a role of its own stores tiles of C (plain form)",
                 .kind = Kind::choice,
                 .fallback = "auto",
                 .choices = {"auto", "no", "yes"}});
  all.push_back({.name = "unaligned",
                 .description =
                     "tensors whose rows are known not to be multiples of 16 bytes, but of elements; "
                     "auto: multiples of 2, 4 or 8 as contiguous tensors of the given sizes have them, which "
                     "the program then asks of the tensors it gets (plain form)",
                 .kind = Kind::choice,
                 .fallback = "auto",
                 .choices = {"auto", "none", "a", "b", "c", "ab", "ac", "bc", "abc"}});
  all.push_back(
      {.name = "repack",
       .description =
           "whether a launch before copies operands with unaligned rows to aligned ones, which the TMA can "
           "copy; has no effect on operands with aligned rows",
       .kind = Kind::choice,
       .fallback = "auto",
       .choices = {"auto", "no", "yes"}});
  return all;
}

/// `auto`: those of contiguous tensors.
GemmAlignment alignmentOf(const Parameters &values) {
  if (values.choice("form") == "explicit") // which relies on A and B
    return {};
  std::string_view given = values.choice("unaligned");
  auto isNamed = [&](char tensor) { return given != "none" && given.find(tensor) != std::string_view::npos; };
  ElementType dtype = values.element("dtype"), out = values.element("out");
  auto ofElements = [&](char tensor, ElementType element) {
    return isNamed(tensor) ? bytesOf(element, 1) : GemmAlignment::ofTma;
  };
  if (given != "auto")
    return {.a = ofElements('a', dtype), .b = ofElements('b', dtype), .c = ofElements('c', out)};
  auto ofRows = [](int64_t rows, int64_t columns, ElementType element) {
    return rows > 1 ? std::gcd(bytesOf(element, columns), GemmAlignment::ofTma) : GemmAlignment::ofTma;
  };
  int64_t m = values.size("m"), n = values.size("n"), k = values.size("k");
  bool isTn = layoutOf(values) == GemmLayout::tn;
  return {.a = ofRows(m, k, dtype),
          .b = isTn ? ofRows(n, k, dtype) : ofRows(k, n, dtype),
          .c = ofRows(m, n, out)};
}

class GemmKernel final : public Kernel {
public:
  GemmKernel()
      : Kernel("gemm", "C[m,n] = A[m,k] B with sums in f32; B is n x k (tn) or k x n (nn)", allParameters()) {
  }

  static GemmConfig config(const Parameters &values, const Target &target) {
    GemmConfig config =
        chooseGemmConfig(values.size("m"), values.size("n"), values.size("k"), values.element("dtype"),
                         values.element("out"), layoutOf(values), target, alignmentOf(values));
    read(values, config); // what is given
    if (std::string_view repack = values.choice("repack"); repack != "auto" && target.tma.available)
      for (GemmRows *rows : {&config.rowsOfA, &config.rowsOfB})
        if (*rows != GemmRows::any)
          *rows = repack == "yes" ? GemmRows::repacked : GemmRows::unaligned;
    if (values.choice("store_role") == "yes") // `auto`: no, until it is measured
      config.storeRole = true;
    if (!values.integer("stages"))
      fitGemmStages(config, target);
    if (values.choice("share") != "auto")
      config.clusterAxis = values.choice("share") == "a" ? dsl::ClusterAxis::columns : dsl::ClusterAxis::rows;
    return config;
  }

  dsl::Program build(const Parameters &values, const Target &target,
                     const dsl::TraceOptions &options) const override {
    return gemmProgram(config(values, target), options);
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const override {
    int64_t m = values.size("m"), n = values.size("n"), k = values.size("k");
    ElementType dtype = values.element("dtype"), out = values.element("out");
    std::vector<int64_t> b = layoutOf(values) == GemmLayout::tn ? std::vector{n, k} : std::vector{k, n};
    return {{"A", dtype, Access::input, {m, k}},
            {"B", dtype, Access::input, b},
            {"C", out, Access::output, {m, n}}};
  }

  Result<std::vector<double>> reference(const Parameters &values, std::span<const std::vector<double>> inputs,
                                        size_t, std::span<const int64_t> elements) const override {
    return referenceGemm(layoutOf(values), values.size("n"), values.size("k"), inputs[0], inputs[1],
                         elements);
  }

  Tolerance tolerance(const Parameters &values, size_t) const override {
    double k = double(values.size("k"));
    // Inputs have the variance 1/3: elements of C are of the size sqrt(k) / 3. The
    // matrix units cut off below the last place of f32, at every 16 of k.
    double sums = 1e-6 + k / 16 * std::ldexp(1.0, -23);
    return {.limit = roundingError(values.element("out")) + sums, .floor = std::max(std::sqrt(k) / 3, 1e-3)};
  }

  std::string conflict(const Parameters &values) const override {
    bool isShared = values.integer("cluster").value_or(1) > 1;
    for (const char *name : {"split", "cluster", "share", "store_role", "unaligned", "repack"})
      if (values.choice("form") == "explicit" && !values.isDefault(name))
        return fmt::format("expected {} with form=plain because the explicit form has none, but got it with "
                           "form=explicit",
                           name);
    if (int64_t multiple = multipleOfColumns({.out = values.element("out"), .storeRole = true});
        values.choice("store_role") == "yes" && values.size("n") % multiple != 0)
      return fmt::format(
          "expected n to be a multiple of {} with store_role=yes because the TMA stores so many "
          "elements at least, but got n = {}",
          multiple, values.size("n"));
    if (!values.isDefault("share") && !values.isDefault("cluster") && !isShared)
      return "expected share with a cluster of 2 blocks and more, but got cluster = 1";
    return {};
  }

  double flops(const Parameters &values) const override {
    return 2 * double(values.size("m")) * double(values.size("n")) * double(values.size("k"));
  }

  Definitions emulatorSizes() const override { return {{"m", "512"}, {"n", "512"}, {"k", "256"}}; }

  std::vector<Definitions> suite() const override {
    auto shape = [](const char *m, const char *n, const char *k) {
      return Definitions{{"m", m}, {"n", n}, {"k", k}};
    };
    return {shape("8192", "8192", "8192"),  shape("4096", "4096", "4096"),  shape("2048", "2048", "2048"),
            shape("16384", "4096", "4096"), shape("4096", "16384", "4096"), shape("512", "8192", "8192"),
            shape("128", "4096", "16384"),  shape("64", "8192", "8192")};
  }
};

} // namespace

const Kernel &gemmKernel() {
  static const GemmKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
