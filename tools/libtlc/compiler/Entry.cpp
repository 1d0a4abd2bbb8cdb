// SPDX-License-Identifier: Apache-2.0
/// \file
/// The functions by which libtlc uses this library.
#include "kernels/library/call/BuildId.h"
#include "runtime/cache/BuildId.h"
#include "tools/libtlc/compiler/Calls.h"
#include "tools/tlc/Driver.h"

#include <exception>
#include <new>

using namespace tlc;

namespace {

/// A function of `Compiler` that throws nothing.
template <auto Function, class Type = decltype(Function)> struct Caught;
template <auto Function, class T, class... Parameters> struct Caught<Function, Result<T> (*)(Parameters...)> {
  static calls::Answer<T> call(Parameters... parameters) {
    try {
      return {Function(std::forward<Parameters>(parameters)...)};
    } catch (const std::bad_alloc &) {
      return {Error{ErrorKind::environment, "out of memory"}};
    } catch (const std::exception &thrown) {
      return {std::nullopt, thrown.what()};
    } catch (...) {
      return {std::nullopt, "something unknown was thrown"};
    }
  }
};

constexpr calls::Compiler functions = {
    .check = Caught<calls::checkProgram>::call,
    .compile = Caught<calls::compileProgram>::call,
    .prewarm = Caught<calls::prewarmPrograms>::call,
    .readTuning = Caught<calls::readTuning>::call,
    .openFile = Caught<calls::openFile>::call,
    .countKernels = Caught<calls::countKernels>::call,
    .describeKernel = Caught<calls::describeKernel>::call,
    .describeParameter = Caught<calls::describeParameter>::call,
    .makeRankPrograms = Caught<calls::makeRankPrograms>::call,
    .rankWorkspace = Caught<calls::rankWorkspace>::call,
    .launchRank = Caught<calls::launchRank>::call,
    .isFaster = Caught<calls::isRankFaster>::call,
    .main = tlc_main,
};

} // namespace

const calls::Compiler *tlc_compiler_of(const char *build) {
  return buildIdOf(&functions) == build ? &functions : nullptr;
}
