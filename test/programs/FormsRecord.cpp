// SPDX-License-Identifier: Apache-2.0
/// \file
/// A listener of the tests' framework, which knows what passed.
#include "test/programs/FormsRecord.h"

#include "compiler/codegen/PtxForms.h"

#define CATCH_CONFIG_EXTERNAL_INTERFACES // of listeners
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

using namespace tlc;

namespace {

/// Of each device.
using Forms = std::map<std::string, std::set<std::string>>;

Forms &running() {
  static Forms forms;
  return forms;
}

struct Recorder : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseEnded(const Catch::TestCaseStats &ended) override {
    if (ended.totals.assertions.allPassed())
      for (auto &[device, forms] : running())
        passed[device].merge(forms);
    running().clear();
  }

  void testRunEnded(const Catch::TestRunStats &) override {
    if (const char *path = std::getenv("TLC_FORMS"))
      for (const auto &[device, forms] : passed)
        if (Result<void> recorded = recordForms(path, device, forms); !recorded)
          Catch::cerr() << recorded.error().message << '\n';
  }

  Forms passed;
};
CATCH_REGISTER_LISTENER(Recorder)

} // namespace

void test::noteForms(const Device &device, const std::string &ptx) {
  if (std::getenv("TLC_FORMS"))
    running()[device.properties().name.starts_with("emulator") ? "emulator" : "cuda"].merge(formsOf(ptx));
}
