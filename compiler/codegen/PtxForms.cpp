// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads opcodes and the first characters of operands.
#include "compiler/codegen/PtxForms.h"

#include "compiler/codegen/PtxFlow.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace tlc;
using llvm::isDigit;
using llvm::isSpace;
using llvm::raw_fd_ostream;
using llvm::StringRef;
namespace sys = llvm::sys;

namespace {

std::string withoutColumns(StringRef opcode) {
  auto [before, after] = opcode.split(".m64n");
  if (!opcode.starts_with("wgmma.") || after.empty())
    return opcode.str();
  return (before + ".m64nN" + after.drop_while(isDigit)).str();
}

/// "{}, [], r": of each operand its kind.
std::string kindsOf(StringRef operands) {
  std::string kinds;
  unsigned depth = 0;
  bool begins = true;
  for (char c : operands) {
    if (isSpace(c))
      continue;
    if (begins)
      kinds += c == '{' ? "{}" : c == '[' ? "[]" : c == '(' ? "()" : "r";
    begins = c == ',' && depth == 0;
    if (begins)
      kinds += ", ";
    depth += StringRef("{[(").contains(c);
    depth -= StringRef("}])").contains(c);
  }
  return kinds;
}

} // namespace

std::set<std::string> tlc::formsOf(std::string_view ptx) {
  std::set<std::string> forms;
  for (const PtxFunction &function : readPtx(ptx).functions)
    for (const PtxInstruction &instruction : function.instructions) {
      const std::string kinds = kindsOf(instruction.operands);
      forms.insert(withoutColumns(instruction.opcode) + (kinds.empty() ? "" : " ") + kinds);
    }
  return forms;
}

Result<void> tlc::recordForms(const std::string &path, std::string_view device,
                              const std::set<std::string> &forms) {
  std::string lines;
  for (const std::string &form : forms)
    lines += std::string(device) + "\t" + form + "\n";
  std::error_code error;
  raw_fd_ostream file(path, error, sys::fs::OF_Append);
  if (!error) {
    file.SetUnbuffered();
    file << lines;
    error = file.error();
    file.clear_error();
  }
  if (error)
    return Error{ErrorKind::environment, "cannot write '" + path + "': " + error.message()};
  return {};
}
