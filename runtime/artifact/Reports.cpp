// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/Reports.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <numeric>
#include <tuple>

using namespace tlc;

namespace {

constexpr std::string_view placeholder = "{}";

std::string formatValue(ElementType type, uint64_t bits) {
  switch (type) {
  case ElementType::i32:
    return fmt::format("{}", int32_t(uint32_t(bits)));
  case ElementType::i64:
    return fmt::format("{}", int64_t(bits));
  case ElementType::f32:
    return fmt::format("{}", std::bit_cast<float>(uint32_t(bits)));
  case ElementType::f64:
    return fmt::format("{}", std::bit_cast<double>(bits));
  default: // no site has another
    return fmt::format("{:#x}", bits);
  }
}

/// The order of the texts: by block, thread and time.
std::vector<size_t> orderOf(std::span<const ReportRecord> records) {
  auto key = [&](size_t i) {
    const ReportRecord &record = records[i];
    return std::tuple(record.block[2], record.block[1], record.block[0], record.thread, i);
  };
  std::vector<size_t> order(records.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, key);
  return order;
}

} // namespace

size_t tlc::countPlaceholders(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(placeholder, at)) != text.npos; at += placeholder.size())
    ++count;
  return count;
}

std::string tlc::fillIn(std::string_view text, std::span<const std::string> values) {
  std::string filled;
  for (const std::string &value : values) {
    const size_t at = text.find(placeholder);
    filled += text.substr(0, at);
    filled += value;
    text.remove_prefix(at == text.npos ? text.size() : at + placeholder.size());
  }
  return filled.append(text);
}

std::string tlc::formatReport(const ReportSite &site, const ReportRecord &record) {
  std::string line = fmt::format("{}: {}block ({}), thread {}", site.place,
                                 site.kind == ReportSite::Kind::check ? "check failed in " : "",
                                 fmt::join(record.block, ", "), record.thread);
  if (site.axes > 0)
    line += fmt::format(", element ({})", fmt::join(std::span(record.position).first(site.axes), ", "));
  std::vector<std::string> values;
  for (size_t i = 0; i < site.values.size(); ++i)
    values.push_back(formatValue(site.values[i], record.values[i]));
  return line + ": " + fillIn(site.text, values);
}

Reports tlc::readReports(std::span<const ReportSite> sites, std::span<const std::byte> buffer) {
  ReportBufferHeader header;
  std::memcpy(&header, buffer.data(), sizeof(header));
  const auto bytes = buffer.subspan(sizeof(header));
  std::vector<ReportRecord> records(std::min<size_t>(header.records, bytes.size() / sizeof(ReportRecord)));
  if (!records.empty())
    std::memcpy(records.data(), bytes.data(), records.size() * sizeof(ReportRecord));
  Reports reports;
  reports.lost = header.records - records.size();
  reports.lostChecks = header.lostChecks;
  reports.endsWaits = header.endsWaits != 0;
  for (size_t i : orderOf(records)) {
    const ReportRecord &record = records[i];
    if (record.site >= sites.size()) { // a kernel wrote where it should not
      ++reports.lost;
      continue;
    }
    const ReportSite &site = sites[record.site];
    (site.kind == ReportSite::Kind::check ? reports.failures : reports.prints)
        .push_back(formatReport(site, record));
  }
  return reports;
}

void Reports::append(Reports others) {
  std::ranges::move(others.prints, std::back_inserter(prints));
  std::ranges::move(others.failures, std::back_inserter(failures));
  lost += others.lost;
  lostChecks += others.lostChecks;
  endsWaits |= others.endsWaits;
}
