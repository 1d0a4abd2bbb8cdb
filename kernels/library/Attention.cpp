// SPDX-License-Identifier: Apache-2.0
/// \file
/// Checks the tensors and options of a call, chooses the program, and launches it.
#include "kernels/library/Attention.h"

#include "compiler/pipeline/Options.h"
#include "kernels/library/Compile.h"
#include "runtime/device/LaunchPlan.h"
#include "runtime/device/TensorGeometry.h"
#include "runtime/support/Math.h"
#include "runtime/target/Target.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <string_view>
#include <tuple>
#include <vector>

using namespace tlc;
using namespace tlc::attention;
using kernels::AttentionSink;
using kernels::ForwardConfig;
using kernels::largestScale;
using kernels::largestSoftCap;
using kernels::leastSoftCap;
using kernels::longestDistance;
using kernels::rowGranularity;

namespace {

template <class... Values> Error mistake(fmt::format_string<Values...> text, Values &&...values) {
  return {.message = fmt::format(text, std::forward<Values>(values)...)};
}

constexpr int64_t copyAlignment = TmaFacts().globalAlignment; ///< bytes

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

Result<void> checkMask(const MaskConfig &mask) {
  for (auto [name, size] : {std::pair("windowLeft", mask.windowLeft), {"windowRight", mask.windowRight}})
    if (size && (*size < 0 || *size > longestDistance))
      return mistake("option 'mask.{}': expected 0 to {} keys, or nothing for all of them, but got {}", name,
                     longestDistance, *size);
  if (!mask.blockCausal)
    return {};
  if (*mask.blockCausal < 1 || *mask.blockCausal > longestDistance)
    return mistake("option 'mask.blockCausal': expected blocks of 1 to {} positions, but got {}",
                   longestDistance, *mask.blockCausal);
  if (mask.causal != CausalAlignment::none || mask.windowLeft || mask.windowRight)
    return mistake(
        "option 'mask.blockCausal': expected it alone, but got a causal mask or a window beside it");
  return {};
}

Result<void> checkOptions(const ForwardOptions &options) {
  if (options.scale && !(*options.scale > 0 && *options.scale <= largestScale))
    return mistake(
        "option 'scale': expected a number above 0 and up to {}, or nothing for 1 / sqrt(d), but got {}",
        largestScale, *options.scale);
  if (options.softCap != 0 && !(options.softCap >= leastSoftCap && options.softCap <= largestSoftCap))
    return mistake("option 'softCap': expected a number from {} to {}, or 0 for none, but got {}",
                   leastSoftCap, largestSoftCap, options.softCap);
  return checkMask(options.mask);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// The tensors of a call in the program's order, and what they have to be.
class Schema {
public:
  Schema(const ForwardTensors &tensors, const ForwardOptions &options) {
    isPacked = options.lengths == Lengths::packed;
    artifact.name = "attention::forward";
    ElementType element = tensors.q.element;
    add("q", element, Access::input, rows({"sq", "h", "d"}), tensors.q);
    add("k", element, Access::input, rows({"sk", "hkv", "d"}), tensors.k);
    add("v", element, Access::input, rows({"sk", "hkv", "dv"}), tensors.v);
    std::string_view sequences = isPacked ? "b + 1" : "b";
    if (tensors.queryLengths)
      add("queryLengths", ElementType::i32, Access::input, {sequences}, *tensors.queryLengths);
    if (tensors.keyLengths)
      add("keyLengths", ElementType::i32, Access::input, {sequences}, *tensors.keyLengths);
    if (tensors.sink)
      add("sink", ElementType::f32, Access::input, {"h"}, *tensors.sink);
    add("o", element, Access::output, rows({"sq", "h", "dv"}), tensors.o);
    add("lse", ElementType::f32, Access::output, rows({"h", "sq"}), tensors.lse);
  }

  /// Element types, ranks, and extents that agree.
  Result<void> bind() {
    Result<std::vector<int64_t>> bound = bindDimensions(artifact, views);
    if (bound) {
      extents = std::move(*bound);
      return {};
    }
    return mistake("{}; expected {}", bound.error().message, text());
  }
  Result<void> check(Result<void> (*checkOne)(const TensorArgument &, const TensorView &)) const {
    for (size_t i = 0; i < views.size(); ++i)
      if (Result<void> valid = checkOne(artifact.tensors[i], views[i]); !valid)
        return valid;
    return {};
  }

  /// Of `bind`.
  int64_t extent(std::string_view name) const { return extents[size_t(find(name))]; }
  /// The first of the tensors of f16 or bf16 that the explicit form cannot copy, or -1.
  std::ptrdiff_t findUnaligned() const {
    for (size_t i = 0; i < views.size(); ++i)
      if (views[i].element == views[0].element && !isAligned(views[i], copyAlignment))
        return std::ptrdiff_t(i);
    return -1;
  }

  Artifact artifact; ///< the schema alone
  std::vector<TensorView> views;

private:
  using Axes = std::vector<std::string_view>;

  Axes rows(Axes axes) const {
    if (!isPacked)
      axes.insert(axes.begin(), "b");
    return axes;
  }
  int64_t find(std::string_view name) const {
    auto found = std::ranges::find(artifact.dimensions, name, &Dimension::name);
    return found == artifact.dimensions.end() ? -1 : found - artifact.dimensions.begin();
  }
  void add(std::string_view name, ElementType element, Access access, const Axes &axes,
           const TensorView &view) {
    TensorArgument argument{.name = std::string(name), .element = element, .access = access};
    for (std::string_view axis : axes) {
      if (find(axis) < 0)
        artifact.dimensions.push_back({.name = std::string(axis)});
      argument.shape.push_back({.dimension = find(axis)});
    }
    artifact.tensors.push_back(std::move(argument));
    views.push_back(view);
  }

  /// "q[b, sq, h, d] of bf16, ..."
  std::string text() const {
    std::string list;
    for (const TensorArgument &argument : artifact.tensors) {
      std::string axes;
      for (const Extent &extent : argument.shape)
        axes += (axes.empty() ? "" : ", ") + artifact.dimensions[size_t(extent.dimension)].name;
      list += fmt::format("{}{}[{}] of {}", list.empty() ? "" : ", ", argument.name, axes,
                          toString(argument.element));
    }
    return list;
  }

  bool isPacked = false;
  std::vector<int64_t> extents;
};

Result<void> checkLengthTensors(const ForwardTensors &tensors, Lengths lengths) {
  for (auto [name, tensor] :
       {std::pair("queryLengths", &tensors.queryLengths), {"keyLengths", &tensors.keyLengths}}) {
    if (lengths == Lengths::uniform && *tensor)
      return mistake(
          "argument '{}': expected none because option 'lengths' is uniform, but got one; say whether "
          "sequences are padded or packed",
          name);
    if (lengths == Lengths::padded && !*tensor)
      return mistake(
          "argument '{}': expected the sequences' lengths, one i32 of each, because option 'lengths' is "
          "padded, but got none",
          name);
    if (lengths == Lengths::packed && !*tensor)
      return mistake(
          "argument '{}': expected where the sequences begin, cumulative lengths of i32 from 0, one more "
          "than there are sequences, because option 'lengths' is packed, but got none",
          name);
  }
  return {};
}

/// What the extents have to be besides agreeing.
Result<void> checkExtents(const Schema &schema, const ForwardOptions &options) {
  for (auto [name, tensor, longest] :
       {std::tuple("d", "q", kernels::longestRow), {"dv", "v", kernels::longestValueRow}})
    if (int64_t length = schema.extent(name);
        length < rowGranularity || length > longest || length % rowGranularity != 0)
      return mistake(
          "argument '{}': expected rows of {} to {} elements, a multiple of {}, but {} is {}; pad them "
          "with zeros",
          tensor, rowGranularity, longest, rowGranularity, name, length);
  int64_t h = schema.extent("h"), hkv = schema.extent("hkv");
  if (hkv < 1 || h % hkv != 0)
    return mistake(
        "argument 'q': expected its heads to be a multiple of those of k and v, of which there is at least "
        "one, because as many query heads share each of them, but got h = {} and hkv = {}",
        h, hkv);
  if (options.lengths == Lengths::packed && schema.extent("b + 1") < 1)
    return mistake("argument 'queryLengths': expected at least 1 number, the begin of all, but got 0");
  int64_t sq = schema.extent("sq"), sk = schema.extent("sk");
  if (options.mask.blockCausal && options.lengths == Lengths::uniform && (sq != sk || sq % 2 != 0))
    return mistake(
        "option 'mask.blockCausal': expected as many queries as keys, an even number, because the mask is "
        "about a noisy and a clean half of one sequence, but got sq = {} and sk = {}",
        sq, sk);
  return {};
}

/// Everything about a call but addresses.
Result<Schema> checkCall(const ForwardTensors &tensors, const ForwardOptions &options) {
  if (Result<void> valid = checkOptions(options); !valid)
    return valid.error();
  if (ElementType element = tensors.q.element; element != ElementType::f16 && element != ElementType::bf16)
    return mistake("argument 'q': expected element type f16 or bf16, but got {}", toString(element));
  if (Result<void> valid = checkLengthTensors(tensors, options.lengths); !valid)
    return valid.error();
  Schema schema(tensors, options);
  if (Result<void> valid = schema.bind(); !valid)
    return valid.error();
  if (Result<void> valid = checkExtents(schema, options); !valid)
    return valid.error();
  if (Result<void> valid = schema.check(checkStrides); !valid)
    return valid.error();
  return schema;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// What programs for the device are compiled for.
Result<const Target *> targetOf(const Device &device) {
  const std::string &name = device.properties().target;
  if (const Target *target = findTarget(name))
    return target;
  return Error{ErrorKind::environment,
               fmt::format("expected a device of a target that code can be generated for ({}), but got '{}'",
                           targetNames(), name)};
}

/// What keeps a call from the explicit form; empty if nothing does.
std::string whyNotExplicit(const Target &target, const Schema &schema) {
  if (std::string why = kernels::whyNotExplicit(target); !why.empty())
    return why;
  kernels::AttentionProblem rows{.d = schema.extent("d"), .dv = schema.extent("dv")};
  if (std::string why = kernels::whyNotExplicit(rows, kernels::OutputSum::inPlace); !why.empty())
    return why;
  std::ptrdiff_t unaligned = schema.findUnaligned();
  if (unaligned < 0)
    return {};
  const TensorView &view = schema.views[size_t(unaligned)];
  return fmt::format(
      "the address {} and outer strides [{}] of argument '{}', of {}, are not all multiples of {} bytes",
      view.data, fmt::join(view.strides, ", "), schema.artifact.tensors[size_t(unaligned)].name,
      toString(view.element), copyAlignment);
}

Result<ForwardChoice> choose(const Target &target, const Schema &schema, const ForwardOptions &options) {
  if (options.form == ForwardForm::plain)
    return ForwardChoice{ForwardForm::plain, "option 'form' says so"};
  std::string why = whyNotExplicit(target, schema);
  if (options.form && !why.empty())
    return mistake(
        "option 'form': expected what the explicit form takes because it is insisted on, but {}; leave the "
        "form open to take the plain one",
        why);
  return ForwardChoice{why.empty() ? ForwardForm::explicitRoles : ForwardForm::plain, why};
}

ForwardConfig configOf(const Schema &schema, const ForwardTensors &tensors, const ForwardOptions &options,
                       ForwardForm form, const Target &target) {
  ForwardConfig config{.problem = {.dtype = tensors.q.element,
                                   .d = schema.extent("d"),
                                   .dv = schema.extent("dv"),
                                   .mask = options.mask,
                                   .scale = options.scale,
                                   .softCap = options.softCap,
                                   .sink = tensors.sink ? AttentionSink::perHead : AttentionSink::none,
                                   .logBase = options.logBase,
                                   .lengths = options.lengths},
                       .form = form};
  chooseTiles(config, schema.extent("sq"), target);
  return config;
}

/// Names all members, so that a new one cannot be forgotten.
KeyBuilder keyOf(const ForwardConfig &config) {
  const auto &[problem, bq, bk, stages, form, overlap, order, sum] = config;
  const auto &[dtype, out, d, dv, mask, scale, softCap, sink, logBase, lengths] = problem;
  const auto &[causal, windowLeft, windowRight, blockCausal] = mask;
  KeyBuilder key;
  key.add("attention::forward");
  auto add = [&](auto... values) { (key.add(int64_t(values)), ...); };
  add(dtype, out, d, dv, causal, scale.has_value(), std::bit_cast<int64_t>(scale.value_or(0)),
      std::bit_cast<int64_t>(softCap), sink, logBase, lengths, bq, bk, stages, form, overlap, order, sum);
  for (const std::optional<int64_t> &limit : {windowLeft, windowRight, blockCausal})
    add(limit.has_value(), limit.value_or(0));
  return key;
}

/// The program for a call that is valid.
Result<std::shared_ptr<const LoadedProgram>> programFor(Programs &programs, const Schema &schema,
                                                        const ForwardTensors &tensors,
                                                        const ForwardOptions &options) {
  Result<const Target *> target = targetOf(programs.device());
  if (!target)
    return target.error();
  Result<ForwardChoice> choice = choose(**target, schema, options);
  if (!choice)
    return choice.error();
  return programs.load(configOf(schema, tensors, options, choice->form, **target));
}

//===----------------------------------------------------------------------===//
// Workspaces
//===----------------------------------------------------------------------===//

/// The program's workspaces, each at a multiple of the alignment in one piece of memory.
struct WorkspaceLayout {
  std::vector<WorkspaceRequest> requests;
  std::vector<size_t> offsets;
  size_t bytes = 0;
};

Result<WorkspaceLayout> layOut(const Device &device, const Artifact &artifact,
                               std::span<const TensorView> views) {
  Result<std::vector<int64_t>> dimensions = bindDimensions(artifact, views);
  if (!dimensions)
    return dimensions.error();
  Result<std::vector<WorkspaceRequest>> requests =
      workspaceRequests(artifact, *dimensions, device.properties());
  if (!requests)
    return requests.error();
  WorkspaceLayout layout;
  layout.requests = std::move(*requests);
  for (const WorkspaceRequest &request : layout.requests) {
    layout.offsets.push_back(layout.bytes);
    layout.bytes += alignTo(request.bytes, workspaceAlignment);
  }
  return layout;
}

Result<void> checkWorkspace(const Workspace &workspace, size_t needed) {
  if (workspace.bytes < needed)
    return mistake("workspace: expected at least {} bytes for these tensors and options, but got {}; "
                   "attention::workspaceSize says how many it takes",
                   needed, workspace.bytes);
  if (needed == 0)
    return {};
  if (!workspace.data)
    return mistake("workspace: expected the address of {} bytes, but got null", needed);
  if (reinterpret_cast<uintptr_t>(workspace.data) % workspaceAlignment != 0)
    return mistake(
        "workspace: expected an address that is a multiple of {}, as Device::allocate gives it, but got {}",
        workspaceAlignment, workspace.data);
  return {};
}

} // namespace

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Result<std::shared_ptr<const LoadedProgram>> Programs::load(const ForwardConfig &config) {
  CompileOptions options;
  options.target = onDevice.properties().target;
  KeyBuilder key = keyOf(config).add(fingerprint(options));
  return loaded.getOrCompute(key.finish(), [&]() -> Result<std::shared_ptr<const LoadedProgram>> {
    auto artifact = artifacts.getOrCompile(key, [&]() -> Result<ArtifactCache::Pointer> {
      Result<Artifact> compiled = compile(forwardProgram(config), options);
      if (!compiled)
        return compiled.error();
      return std::make_shared<const Artifact>(std::move(*compiled));
    });
    if (!artifact)
      return artifact.error();
    return onDevice.load(**artifact);
  });
}

Result<ForwardChoice> attention::chooseForm(const Programs &programs, const ForwardTensors &tensors,
                                            const ForwardOptions &options) {
  Result<Schema> schema = checkCall(tensors, options);
  if (!schema)
    return schema.error();
  Result<const Target *> target = targetOf(programs.device());
  if (!target)
    return target.error();
  return choose(**target, *schema, options);
}

Result<size_t> attention::workspaceSize(Programs &programs, const ForwardTensors &tensors,
                                        const ForwardOptions &options) {
  Result<Schema> schema = checkCall(tensors, options);
  if (!schema)
    return schema.error();
  Result<std::shared_ptr<const LoadedProgram>> program = programFor(programs, *schema, tensors, options);
  if (!program)
    return program.error();
  Result<WorkspaceLayout> layout = layOut(programs.device(), (*program)->artifact(), schema->views);
  if (!layout)
    return layout.error();
  return layout->bytes;
}

Result<void> attention::forward(Programs &programs, Stream stream, const ForwardTensors &tensors,
                                Workspace workspace, const ForwardOptions &options) {
  Result<Schema> schema = checkCall(tensors, options);
  if (!schema)
    return schema.error();
  if (Result<void> valid = schema->check(checkMemory); !valid)
    return valid;
  Result<std::shared_ptr<const LoadedProgram>> program = programFor(programs, *schema, tensors, options);
  if (!program)
    return program.error();
  Result<WorkspaceLayout> layout = layOut(programs.device(), (*program)->artifact(), schema->views);
  if (!layout)
    return layout.error();
  if (Result<void> valid = checkWorkspace(workspace, layout->bytes); !valid)
    return valid;
  LaunchArguments arguments{.tensors = std::move(schema->views)};
  for (size_t i = 0; i < layout->requests.size(); ++i) {
    WorkspaceRequest &request = layout->requests[i];
    arguments.tensors.push_back(contiguousView(static_cast<std::byte *>(workspace.data) + layout->offsets[i],
                                               request.element, std::move(request.shape)));
  }
  return programs.device().launch(**program, arguments, stream);
}
