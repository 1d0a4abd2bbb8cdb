// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of decoding.
#include "kernels/KernelList.h"
#include "kernels/attention/decode/Decode.h"
#include "kernels/attention/problem/ColumnParts.h"
#include "kernels/attention/problem/Parameters.h"
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

constexpr int64_t mostHeads = 1024; ///< of a head of K and V

/// The options that say what is computed.
DecodeConfig optionsOf(const Parameters &values) {
  int64_t d = values.constant("d");
  return {.dtype = values.element("dtype"),
          .d = d,
          .dv = valueLengthOf(values),
          .queries = values.constant("sq"),
          .group = values.size("h") / values.size("hkv"),
          .causal = causalOf(values),
          .scale = scaleOf(values),
          .softCap = softCapOf(values),
          .logBase = logBaseOf(values),
          .sink = sinkOf(values),
          .storage = isPaged(values) ? KeyStorage::paged : KeyStorage::contiguous,
          .pageSize = values.constant("page"),
          .values = values.choice("values") == "keys" ? ValueStorage::inKeys : ValueStorage::apart};
}

DecodeShape shapeOf(const Parameters &values) {
  DecodeConfig c = optionsOf(values);
  bool paged = c.storage == KeyStorage::paged;
  return {.queries = c.queries,
          .kvHeads = values.size("hkv"),
          .group = c.group,
          .d = c.d,
          .dv = c.dv,
          .keys = paged ? pagesOfSequence(values) * c.pageSize : values.size("sk"),
          .pageSize = paged ? c.pageSize : 0,
          .scale = c.scale,
          .softCap = c.softCap,
          .causal = c.causal,
          .logBase = c.logBase,
          .valuesInKeys = c.values == ValueStorage::inKeys};
}

class AttentionDecodeKernel final : public Kernel {
public:
  AttentionDecodeKernel()
      : Kernel("attention_decode",
               "O[b,sq,hkv,group,dv] = softmax(scale Q[b,sq,hkv,group,d] Kᵀ) V with K [b,sk,hkv,d] and V "
               "[b,sk,hkv,dv] or in pages, and LSE[b,hkv,group,sq]",
               {
                   {"b", "sequences", Kind::count, "2", 0, maxExtent},
                   {"sk", "keys of a sequence, at most", Kind::size, "8192", 0, maxExtent},
                   {"h", "heads of Q", Kind::count, "64", 1, maxExtent},
                   {"hkv", "heads of K and V", Kind::count, "8", 1, maxExtent},
                   {"sq", "queries of a sequence", Kind::constant, "1", 1, 16},
                   {"d", "length of a row of Q and K", Kind::constant, "128", 8, longestRow, 8},
                   valueLengthParameter(),
                   choiceParameter("values", "rows of V: of a tensor, or the first dv elements of K's",
                                   {"apart", "keys"}),
                   {"shortest", "keys of a sequence, at least, where sk allows it; auto: 0", Kind::integer,
                    "auto", 0, maxExtent},
                   typeParameter(),
                   choiceParameter(
                       "causal",
                       "which keys a query sees: all, or those up to its position counted from the end",
                       {"none", "right"}),
                   choiceParameter("kv", "how K and V lie in memory", {"contiguous", "paged"}),
                   {"page", "keys of a page, where there are pages", Kind::constant, "64", 16, 256, 16},
                   scaleParameter(),
                   softCapParameter(),
                   sinkParameter(),
                   logBaseParameter(),
                   {"rows", "queries times heads that a block works on", Kind::integer, "auto", 64, 128, 64},
                   {"bk", "keys of a step, at most", Kind::integer, "auto", productDepth, 128, productDepth},
                   {"stages", "steps whose copies are in flight, at most", Kind::integer, "auto", 1, 8},
                   {"splits", "parts of a sequence that different blocks work on", Kind::integer, "auto", 1,
                    256},
                   {"residents", "blocks that share a multiprocessor, at most", Kind::integer, "auto", 1, 4},
                   choiceParameter("order", "blocks take every so many-th part, or there is one for each",
                                   {"rounds", "as-needed"}),
               }) {}

  static DecodeConfig config(const Parameters &values, const Target &target) {
    DecodeConfig config = optionsOf(values);
    tuneDecode(config, values.size("b"), values.size("hkv"), values.size("sk"), target);
    config.rows = values.integer("rows").value_or(config.rows);
    config.bk = values.integer("bk").value_or(config.bk);
    config.residents = values.integer("residents").value_or(config.residents);
    config.splits = values.integer("splits").value_or(config.splits);
    config.stages = values.integer("stages").value_or(8);
    fitDecode(config, target);
    config.order = values.choice("order") == "rounds" ? PartOrder::rounds : PartOrder::asNeeded;
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
    std::vector<TensorSpec> tensors = {{"Q", dtype, Access::input, queries(s.d)},
                                       {"K", dtype, Access::input, keys(s.d)}};
    if (!s.valuesInKeys)
      tensors.push_back({"V", dtype, Access::input, keys(s.dv)});
    tensors.push_back({"Lengths",
                       ElementType::i32,
                       Access::input,
                       {b},
                       double(shortest(values)),
                       double(values.size("sk") + 1)});
    if (paged)
      tensors.push_back(
          {"Table", ElementType::i32, Access::input, {b, pagesOfSequence(values)}, 0, double(pages)});
    if (sinkOf(values) == AttentionSink::perHead)
      tensors.push_back({"Sinks", ElementType::f32, Access::input, {s.kvHeads, s.group}});
    tensors.push_back({"O", dtype, Access::output, queries(s.dv)});
    tensors.push_back({"LSE", ElementType::f32, Access::output, {b, s.kvHeads, s.group, s.queries}});
    return tensors;
  }

  std::vector<double> reference(const Parameters &values, std::span<const std::vector<double>> inputs,
                                size_t output, std::span<const int64_t> elements) const override {
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
    if (sinkOf(values) == AttentionSink::perHead)
      in.sinks = inputs[next];
    return output == 0 ? referenceDecode(shape, in, elements) : referenceDecodeLogSumExp(shape, in, elements);
  }

  Tolerance tolerance(const Parameters &values, size_t output) const override {
    double scores = scoreError(values);
    if (output == 1)
      return {.limit = 1e-5 + scores, .floor = 1};
    // Weights are rounded before they meet V, whose elements are of size 1/2.
    return {.limit = 2 * roundingError(values.element("dtype")) + scores, .floor = 0.5};
  }

  std::string conflict(const Parameters &values) const override {
    int64_t h = values.size("h"), hkv = values.size("hkv");
    if (std::string heads = headsConflict(h, hkv); !heads.empty())
      return heads;
    if (h / hkv > mostHeads)
      return fmt::format("expected at most {} heads of Q for each head of K and V because they are rows of "
                         "tiles, but got h = {} and hkv = {}",
                         mostHeads, h, hkv);
    if (DecodeConfig c = optionsOf(values);
        c.values == ValueStorage::inKeys && (c.dv > c.d || c.dv % productDepth != 0))
      return fmt::format(
          "expected dv to be a multiple of {} and at most d because rows of V are part of K's, "
          "but got dv = {} and d = {}",
          productDepth, c.dv, c.d);
    if (DecodeConfig c = optionsOf(values); values.integer("rows").value_or(64) != 64 && isSplit(c.dv))
      return fmt::format("expected rows = 64 because the columns of dv = {} take two roles that compute, and "
                         "registers for no third, but got {}",
                         c.dv, *values.integer("rows"));
    return scaleConflict(values);
  }

  double flops(const Parameters &values) const override {
    DecodeShape s = shapeOf(values);
    double keys = double(shortest(values) + values.size("sk")) / 2; // on average
    return 2 * double(values.size("b")) * double(s.kvHeads * s.group * s.queries) * keys * double(s.d + s.dv);
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
