// SPDX-License-Identifier: Apache-2.0
/// \file
/// Afterwards functions in CUDA C++ are PTX. NVRTC compiles what calls them: `extern "C"` functions of
/// numbers.

#include "compiler/cuda/InlinePtx.h"
#include "compiler/transforms/Passes.h"
#include "dialects/program/Program.h"
#include "dialects/tile/Tile.h"
#include "runtime/nvrtc/Nvrtc.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Regex.h"

namespace tlc::tile {
#define GEN_PASS_DEF_COMPILECUDA
#include "compiler/transforms/Passes.h.inc"

using namespace mlir;

namespace {

constexpr StringRef callPrefix = "tlc_cuda_", sourcePrefix = "tlc_source_";

/// Adds a text that is not there yet; whether it is new.
bool addOnce(std::vector<std::string> &texts, const std::string &text) {
  if (llvm::is_contained(texts, text))
    return false;
  texts.push_back(text);
  return true;
}

ElementType elementOf(Value fragment) { return *toElementType(getElementTypeOrSelf(fragment)); }

/// Functions with the same options.
class TranslationUnit {
public:
  /// No two units of a module have the same number, which tells their variables apart.
  void add(CudaOp op, size_t unit) {
    prefix = sourcePrefix.str() + std::to_string(unit) + "_";
    ops.push_back(op);
    addOnce(calls, callOf(op));
  }

  LogicalResult compile(const Nvrtc &nvrtc, const Target &target) {
    std::vector<std::string> options = {"-arch=compute_" +
                                            std::string(target.name.substr(StringRef("sm_").size())),
                                        "-std=c++17", "-rdc=true", "-default-device"};
    if (!nvrtc.headers().empty())
      options.push_back("-I" + nvrtc.headers());
    if (std::optional<ArrayAttr> own = ops.front().getOptions())
      for (StringAttr option : own->getAsRange<StringAttr>())
        options.push_back(option.str());
    if (failed(checkHeaders(nvrtc)))
      return failure();
    Result<std::string> ptx = nvrtc.compile(text(), "program", options);
    if (!ptx)
      return report(ptx.error().message);
    Result<InlinePtx> taken = inlinePtx(*ptx, std::string(callPrefix));
    if (!taken)
      return ops.front().emitError() << "expected " << functions()
                                     << " in CUDA C++ to need nothing else, but " << taken.error().message;
    result = std::move(*taken);
    for (CudaOp op : ops) {
      auto body = result.bodies.find(callName(op));
      if (body == result.bodies.end())
        return op.emitError() << "expected NVRTC " << nvrtc.version() << " to give PTX of '"
                              << op.getFunction() << "', but it gives none";
      op.setPtx(body->second);
    }
    return success();
  }

  InlinePtx result;

private:
  /// What tells functions apart: equal calls are compiled once.
  static std::string callOf(CudaOp op) {
    std::string call = op.getSource().str() + "\n" + op.getFunction().str();
    for (Value input : op.getInputs())
      call += "," + std::string(toString(elementOf(input)));
    return call + ":" + std::string(toString(elementOf(op.getResult())));
  }
  std::string callName(CudaOp op) const {
    return callPrefix.str() + std::to_string(std::distance(calls.begin(), llvm::find(calls, callOf(op))));
  }

  std::string functions() {
    llvm::SetVector<StringRef> names;
    for (CudaOp op : ops)
      names.insert(op.getFunction());
    return "'" + llvm::join(names, "', '") + "'";
  }

  bool uses(ElementType element) {
    return llvm::any_of(ops, [&](CudaOp op) {
      return elementOf(op.getResult()) == element ||
             llvm::any_of(op.getInputs(), [&](Value input) { return elementOf(input) == element; });
    });
  }

  /// NVRTC alone knows the types of C++.
  LogicalResult checkHeaders(const Nvrtc &nvrtc) {
    for (ElementType element : {ElementType::f16, ElementType::bf16})
      if (nvrtc.headers().empty() && uses(element))
        return ops.front().emitError()
               << "expected the headers of a CUDA toolkit because " << functions() << " takes or gives "
               << std::string(toString(element))
               << ", but found no cuda_fp16.h beside libnvrtc.so; install them, or convert to f32";
    return success();
  }

  /// One source after the other, then the calls. What a source includes stands before all of them: headers
  /// are of no namespace.
  std::string text() {
    llvm::MapVector<StringRef, std::string> sources;
    std::string includes, ofCalls;
    if (uses(ElementType::f16))
      includes += "#include <cuda_fp16.h>\n";
    if (uses(ElementType::bf16))
      includes += "#include <cuda_bf16.h>\n";
    std::vector<std::string> written;
    for (CudaOp op : ops) {
      auto [entry, isNew] = sources.try_emplace(op.getSource());
      if (isNew)
        entry->second = prefix + std::to_string(sources.size() - 1);
      if (!addOnce(written, callOf(op)))
        continue;
      std::string parameters, arguments;
      for (auto [i, input] : llvm::enumerate(op.getInputs())) {
        std::string name = "x" + std::to_string(i), separator = i == 0 ? "" : ", ";
        parameters += separator + std::string(factsOf(elementOf(input)).cuda) + " " + name;
        arguments += separator + name;
      }
      ofCalls += "#line 1 \"call of " + op.getFunction().str() + "\"\nextern \"C\" " +
                 std::string(factsOf(elementOf(op.getResult())).cuda) + " " + callName(op) + "(" +
                 parameters + ") { return " + entry->second + "::" + op.getFunction().str() + "(" +
                 arguments + "); }\n";
    }
    std::string all;
    for (const auto &[source, name] : sources) {
      all += "namespace " + name + " { namespace {\n#line 1 \"" + name + "\"\n";
      StringRef rest = source;
      while (!rest.empty()) {
        auto [line, after] = rest.split('\n');
        bool isInclude = line.ltrim(" \t#").starts_with("include") && line.ltrim().starts_with("#");
        (isInclude ? includes : all) += line.str() + "\n";
        all += isInclude ? "\n" : "";
        rest = after;
      }
      all += "} }\n";
    }
    return includes + all + ofCalls;
  }

  /// The compiler's errors, at the calls of the functions that they are about.
  LogicalResult report(StringRef log) {
    llvm::Regex error("^([^(]+)\\(([0-9]+)\\): (catastrophic )?error[^:]*: (.*)$");
    constexpr size_t most = 5;
    SmallVector<std::pair<CudaOp, std::string>> found;
    SmallVector<StringRef> lines, parts;
    log.split(lines, '\n');
    for (StringRef line : lines) {
      if (!error.match(line.trim(), &parts) || found.size() == most)
        continue;
      StringRef place = parts[1];
      bool isInSource = place.consume_front(prefix);
      llvm::SetVector<StringRef> sources;
      for (CudaOp op : ops) {
        sources.insert(op.getSource());
        bool isMeant = isInSource ? std::to_string(sources.size() - 1) == place
                                  : place == "call of " + op.getFunction().str();
        if (!isMeant)
          continue;
        found.emplace_back(op, (isInSource ? "line " + parts[2].str() + " of its source: " : "") +
                                   parts[4].str());
        break;
      }
    }
    if (found.empty())
      found.emplace_back(ops.front(), log.trim().str());
    for (auto &[op, message] : found)
      op.emitError() << "expected '" << op.getFunction()
                     << "' to be a function in CUDA C++ that NVRTC compiles, but it reports " << message;
    return failure();
  }

  std::string prefix; ///< of the namespaces of sources
  SmallVector<CudaOp> ops;
  std::vector<std::string> calls;
};

struct CompileCuda : impl::CompileCudaBase<CompileCuda> {
  void runOnOperation() override {
    llvm::MapVector<Attribute, TranslationUnit> units; // by their options
    CudaOp first;
    getOperation().walk([&](CudaOp op) {
      if (op.getPtx())
        return;
      first = first ? first : op;
      auto entry = units.try_emplace(op.getOptionsAttr()).first;
      entry->second.add(op, size_t(entry - units.begin()));
    });
    if (!first)
      return;
    const Target *target = program::findTarget(getOperation());
    Result<Nvrtc> nvrtc = Nvrtc::open();
    if (!target || !nvrtc) {
      first.emitError() << (target ? nvrtc.error().message
                                   : "expected a module with a target, but it has none");
      return signalPassFailure();
    }
    unsigned version = 0;
    std::vector<std::string> declarations; // each header's variables once
    for (auto &[options, unit] : units) {
      if (failed(unit.compile(*nvrtc, *target)))
        return signalPassFailure();
      version = std::max(version, unit.result.version);
      for (const std::string &declaration : unit.result.declarations)
        addOnce(declarations, declaration);
    }
    getOperation()->setAttr(
        program::ProgramDialect::ptxAttrName,
        program::PtxAttr::get(&getContext(), version, nvrtc->version(), llvm::join(declarations, "\n")));
  }
};

} // namespace
} // namespace tlc::tile
