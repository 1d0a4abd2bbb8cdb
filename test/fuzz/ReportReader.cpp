// SPDX-License-Identifier: Apache-2.0
/// \file
/// The reader of files of `tlc report`. What has been changed is read twice: as it is, and packed again.
#include "runtime/aot/Compression.h"
#include "runtime/support/Hash.h"
#include "test/fuzz/ReaderParts.h"
#include "tools/report/ReportFile.h"

#include <cstring>
#include <fmt/format.h>

using namespace tlc;
using namespace tlc::fuzz;

namespace {

/// What a changed file is in this test: the content alone, so that changes are not lost on the compression.
std::string contentOf(const report::Report &report) {
  const Result<std::string> file = report::write(report);
  require(bool(file), "a small report to be written");
  unsigned format = 0;
  size_t block = 0, content = 0;
  require(std::sscanf(file->c_str(), "tlc-report %u %zu %zu", &format, &block, &content) == 3,
          "a first line of sizes");
  std::string bytes(content, '\0');
  require(aot::decompress(bytesOf(std::string_view(*file).substr(file->size() - block)),
                          std::as_writable_bytes(std::span(bytes))),
          "a block of a report");
  return bytes;
}

/// The file with that content.
std::string fileOf(std::string_view content) {
  Hash128 hash;
  hash.update(bytesOf(content));
  const std::vector<std::byte> block = aot::compress(bytesOf(content));
  return fmt::format("tlc-report {} {} {} {:016x}{:016x}\n", report::formatVersion, block.size(),
                     content.size(), hash.high, hash.low) +
         textOf(block);
}

} // namespace

std::vector<std::string> fuzz::reportSeeds(const Folder &) {
  report::Report report;
  report.kernel = "softcap";
  report.parameters = {{"m", "8"}, {"dtype", "bf16"}, {"lr", "0.5"}};
  report.scalars = {{"lr", ElementType::f32}};
  report.module = "module { }";
  report.target = "sm_90a";
  report.disabled = {"tma"};
  report.multiprocessors = 132;
  report.raceCheck = "on";
  report.maximumSteps = 1000;
  report.scheduleSeed = 3;
  report.lastStrides = {{"X", 2}};
  report.tensors = {{.name = "X",
                     .shape = {2, 4},
                     .hasContents = true,
                     .contents = std::string(32, 'x'),
                     .padding = {{1, 3}, {7, 8}}},
                    {.name = "Y", .element = ElementType::bf16, .access = Access::output, .shape = {8}}};
  report.tolerances = {{.limit = 1, .floor = 1}};
  report.outcome = report::Outcome::ran;
  report.digest = "00ff";
  report::Report failed = report;
  failed.outcome = report::Outcome::failed;
  failed.error = "kernel 'softcap' does not compile";
  failed.scheduleSeed.reset();
  return {contentOf(report), contentOf(failed)};
}

bool fuzz::readReport(std::string_view bytes, const Folder &) {
  const auto refusal = [](const Result<report::Report> &read) {
    require(bool(read) || read.error().message.starts_with("'r.tlc': "), "an error with the file's name");
  };
  refusal(report::read(bytes, "r.tlc"));
  const std::string file = fileOf(bytes);
  refusal(report::read(std::string_view(file).substr(0, file.size() * 2 / 3), "r.tlc"));
  const Result<report::Report> report = report::read(file, "r.tlc");
  refusal(report);
  if (!report)
    return false;
  const Result<std::string> again = report::write(*report);
  require(again && report::read(*again, "r.tlc"), "what was read to be written");
  return true;
}
