// SPDX-License-Identifier: Apache-2.0
/// \file
/// What prints and checks on the device write, and how the host makes texts of it. A module whose kernels
/// report has a variable for it in global memory, which begins with zeros and which the launcher reads and
/// empties when it synchronises.
#pragma once

#include "runtime/artifact/Artifact.h"

#include <span>
#include <string_view>

namespace tlc {

/// The variable in PTX, a `ReportBuffer`. No kernel can have that name.
inline constexpr std::string_view reportBufferName = "reports$";

/// The most values of one report, and the most axes of a fragment in one.
inline constexpr unsigned maxReportValues = 8, maxReportAxes = 5;
/// Of a fragment or shared tile, a print shows the elements whose position along each axis is below it.
inline constexpr int64_t maxPrintedExtent = 8;
/// Records that a program's buffer has room for. Later ones are lost, and counted.
inline constexpr unsigned reportCapacity = 4096;

/// What one print or check has to say once.
struct ReportRecord {
  uint32_t site = 0; ///< index into `Variant::reports`
  uint32_t thread = 0;
  uint32_t block[3] = {};
  uint32_t position[maxReportAxes] = {}; ///< of the element, as many as the site has axes
  uint32_t reserved[2] = {};             ///< whole vectors of 16 bytes
  uint64_t values[maxReportValues] = {}; ///< the low bits of each are its bits
};
static_assert(sizeof(ReportRecord) == 112);

struct ReportBufferHeader {
  uint32_t records = 0;    ///< so many were made, lost ones included
  uint32_t lostChecks = 0; ///< lost ones that are of checks
  uint32_t endsWaits = 0;  ///< 1: a wait has lasted too long, which is a failed check, so that others end
  uint32_t reserved = 0;
};
static_assert(sizeof(ReportBufferHeader) == 16);

/// Bytes of the variable: the header, then the records.
inline constexpr size_t reportBufferBytes =
    sizeof(ReportBufferHeader) + reportCapacity * sizeof(ReportRecord);

/// Whether records have values of the type.
constexpr bool isReportable(ElementType type) {
  return type == ElementType::i32 || type == ElementType::i64 || type == ElementType::f32 ||
         type == ElementType::f64;
}

/// How many values a text of a report shows: the number of "{}" in it.
size_t countPlaceholders(std::string_view text);

/// The text with a value in place of each "{}".
std::string fillIn(std::string_view text, std::span<const std::string> values);

/// A line without its end: the place, the block, the thread, the element's position if any, the text.
std::string formatReport(const ReportSite &site, const ReportRecord &record);

/// What a launch's kernels have reported.
struct Reports {
  std::vector<std::string> prints = {};   ///< a line each, without its end
  std::vector<std::string> failures = {}; ///< failed checks, the same
  uint64_t lost = 0;                      ///< records of either that the buffer had no room for
  uint64_t lostChecks = 0;                ///< those of failed checks
  bool endsWaits = false;                 ///< a failed check is of a wait, so that others have ended, too

  void append(Reports others);
};

/// Of a buffer, or what there is of its beginning. By block (x fastest), then by thread; those of one thread
/// in its order.
Reports readReports(std::span<const ReportSite> sites, std::span<const std::byte> buffer);

} // namespace tlc
