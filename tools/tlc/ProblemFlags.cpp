// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/ProblemFlags.h"

#include "runtime/support/Excerpt.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <random>

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

static constexpr int64_t mostRoom = 1 << 20;

ProblemFlags::ProblemFlags(cl::SubCommand &command)
    : seed("seed", cl::sub(command), cl::value_desc("number"),
           cl::desc("Seed of the inputs instead of a fresh one")),
      freshSeed(std::random_device()()),
      rowPadding("row-padding", cl::sub(command), cl::value_desc("elements"), cl::init(0),
                 cl::desc("Room between the rows of each tensor")),
      offset("offset", cl::sub(command), cl::value_desc("elements"), cl::init(0),
             cl::desc("Room between an aligned address and each tensor")),
      lastStrides("last-stride", cl::sub(command), cl::value_desc("tensor=elements"),
                  cl::desc("From one element of a row to the next, of a tensor with LastStride::any; may be "
                           "repeated")),
      ranks("ranks", cl::sub(command), cl::value_desc("count"),
            cl::desc("Devices that run the kernel together, each with tensors of its own")) {}

kernels::Definitions ProblemFlags::definitions() const {
  kernels::Definitions asked;
  if (ranks.getNumOccurrences())
    asked["ranks"] = std::to_string(ranks);
  return asked;
}

Result<void> ProblemFlags::check() const {
  for (const cl::opt<int64_t> *room : {&rowPadding, &offset})
    if (*room < 0 || *room > mostRoom)
      return tlc::Error{ErrorKind::invalidArgument, formatv("expected --{0} from 0 to {1}, but got {2}",
                                                            room->ArgStr, mostRoom, room->getValue())
                                                        .str()};
  return {};
}

Result<kernels::ProblemOptions> ProblemFlags::options(const Artifact *program,
                                                      const kernels::Request &request) const {
  Result<kernels::LastStrides> strides = lastStridesFor(program);
  if (!strides)
    return strides.error();
  if (program)
    if (Result<void> fits = checkPlacement(*program, request); !fits)
      return fits.error();
  return kernels::ProblemOptions{.placement = {rowPadding, offset},
                                 .lastStrides = std::move(*strides),
                                 .seed = seed.getNumOccurrences() ? seed : freshSeed};
}

Result<kernels::LastStrides> ProblemFlags::lastStridesFor(const Artifact *program) const {
  const auto invalid = [](const std::string &message) {
    return tlc::Error{ErrorKind::invalidArgument, message};
  };
  kernels::LastStrides strides;
  for (StringRef text : lastStrides) {
    auto [name, value] = text.split('=');
    int64_t stride = 0;
    if (name.empty() || value.getAsInteger(10, stride) || stride < 0 || stride > mostRoom)
      return invalid(formatv("expected --last-stride TENSOR=N with N from 0 to {0}, but got '{1}'", mostRoom,
                             excerpt(text)));
    const auto takesAny = [&](const TensorArgument &tensor) { return tensor.name == name && tensor.strided; };
    if (program && none_of(program->tensors, takesAny)) {
      std::vector<std::string> names;
      for (const TensorArgument &tensor : program->tensors)
        if (tensor.strided)
          names.push_back(tensor.name);
      return invalid(
          formatv("expected --last-stride of a tensor that is declared with LastStride::any ({0}), "
                  "but got '{1}'",
                  names.empty() ? "the kernel has none" : join(names, ", "), excerpt(name)));
    }
    if (!strides.try_emplace(name.str(), stride).second)
      return invalid(
          formatv("expected --last-stride of each tensor once, but that of '{0}' is given twice", name));
  }
  return strides;
}

Result<void> ProblemFlags::checkPlacement(const Artifact &program, const kernels::Request &request) const {
  for (const TensorArgument &tensor : program.tensors) {
    if (tensor.access == Access::workspace || tensor.alignment == 1)
      continue;
    const int64_t step = elementsOf(tensor.element, tensor.alignment);
    for (const cl::opt<int64_t> *room : {&rowPadding, &offset}) {
      if (step <= 1 || *room % step == 0)
        continue;
      const kernels::Kernel &kernel = *request.kernel;
      const auto form = find_if(kernel.parameters(), [](const kernels::Parameter &each) {
        return each.name == "form" && is_contained(each.choices, "plain");
      });
      const bool hasPlain = form != kernel.parameters().end() && request.values.choice("form") != "plain";
      return tlc::Error{
          ErrorKind::invalidArgument,
          formatv("expected --{0} of a multiple of {1} elements because the program declares an "
                  "alignment of {2} bytes for '{3}', but got {4}; {5}",
                  room->ArgStr, step, tensor.alignment, tensor.name, room->getValue(),
                  hasPlain ? "-D form=plain makes a program for any alignment"
                           : "a program for any alignment declares none")
              .str()};
    }
  }
  return {};
}
