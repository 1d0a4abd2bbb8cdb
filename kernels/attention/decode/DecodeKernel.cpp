// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of decoding.
#include "kernels/KernelList.h"
#include "kernels/attention/decode/Describe.h"
#include "kernels/reference/Decode.h"
#include "runtime/support/Math.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tlc::kernels {

namespace {
using Kind = Parameter::Kind;

bool isPaged(const Parameters &values) { return values.choice("kv") == "paged"; }
int64_t shortest(const Parameters &values) {
  return std::min(values.integer("shortest").value_or(0), values.size("sk"));
}
int64_t pagesOfSequence(const Parameters &values) {
  int64_t size = values.constant("page");
  return ceilDiv(values.size("sk"), size);
}

/// What is computed.
DecodeConfig optionsOf(const Parameters &values) {
  DecodeConfig config;
  read(values, config);
  config.group = values.size("h") / values.size("hkv");
  return config;
}

DecodeShape shapeOf(const Parameters &values) {
  DecodeConfig c = optionsOf(values);
  bool paged = c.storage == KeyStorage::paged;
  return {.problem = c.problem,
          .queries = c.queries,
          .kvHeads = values.size("hkv"),
          .group = c.group,
          .keys = paged ? pagesOfSequence(values) * c.pageSize : values.size("sk"),
          .pageSize = paged ? c.pageSize : 0,
          .valuesInKeys = c.values == ValueStorage::inKeys};
}

/// Sizes, and what the configuration says of itself. A block-causal mask is of whole sequences.
std::vector<Parameter> allParameters() {
  std::vector<Parameter> all = {
      {"b", "sequences", Kind::count, "2", 0, maxExtent},
      {"sk", "keys of a sequence, at most", Kind::size, "8192", 0, maxExtent},
      {"h", "heads of Q", Kind::count, "64", 1, maxExtent},
      {"hkv", "heads of K and V", Kind::count, "8", 1, maxExtent},
      {"shortest", "keys of a sequence, at least, where sk allows it; auto: 0", Kind::integer, "auto", 0,
       maxExtent},
  };
  std::vector<Parameter> config = parametersOf(DecodeConfig{.group = 1});
  for (const char *name : {"mask", "block", "dropout_p"})
    config = without(std::move(config), name);
  all.insert(all.end(), config.begin(), config.end());
  return all;
}

class AttentionDecodeKernel final : public Kernel {
public:
  AttentionDecodeKernel()
      : Kernel("attention_decode",
               "O[b,sq,hkv,group,dv] = softmax(scale Q[b,sq,hkv,group,d] Kᵀ) V with K [b,sk,hkv,d] and V "
               "[b,sk,hkv,dv] or in pages, and LSE[b,hkv,group,sq]",
               allParameters()) {}

  static DecodeConfig config(const Parameters &values, const Target &target) {
    DecodeConfig config = optionsOf(values);
    tuneDecode(config, values.size("b"), values.size("hkv"), values.size("sk"), target);
    config.stages = 8;
    read(values, config); // what is given
    fitDecode(config, target);
    return config;
  }

  dsl::Program build(const Parameters &values, const Target &target,
                     const dsl::TraceOptions &options) const override {
    return decodeProgram(config(values, target), options);
  }

  std::vector<TensorSpec> tensors(const Parameters &values) const override {
    DecodeShape s = shapeOf(values);
    int64_t b = values.size("b"), pages = b * pagesOfSequence(values);
    ElementType dtype = values.element("dtype");
    bool paged = isPaged(values);
    auto queries = [&](int64_t length) {
      return std::vector<int64_t>{b, s.queries, s.kvHeads, s.group, length};
    };
    auto keys = [&](int64_t length) {
      return std::vector<int64_t>{paged ? pages : b, paged ? s.pageSize : s.keys, s.kvHeads, length};
    };
    std::vector<TensorSpec> tensors = {{"Q", dtype, Access::input, queries(s.problem.d)},
                                       {"K", dtype, Access::input, keys(s.problem.d)}};
    if (!s.valuesInKeys)
      tensors.push_back({"V", dtype, Access::input, keys(s.problem.dv)});
    tensors.push_back({"lengths_k",
                       ElementType::i32,
                       Access::input,
                       {b},
                       double(shortest(values)),
                       double(values.size("sk") + 1)});
    if (paged)
      tensors.push_back(
          {"table", ElementType::i32, Access::input, {b, pagesOfSequence(values)}, 0, double(pages)});
    if (s.problem.sink == AttentionSink::perHead)
      tensors.push_back({"sink", ElementType::f32, Access::input, {s.kvHeads, s.group}});
    tensors.push_back({"O", dtype, Access::output, queries(s.problem.dv)});
    tensors.push_back({"LSE", ElementType::f32, Access::output, {b, s.kvHeads, s.group, s.queries}});
    return tensors;
  }

  Reference reference(const Parameters &values, std::span<const std::vector<double>> inputs) const override {
    DecodeShape shape = shapeOf(values);
    size_t next = 0;
    DecodeInputs in = {};
    in.q = inputs[next++];
    in.k = in.v = inputs[next++];
    if (!shape.valuesInKeys)
      in.v = inputs[next++];
    in.lengths = inputs[next++];
    if (isPaged(values))
      in.table = inputs[next++];
    if (shape.problem.sink == AttentionSink::perHead)
      in.sinks = inputs[next];
    return [=](size_t output, std::span<const int64_t> elements) {
      return output == 0 ? referenceDecode(shape, in, elements)
                         : referenceDecodeLogSumExp(shape, in, elements);
    };
  }

  Tolerance tolerance(const Parameters &values, size_t output) const override {
    double scores = scoreError(optionsOf(values).problem);
    if (output == 1)
      return {.limit = 1e-5 + scores, .floor = 1};
    // Weights are rounded before they meet V, whose elements are of size 1/2.
    return {.limit = 2 * roundingError(values.element("dtype")) + scores, .floor = 0.5};
  }

  std::string conflict(const Parameters &values) const override {
    int64_t h = values.size("h"), hkv = values.size("hkv");
    if (std::string heads = conflictOfHeads(h, hkv); !heads.empty())
      return heads;
    DecodeConfig c = optionsOf(values);
    if (std::string options = conflictOf(c); !options.empty())
      return options;
    if (int64_t rows = values.integer("rows").value_or(64); rows != 64 && isSplit(c.problem.dv))
      return fmt::format("expected rows = 64 because the columns of dv = {} take two roles that compute, and "
                         "registers for no third, but got {}",
                         c.problem.dv, rows);
    return {};
  }

  std::string conflictOn(const Target &target, const Parameters &) const override {
    return whyNotDecode(target);
  }

  double flops(const Parameters &values) const override {
    DecodeShape s = shapeOf(values);
    double keys = double(shortest(values) + values.size("sk")) / 2; // on average
    return 2 * double(values.size("b")) * double(s.kvHeads * s.group * s.queries) * keys *
           double(s.problem.d + s.problem.dv);
  }

  Definitions emulatorSizes() const override { return {{"sk", "512"}, {"h", "16"}, {"hkv", "2"}}; }

  std::vector<Definitions> suite() const override {
    std::vector<Definitions> rows;
    auto row = [&](const char *b, const char *sk, const char *kv, const char *page) {
      rows.push_back({{"b", b}, {"sk", sk}, {"shortest", sk}, {"kv", kv}, {"page", page}});
    };
    row("64", "8192", "contiguous", "64");
    row("64", "8192", "paged", "64");
    row("64", "8192", "paged", "16");
    row("8", "8192", "contiguous", "64");
    row("1", "131072", "contiguous", "64");
    return rows;
  }
};

} // namespace

const Kernel &attentionDecodeKernel() {
  static const AttentionDecodeKernel kernel;
  return kernel;
}

} // namespace tlc::kernels
