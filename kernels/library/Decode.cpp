// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks the tensors and options of decoding, chooses the program, and launches it.
#include "kernels/library/Decode.h"

#include "kernels/attention/decode/Describe.h"
#include "kernels/library/call/Mistake.h"

#include <fmt/format.h>

using namespace tlc;
using namespace tlc::attention;
using kernels::AttentionSink;
using kernels::CallProgram;
using kernels::DecodeConfig;
using kernels::mistake;
using kernels::Programs;
using kernels::Schema;

namespace {

constexpr std::string_view callName = "attention::decode";
constexpr int64_t copyAlignment = TmaFacts().globalAlignment; ///< bytes

struct Call {
  Schema schema;
  DecodeConfig config;
};

Result<Call> checkCall(const Programs &programs, const DecodeTensors &tensors, const DecodeOptions &options) {
  ElementType element = tensors.q.element;
  if (element != ElementType::f16 && element != ElementType::bf16)
    return mistake("argument 'q': expected element type f16 or bf16, but got {}", toString(element));
  bool isPaged = tensors.table.has_value();
  std::string_view outer = isPaged ? "pages" : "b", inner = isPaged ? "page" : "sk";
  Schema schema(callName);
  schema.add("q", element, Access::input, {"b", "queries", "hkv", "group", "d"}, tensors.q);
  schema.add("k", element, Access::input, {outer, inner, "hkv", "d"}, tensors.k);
  if (tensors.v)
    schema.add("v", element, Access::input, {outer, inner, "hkv", "dv"}, *tensors.v);
  schema.add("keyLengths", ElementType::i32, Access::input, {"b"}, tensors.keyLengths);
  if (isPaged)
    schema.add("table", ElementType::i32, Access::input, {"b", "maxpages"}, *tensors.table);
  if (tensors.sink)
    schema.add("sink", ElementType::f32, Access::input, {"hkv", "group"}, *tensors.sink);
  schema.add("o", element, Access::output, {"b", "queries", "hkv", "group", "dv"}, tensors.o);
  schema.add("lse", ElementType::f32, Access::output, {"b", "hkv", "group", "queries"}, tensors.lse);
  if (Result<void> valid = schema.check(); !valid)
    return valid.error();
  if (std::string unaligned = schema.unaligned({"q", "k", "v", "o"}, copyAlignment); !unaligned.empty())
    return mistake("{}: expected tensors that are aligned because copies take 16 bytes at once, but {}",
                   callName, unaligned);
  DecodeConfig config{.problem = {.dtype = element,
                                  .d = schema.extent("d"),
                                  .dv = schema.extent("dv"),
                                  .mask = options.mask,
                                  .scale = options.scale,
                                  .softCap = options.softCap,
                                  .sink = tensors.sink ? AttentionSink::perHead : AttentionSink::none,
                                  .logBase = options.logBase},
                      .queries = schema.extent("queries"),
                      .group = schema.extent("group"),
                      .storage = isPaged ? kernels::KeyStorage::paged : kernels::KeyStorage::contiguous,
                      .values = tensors.v ? kernels::ValueStorage::apart : kernels::ValueStorage::inKeys};
  if (isPaged)
    config.pageSize = schema.extent("page");
  Result<void> valid = checkOptions(callName, config);
  if (!valid)
    return valid.error();
  if (std::string conflict = conflictOf(config); !conflict.empty())
    return mistake("{}: {}", callName, conflict);
  Result<const Target *> target = programs.target();
  if (!target)
    return target.error();
  if (std::string problem = kernels::whyNotDecode(**target); !problem.empty())
    return Error{ErrorKind::environment, fmt::format("{}: {}", callName, problem)};
  int64_t keys = isPaged ? schema.extent("maxpages") * config.pageSize : schema.extent("sk");
  tuneDecode(config, schema.extent("b"), schema.extent("hkv"), keys, **target);
  return Call{std::move(schema), config};
}

Result<CallProgram> programOf(const Call &call) {
  const DecodeConfig config = call.config;
  return kernels::callProgram(callName, config, [config] { return decodeProgram(config); });
}

} // namespace

Result<size_t> attention::workspaceSize(Programs &programs, const DecodeTensors &tensors,
                                        const DecodeOptions &options) {
  return kernels::workspaceSize(programs, checkCall(programs, tensors, options), programOf);
}

Result<void> attention::decode(Programs &programs, Stream stream, const DecodeTensors &tensors,
                               kernels::Workspace workspace, const DecodeOptions &options) {
  return kernels::launch(programs, stream, workspace, checkCall(programs, tensors, options), programOf);
}
