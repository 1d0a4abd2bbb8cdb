// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parameters, tensors, cost and accuracy of decoding.
#include "kernels/attention/DecodeKernel.h"

#include "kernels/reference/Decode.h"

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
  int64_t size = values.integer("page").value();
  return (values.size("sk") + size - 1) / size;
}

/// The options that say what is computed.
DecodeConfig optionsOf(const Parameters &values) {
  int64_t d = values.integer("d").value();
  return {.dtype = values.element("dtype"),
          .d = d,
          .queries = values.integer("sq").value(),
          .group = values.integer("group").value(),
          .causal = values.choice("causal") == "right" ? CausalAlignment::right : CausalAlignment::none,
          .scale = 1 / std::sqrt(double(d)),
          .softCap = double(values.integer("cap").value_or(0)),
          .logBase = values.choice("lse") == "two" ? LogBase::two : LogBase::e,
          .sink = values.choice("sink") == "head" ? AttentionSink::perHead : AttentionSink::none,
          .storage = isPaged(values) ? KeyStorage::paged : KeyStorage::contiguous,
          .pageSize = values.integer("page").value()};
}

DecodeShape shapeOf(const Parameters &values) {
  DecodeConfig c = optionsOf(values);
  bool paged = c.storage == KeyStorage::paged;
  return {.queries = c.queries,
          .kvHeads = values.size("hkv"),
          .group = c.group,
          .d = c.d,
          .keys = paged ? pagesOfSequence(values) * c.pageSize : values.size("sk"),
          .pageSize = paged ? c.pageSize : 0,
          .scale = c.scale,
          .softCap = c.softCap,
          .causal = c.causal,
          .logBase = c.logBase};
}

Parameter choice(std::string name, std::string description, std::vector<std::string> choices) {
  std::string first = choices.front();
  return {.name = std::move(name),
          .description = std::move(description),
          .kind = Kind::choice,
          .fallback = std::move(first),
          .choices = std::move(choices)};
}
} // namespace

AttentionDecodeKernel::AttentionDecodeKernel()
    : declared{
          {"b", "sequences", Kind::count, "2", 0, maxExtent},
          {"sk", "keys of a sequence, at most", Kind::size, "8192", 0, maxExtent},
          {"hkv", "heads of K and V", Kind::count, "8", 0, maxExtent},
          {"group", "heads of Q for each of them", Kind::integer, "8", 1, 1024},
          {"sq", "queries of a sequence", Kind::integer, "1", 1, 16},
          {"d", "length of a row", Kind::integer, "128", 8, 256, 8},
          {"shortest", "keys of a sequence, at least; auto: 0", Kind::integer, "auto", 0, maxExtent},
          choice("dtype", "type of Q, K, V and O", {"bf16", "f16"}),
          choice("causal", "which keys a query sees: all, or those up to its position counted from the end",
                 {"none", "right"}),
          choice("kv", "how K and V lie in memory", {"contiguous", "paged"}),
          {"page", "keys of a page, where there are pages", Kind::integer, "64", 16, 256, 16},
          choice("lse", "base of the logarithm in LSE", {"e", "two"}),
          choice("sink", "a score of each head that has no value", {"none", "head"}),
          {"cap", "scores become cap tanh(score / cap); auto: they stay", Kind::integer, "auto", 1, 1000},
          {"rows", "queries times heads that a block works on", Kind::integer, "auto", 64, 128, 64},
          {"bk", "keys of a step, at most", Kind::integer, "auto", 16, 128, 16},
          {"stages", "steps whose copies are in flight, at most", Kind::integer, "auto", 1, 8},
          {"splits", "parts of a sequence that different blocks work on", Kind::integer, "auto", 1, 256},
          {"residents", "blocks that share a multiprocessor, at most", Kind::integer, "auto", 1, 4},
          choice("order", "blocks take every so many-th part, or there is one for each",
                 {"rounds", "as-needed"}),
      } {}

DecodeConfig AttentionDecodeKernel::config(const Parameters &values) {
  DecodeConfig config = optionsOf(values);
  tuneDecode(config, values.size("b"), values.size("hkv"), values.size("sk"));
  config.rows = values.integer("rows").value_or(config.rows);
  config.bk = values.integer("bk").value_or(config.bk);
  config.residents = values.integer("residents").value_or(config.residents);
  config.splits = values.integer("splits").value_or(config.splits);
  config.stages = values.integer("stages").value_or(8);
  fitDecode(config);
  config.order = values.choice("order") == "rounds" ? PartOrder::rounds : PartOrder::asNeeded;
  return config;
}

dsl::Program AttentionDecodeKernel::build(const Parameters &values, const dsl::TraceOptions &options) const {
  return decodeProgram(config(values), options);
}

std::vector<TensorSpec> AttentionDecodeKernel::tensors(const Parameters &values) const {
  DecodeShape s = shapeOf(values);
  int64_t b = values.size("b"), pages = b * pagesOfSequence(values);
  ElementType dtype = values.element("dtype");
  bool paged = isPaged(values);
  std::vector<int64_t> queries = {b, s.queries, s.kvHeads, s.group, s.d};
  std::vector<int64_t> keys = {paged ? pages : b, paged ? s.pageSize : s.keys, s.kvHeads, s.d};
  std::vector<TensorSpec> tensors = {{"Q", dtype, Access::input, queries},
                                     {"K", dtype, Access::input, keys},
                                     {"V", dtype, Access::input, keys}};
  tensors.push_back({"Lengths",
                     ElementType::i32,
                     Access::input,
                     {b},
                     double(shortest(values)),
                     double(values.size("sk") + 1)});
  if (paged)
    tensors.push_back(
        {"Table", ElementType::i32, Access::input, {b, pagesOfSequence(values)}, 0, double(pages)});
  if (values.choice("sink") == "head")
    tensors.push_back({"Sinks", ElementType::f32, Access::input, {s.kvHeads, s.group}});
  tensors.push_back({"O", dtype, Access::output, queries});
  tensors.push_back({"LSE", ElementType::f32, Access::output, {b, s.kvHeads, s.group, s.queries}});
  return tensors;
}

std::vector<double> AttentionDecodeKernel::reference(const Parameters &values,
                                                     std::span<const std::vector<double>> inputs,
                                                     size_t output, std::span<const int64_t> elements) const {
  size_t next = 4;
  DecodeInputs in = {.q = inputs[0], .k = inputs[1], .v = inputs[2], .lengths = inputs[3]};
  if (isPaged(values))
    in.table = inputs[next++];
  if (values.choice("sink") == "head")
    in.sinks = inputs[next];
  DecodeShape shape = shapeOf(values);
  return output == 0 ? referenceDecode(shape, in, elements) : referenceDecodeLogSumExp(shape, in, elements);
}

Tolerance AttentionDecodeKernel::tolerance(const Parameters &values, size_t output) const {
  if (output == 1)
    return {.limit = 1e-5, .floor = 1};
  // Weights are rounded before they meet V, whose elements are of size 1/2.
  return {.limit = 2 * roundingError(values.element("dtype")), .floor = 0.5};
}

double AttentionDecodeKernel::flops(const Parameters &values) const {
  DecodeShape s = shapeOf(values);
  double keys = double(shortest(values) + values.size("sk")) / 2; // on average
  return 4 * double(values.size("b")) * double(s.kvHeads * s.group * s.queries) * keys * double(s.d);
}

std::vector<Definitions> AttentionDecodeKernel::suite() const {
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

} // namespace tlc::kernels
