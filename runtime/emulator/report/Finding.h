// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the emulator has to say against a program, as data.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tlc {

enum class FindingKind : uint8_t {
  race,            ///< two accesses that nothing orders
  proxyRace,       ///< ordered, but no proxy fence between a thread's write and another engine
  unwritten,       ///< a read of what nothing has written
  lanes,           ///< lanes write different values to one place by one instruction
  earlyExit,       ///< a block ends while its shared memory is in use
  productRegister, ///< a register of a matrix product under way is touched
  fault,           ///< an instruction that cannot be: out of bounds, misaligned, wrong operands, a trap
  deadlock,        ///< no warp can go on
};
/// "proxy race".
std::string_view toString(FindingKind kind);

/// An error is what PTX calls a race or leaves undefined, or what an H200 does wrongly. A warning is what
/// only the text of PTX does not order, and published kernels rely on.
enum class FindingLevel : uint8_t { error, warning };
std::string_view toString(FindingLevel level);

/// Where a program does something: an instruction as a warp runs it.
struct FindingSite {
  std::string what = {};        ///< "asynchronous write"
  std::string instruction = {}; ///< "st.shared.b32"
  std::string file = {};        ///< of the source, with line and column; line 0: unknown
  unsigned line = 0, column = 0;
  unsigned ptxLine = 0;
  std::string kernel = {};        ///< when it is another device's
  std::optional<int> device = {}; ///< where there are several
  std::array<uint32_t, 3> block = {};
  unsigned warp = 0;                   ///< in the block
  std::string role = {};               ///< of the warp, as the source calls it
  std::optional<unsigned> lane = {};   ///< when it is one
  std::optional<uint64_t> repeat = {}; ///< how often the warp had run the instruction before, where counted

  /// "file.cpp:3:5", or "PTX line 12".
  std::string location() const;
  /// "block (0, 0, 0), warp 2 (load), lane 3, repeat 4", or "'k' on device 1, block ...".
  std::string place() const;
};

/// A warp that waits in a deadlock, for what, and who should have come.
struct WaitingWarp {
  FindingSite site = {};
  std::string text = {};                 ///< "waits at barrier 2; 64 of 96 threads have arrived"
  std::optional<unsigned> barrier = {};  ///< a named one
  std::optional<uint32_t> mbarrier = {}; ///< its offset in shared memory, when it waits for one
  unsigned mbarrierRank = 0;             ///< of its block in the cluster
  unsigned phase = 0;                    ///< the parity that it waits for
  uint32_t missing = 0;                  ///< arrivals, or threads at a named barrier
  uint32_t expected = 0;                 ///< likewise
  int32_t missingBytes = 0;              ///< of copies
  std::vector<FindingSite> arrived = {}; ///< in the phase under way
  std::vector<FindingSite> earlier =
      {}; ///< only in phases before; at a barrier of the whole block, who has not come
  std::vector<FindingSite> arrivers = {}; ///< where none ever came: instructions that arrive at such barriers
};

/// Whether the accesses of a finding are of one warp, or of two devices.
enum class FindingReach : uint8_t { betweenWarps, insideWarp, betweenDevices };

struct Finding {
  FindingKind kind = FindingKind::fault;
  FindingLevel level = FindingLevel::error;
  std::string kernel = {};
  std::string message = {};               ///< all of it, for people
  FindingSite site = {};                  ///< what was found wrong
  std::optional<FindingSite> before = {}; ///< the access that it is wrong with
  FindingReach reach = FindingReach::betweenWarps;
  std::string memory = {};               ///< "shared offset 1024"; empty where none is concerned
  std::string missing = {};              ///< the synchronisation
  std::vector<WaitingWarp> waiting = {}; ///< of a deadlock
  uint64_t count = 1;                    ///< how often it was met
};

/// Findings that differ in kind, level, reach or instructions, up to a limit.
class Findings {
public:
  static constexpr size_t limit = 100; ///< of each level
  /// True, and counted, if there is one already or no room for more.
  bool repeats(FindingKind kind, unsigned ptxLine, unsigned beforePtxLine = 0,
               FindingReach reach = FindingReach::betweenWarps, FindingLevel level = FindingLevel::error);
  void add(Finding finding);
  void add(const Findings &others);
  /// Reads of a place before its first write, or by that instruction, are a race with the write, which is a
  /// finding of its own: those of what nothing has written go.
  void replaceUnwritten(unsigned ptxLine, std::string_view memory);

  const std::vector<Finding> &all() const { return list; }
  bool empty() const { return list.empty(); }
  size_t count(FindingLevel level) const;
  /// The first ones in full, errors before warnings, and the number of the others; several lines.
  std::string text() const;

private:
  using Key = std::tuple<FindingKind, unsigned, unsigned, FindingReach, FindingLevel>;
  static Key keyOf(const Finding &finding);
  void forgetUnwritten(unsigned ptxLine);
  std::vector<Finding> list;
  std::map<Key, size_t> known; ///< index in the list
  std::set<unsigned> raced;    ///< PTX lines of reads that are races with first writes
  uint64_t dropped = 0;        ///< beyond the limit
};

} // namespace tlc
