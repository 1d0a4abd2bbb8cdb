// SPDX-License-Identifier: Apache-2.0
#include "tools/aot/CHeader.h"

#include "tools/aot/ArgumentText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace llvm;
using namespace tlc;
using namespace tlc::aot;

namespace {

/// Keywords of C or C++, and macros of their compilers: no names of members.
bool isReserved(StringRef name) {
  static const StringSet<> reserved = [] {
    SmallVector<StringRef> words;
    SplitString(R"(
      NULL alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
      char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
      constinit continue contract_assert decltype default delete do double dynamic_cast else enum errno
      explicit export extern false float for friend goto i386 if inline int linux long mutable namespace
      new noexcept not not_eq nullptr offsetof operator or or_eq private protected public register
      reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast
      struct switch template this thread_local throw true try typedef typeid typename typeof
      typeof_unqual union unix unsigned using virtual void volatile wchar_t while xor xor_eq)",
                words);
    StringSet<> set;
    set.insert_range(words);
    return set;
  }();
  return reserved.contains(name);
}

/// Names of the members of a struct.
class Members {
public:
  std::string add(StringRef text) {
    std::string name = identifierOf(text);
    while (isReserved(name) || !used.insert(name).second)
      name += '_';
    return name;
  }

private:
  StringSet<> used;
};

/// The type of C for elements that it has one for.
StringRef cTypeOf(ElementType element) {
  switch (element) {
  case ElementType::i8:
    return "int8_t";
  case ElementType::u8:
    return "uint8_t";
  case ElementType::i32:
    return "int32_t";
  case ElementType::u32:
    return "uint32_t";
  case ElementType::i64:
    return "int64_t";
  case ElementType::f32:
    return "float";
  case ElementType::f64:
    return "double";
  default:
    return "";
  }
}

/// Its own type, or the bits.
StringRef scalarTypeOf(ElementType element) {
  const StringRef own = cTypeOf(element);
  return !own.empty() ? own : bitsOf(element) == 16 ? "uint16_t" : "uint8_t";
}

/// "m: 1 to 2147483647, a multiple of 8"; empty if it may be any.
std::string limitsOf(const Dimension &dimension) {
  std::vector<std::string> limits;
  if (dimension.fixed)
    limits.push_back(std::to_string(*dimension.fixed));
  else if (dimension.least != 0 && dimension.most != maxExtent)
    limits.push_back(fmt::format("{} to {}", dimension.least, dimension.most));
  else if (dimension.least != 0)
    limits.push_back(fmt::format("at least {}", dimension.least));
  else if (dimension.most != maxExtent)
    limits.push_back(fmt::format("at most {}", dimension.most));
  if (!dimension.fixed && dimension.multipleOf != 1)
    limits.push_back(fmt::format("a multiple of {}", dimension.multipleOf));
  return limits.empty() ? "" : fmt::format("{}: {}", dimension.name, fmt::join(limits, ", "));
}

/// A text as what follows `//` on one line, which the next line does not continue.
std::string commentOf(StringRef text) {
  SmallVector<StringRef> words;
  SplitString(text, words, " \t\n\v\f\r");
  std::string line = join(words, " ");
  if (StringRef(line).ends_with("\\") || StringRef(line).ends_with("?"
                                                                   "?/")) // a trigraph of C
    line += '.';
  return line;
}

std::string structOf(const HeaderKernel &kernel) {
  const Artifact &artifact = *kernel.artifact;
  Members members;
  std::string text = fmt::format("typedef struct {}_arguments {{\n", kernel.function);
  for (const TensorArgument &tensor : tensorsOf(artifact)) {
    const StringRef type = cTypeOf(tensor.element);
    const size_t rank = tensor.shape.size();
    text += fmt::format("  struct {{\n    {}{} *data;\n", tensor.access == Access::input ? "const " : "",
                        type.empty() ? "void" : std::string_view(type));
    if (rank != 0)
      text += fmt::format("    int64_t shape[{0}], strides[{0}];\n", rank);
    text += fmt::format("  }} {}; ///< {} {} {}\n", members.add(tensor.name), toString(tensor.access),
                        toString(tensor.element), commentOf(shapeOf(artifact, tensor)));
  }
  for (const ScalarArgument &scalar : artifact.scalars)
    text += fmt::format("  {} {}; ///< {}\n", std::string_view(scalarTypeOf(scalar.element)),
                        members.add(scalar.name), toString(scalar.element));
  if (kernel.hasWorkspaces)
    text += fmt::format("  void *{}; ///< of the device, at a multiple of {}\n  size_t {};\n",
                        members.add("workspace"), workspaceAlignment, members.add("workspace_bytes"));
  else if (artifact.tensors.empty() && artifact.scalars.empty())
    text += "  char nothing; ///< C has no empty structs\n";
  return text + fmt::format("}} {}_arguments;\n", kernel.function);
}

std::string declarationsOf(const HeaderKernel &kernel, bool hasEmulator) {
  const std::string &name = kernel.function;
  std::string text = fmt::format("/// {}\n/// {}, for {}.\n", commentOf(kernel.summary),
                                 commentOf(kernel.line), fmt::join(kernel.targets, ", "));
  for (const Dimension &dimension : kernel.artifact->dimensions)
    if (const std::string limits = limitsOf(dimension); !limits.empty())
      text += fmt::format("/// {}\n", commentOf(limits));
  text += structOf(kernel);
  text += fmt::format("/// Checks the arguments and enqueues the kernel on the current GPU.\n"
                      "int {0}(const {0}_arguments *arguments, void *stream);\n"
                      "/// Loads it there, as the first call does.\nint {0}_load(void);\n",
                      name);
  if (kernel.hasWorkspaces)
    text += fmt::format("/// Bytes of workspace for a launch of these shapes.\n"
                        "int {0}_workspace(const {0}_arguments *arguments, size_t *bytes);\n",
                        name);
  if (hasEmulator)
    text +=
        fmt::format("/// Runs it on an emulated {1}, with tensors in memory of the host{2}.\n"
                    "int {0}_emulate(const {0}_arguments *arguments);\n",
                    name, kernel.targets.front(), kernel.hasWorkspaces ? "; the workspace is ignored" : "");
  return text;
}

std::string overloadsOf(const HeaderKernel &kernel, bool hasEmulator) {
  const std::string &name = kernel.function;
  std::string text = fmt::format("inline int {0}(const {0}_arguments &arguments, void *stream = nullptr) {{\n"
                                 "  return {0}(&arguments, stream);\n}}\n",
                                 name);
  if (kernel.hasWorkspaces)
    text += fmt::format("inline int {0}_workspace(const {0}_arguments &arguments, size_t &bytes) {{\n"
                        "  return {0}_workspace(&arguments, &bytes);\n}}\n",
                        name);
  if (hasEmulator)
    text += fmt::format("inline int {0}_emulate(const {0}_arguments &arguments) {{\n"
                        "  return {0}_emulate(&arguments);\n}}\n",
                        name);
  return text;
}

} // namespace

std::string aot::identifierOf(StringRef text) {
  std::string name;
  for (const char letter : text)
    name += isAlnum(letter) ? letter : '_';
  if (name.empty() || isDigit(name.front()))
    name.insert(0, 1, '_');
  return name;
}

Result<void> aot::checkNames(const std::string &prefix, ArrayRef<std::string> functions) {
  StringSet<> names;
  for (const char *common :
       {"_OK", "_INVALID_ARGUMENT", "_ENVIRONMENT", "_EXECUTION", "_INTERNAL", "_last_error", "_synchronize"})
    names.insert(prefix + common);
  for (const std::string &function : functions)
    for (const char *ending : {"", "_arguments", "_load", "_workspace", "_emulate"})
      if (std::string name = function + ending; !names.insert(name).second)
        return tlc::Error{ErrorKind::invalidArgument,
                          fmt::format("expected each name of the header once, but '{}' is there twice; "
                                      "'NAME=KERNEL' gives the function of a kernel another name",
                                      name)};
  return {};
}

std::string aot::textOf(const Header &header) {
  const std::string &prefix = header.prefix;
  std::string text = fmt::format(
      R"(/// Kernels that `tlc build` has compiled. Link their archive and libtlc_runtime.
///
/// A tensor has an address of the device, and its shape and strides in elements, outermost axis first; strides
/// that are all 0 are those of a contiguous tensor. Functions return a status; all may be called by several
/// threads at once. `stream` is a CUstream, null being the default one. The current GPU is that of the calling
/// thread's context, or GPU 0 where it has none; the first call there loads the kernel.
#ifndef TLC_BUILD_{0}_H
#define TLC_BUILD_{0}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

enum {{
  {0}_OK = 0,
  {0}_INVALID_ARGUMENT = 1, ///< the caller passed something wrong
  {0}_ENVIRONMENT = 2,      ///< something is missing or too old: driver, device, memory
  {0}_EXECUTION = 3,        ///< the device could not run it
  {0}_INTERNAL = 4          ///< an error of libtlc_runtime
}};

/// Text of the last failure on the calling thread, "" before the first.
const char *{0}_last_error(void);
/// Waits for a stream of the current GPU: a failure is that of a kernel on it.
int {0}_synchronize(void *stream);

)",
      prefix);
  for (const HeaderKernel &kernel : header.kernels)
    text += declarationsOf(kernel, header.hasEmulator) + "\n";
  text += "#ifdef __cplusplus\n} // extern \"C\"\n\n";
  for (const HeaderKernel &kernel : header.kernels)
    text += overloadsOf(kernel, header.hasEmulator);
  return text + "#endif\n\n#endif\n";
}

std::vector<Forwarder> aot::functionsOf(const HeaderKernel &kernel, bool hasEmulator) {
  std::vector<Forwarder> functions = {{kernel.function, "tlc_aot_launch", 2},
                                      {kernel.function + "_load", "tlc_aot_load", 0}};
  if (kernel.hasWorkspaces)
    functions.push_back({kernel.function + "_workspace", "tlc_aot_workspace", 2});
  if (hasEmulator)
    functions.push_back({kernel.function + "_emulate", "tlc_aot_emulate", 1});
  return functions;
}

std::vector<Forwarder> aot::commonFunctionsOf(StringRef prefix) {
  return {{(prefix + "_last_error").str(), "tlc_aot_last_error", 0},
          {(prefix + "_synchronize").str(), "tlc_aot_synchronize", 0}};
}
