// SPDX-License-Identifier: Apache-2.0
#include "tools/tlc/TuningFlag.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tlc;
using namespace tlc::driver;

TuningFlag::TuningFlag(cl::SubCommand &command)
    : folder("tuning", cl::sub(command), cl::value_desc("folder"),
             cl::desc("Fill open parameters by what 'tlc tune' has measured")) {}

Result<kernels::Request> TuningFlag::apply(const kernels::Request &request,
                                           const kernels::TuningSetting &setting) const {
  if (folder.getNumOccurrences() == 0)
    return request;
  if (folder.empty())
    return tlc::Error{ErrorKind::invalidArgument, "expected a folder as --tuning, but got an empty name"};
  Result<kernels::Tuning> tuning = kernels::Tuning::read(folder.getValue());
  if (!tuning)
    return tuning.error();
  kernels::Tuned tuned = tuning->apply(request, setting);
  for (const std::string &remark : tuned.remarks)
    errs() << "tlc: remark: " << remark << '\n';
  if (tuned.isChanged) {
    errs() << "tlc: tuned:";
    for (const kernels::Parameter &parameter : request.kernel->parameters())
      if (parameter.isOpen() && !isGiven(request, parameter))
        errs() << ' ' << parameter.name << '=' << *tuned.request.values.find(parameter.name);
    errs() << '\n';
  }
  return std::move(tuned.request);
}
