// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/Profile.h"

#include "runtime/target/Hardware.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace tlc;

namespace {

template <class T> T readAt(std::span<const std::byte> buffer, size_t offset) {
  T value;
  std::memcpy(&value, buffer.data() + offset, sizeof(T));
  return value;
}

/// Makes one count of the low halves of a clock, whose readings are less than a turn apart and ascend.
class Unwrapped {
public:
  explicit Unwrapped(uint32_t start) : last(start) {}
  uint64_t operator()(uint32_t reading) {
    total += uint32_t(reading - last);
    last = reading;
    return total;
  }

private:
  uint32_t last;
  uint64_t total = 0;
};

} // namespace

uint64_t BlockProfile::cycles() const {
  uint64_t last = 0;
  for (const WarpProfile &warp : warps)
    last = std::max(last, warp.end);
  return last;
}

Result<std::vector<BlockProfile>> tlc::readProfile(const Launch &launch, std::span<const std::byte> buffer) {
  const size_t blocks = size_t(launch.cluster[0]) * launch.cluster[1] * launch.cluster[2],
               warps = launch.threads / lanesPerWarp, all = blocks * warps;
  const auto invalid = [&](std::string message) {
    return Error{.message = fmt::format("the profile of '{}': {}", launch.entry, message)};
  };
  if (all == 0 || buffer.size() < all * sizeof(ProfileWarp))
    return invalid(
        fmt::format("expected a header of each of {} warps, but got {} bytes", all, buffer.size()));
  const size_t records = (buffer.size() / all - sizeof(ProfileWarp)) / sizeof(ProfileRecord);
  if (buffer.size() != profileBufferBytes(all, records))
    return invalid(
        fmt::format("expected as many records of each of {} warps, but got {} bytes", all, buffer.size()));

  std::vector<BlockProfile> result(blocks);
  for (size_t number = 0; number != blocks; ++number) {
    BlockProfile &block = result[number];
    std::vector<ProfileWarp> headers;
    for (size_t warp = 0; warp != warps; ++warp)
      headers.push_back(readAt<ProfileWarp>(buffer, (number * warps + warp) * sizeof(ProfileWarp)));
    const auto earlier = [](const ProfileWarp &a, const ProfileWarp &b) {
      return int32_t(a.beginClock - b.beginClock) < 0;
    };
    const uint32_t first = std::ranges::min_element(headers, earlier)->beginClock;
    block.multiprocessor = headers.front().multiprocessor;
    block.beginTime = std::ranges::min(headers, {}, &ProfileWarp::beginTime).beginTime;
    block.endTime = std::ranges::max(headers, {}, &ProfileWarp::endTime).endTime;
    for (size_t warp = 0; warp != warps; ++warp) {
      const ProfileWarp &header = headers[warp];
      if (header.beginTime == 0 || header.endTime == 0)
        return invalid(
            fmt::format("warp {} of block {} of the cluster has not {}; the launch has not been made, or "
                        "it broke off",
                        warp, number, header.beginTime == 0 ? "begun" : "ended"));
      const uint64_t start = uint64_t(number * warps + warp) * records;
      const uint64_t next = header.position & ~profileStopped;
      const bool full = (header.position & profileStopped) != 0;
      if (next < start || (!full && next - start >= records))
        return invalid(
            fmt::format("warp {} of block {} of the cluster is at record {}, which is not one of its {}",
                        warp, number, next, records));
      WarpProfile &profile = block.warps.emplace_back();
      Unwrapped clock(first);
      profile.begin = clock(header.beginClock);
      const uint64_t kept = std::min<uint64_t>(next - start, records);
      profile.lost = next - start - kept;
      for (uint64_t i = 0; i != kept; ++i) {
        const auto record =
            readAt<ProfileRecord>(buffer, all * sizeof(ProfileWarp) + (start + i) * sizeof(ProfileRecord));
        if (record.mark >= launch.names.marks.size())
          return invalid(fmt::format("record {} of warp {} names mark {}, but there are {}", i, warp,
                                     record.mark, launch.names.marks.size()));
        const uint64_t begin = clock(record.begin), end = clock(record.end);
        profile.records.push_back({begin, end, record.mark, record.object});
      }
      profile.end = clock(header.endClock);
    }
  }
  return result;
}
