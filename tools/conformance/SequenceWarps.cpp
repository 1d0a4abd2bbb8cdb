// SPDX-License-Identifier: Apache-2.0
/// \file
/// Stages of what the lanes of a warp do together: all of them, groups of them
/// each with a member mask of its own, and those that came into the same branch.
#include "tools/conformance/SequenceWriter.h"

#include <array>

namespace tlc::conformance {
namespace {

using enum Format;

/// A shuffle from a lane that is no member gives anything: then the own value is taken.
void addShuffles(FormList &list) {
  constexpr std::string_view checked = "{{ .reg .b32 from, in; {} shr.u32 in, $m, from; and.b32 in, in, 1; "
                                       "setp.ne.u32 $q, in, 0; selp.b32 $d, $d, "
                                       "$a, $q; }}";
  for (unsigned distance : {1u, 2u, 5u, 16u}) {
    list.add(b32, {b32}, fmt::runtime(checked),
             fmt::format("shfl.sync.bfly.b32 $d, $a, {0}, 31, $m; xor.b32 from, %lane, {0};", distance));
    list.add(b32, {b32}, fmt::runtime(checked),
             fmt::format("shfl.sync.up.b32 $d, $a, {0}, 0, $m; sub.u32 from, %lane, {0};", distance));
    list.add(b32, {b32}, fmt::runtime(checked),
             fmt::format("shfl.sync.down.b32 $d, $a, {0}, 31, $m; add.u32 from, %lane, {0};", distance));
    list.add(predicate, {b32}, "shfl.sync.up.b32 $x0|$d, $a, {}, 0, $m;", distance);
    list.add(predicate, {b32}, "shfl.sync.down.b32 $x0|$d, $a, {}, 0x{:x}, $m;", distance,
             (32 - 8) << 8 | 31);
  }
  for (unsigned width : {4u, 8u, 32u})
    list.add(b32, {b32, b32}, fmt::runtime(checked),
             fmt::format("shfl.sync.idx.b32 $d, $a, $b, {}, $m; and.b32 from, $b, {}; and.b32 in, %lane, {}; "
                         "or.b32 from, from, in;",
                         (32 - width) << 8 | 31, width - 1, 32 - width));
  // The n-th of the members, modulo their number.
  list.add(b32, {b32, b32},
           "{{ .reg .b32 n, from; popc.b32 n, $m; rem.u32 n, $b, n; add.u32 n, n, 1; fns.b32 from, $m, 0, n; "
           "shfl.sync.idx.b32 $d, $a, from, 31, $m; }}");
}

/// Each stores a word, and takes that of the next member.
void addExchange(FormList &list) {
  constexpr std::string_view text =
      "{{ .reg .b32 n, from, at; .reg .pred met; mov.u32 at, warpShared; mad.lo.u32 n, %thread, 4, at; "
      "setp.ne.u32 met, n, 0; st.shared.b32 [n], $a; {} bar.warp.sync $m; add.u32 n, %lane, 1; "
      "and.b32 n, n, 31; fns.b32 from, $m, n, 1; setp.eq.u32 $q, from, -1; @$q fns.b32 from, $m, 0, 1; "
      "and.b32 n, %thread, 32; add.u32 n, n, from; mad.lo.u32 n, n, 4, at; ld.shared.b32 $d, [n]; "
      "bar.warp.sync $m; selp.b32 $d, $d, 0, met; }}";
  for (std::string_view wait : {"", "vote.sync.any.pred met, met, $m;"})
    list.add(b32, {b32}, text, wait);
}

const std::vector<Form> &warpForms() {
  static const std::vector<Form> forms = [] {
    FormList list;
    for (std::string_view mode : {"any", "all", "uni"})
      for (std::string_view negated : {"", "!"})
        list.add(predicate, {predicate}, "vote.sync.{}.pred $d, {}$a, $m;", mode, negated);
    list.add(b32, {predicate}, "vote.sync.ballot.b32 $d, $a, $m;");
    list.add(b32, {predicate}, "vote.sync.ballot.b32 $d, !$a, $m;");
    for (auto [bits, b, scratch] : {std::tuple(32, b32, 'x'), {64, b64, 'y'}}) {
      list.add(b32, {b}, "match.any.sync.b{} $d, $a, $m;", bits);
      list.add(b32, {b}, "and.b{0} ${1}0, $a, 3; match.any.sync.b{0} $d, ${1}0, $m;", bits, scratch);
      list.add(b32, {b}, "and.b{0} ${1}0, $a, 1; match.all.sync.b{0} $d|$q, ${1}0, $m;", bits, scratch);
      list.add(predicate, {b}, "shr.u{0} ${1}0, $a, {2}; match.all.sync.b{0} $x1|$d, ${1}0, $m;", bits,
               scratch, bits - 1);
    }
    for (std::string_view op : {"add", "min", "max"})
      for (std::string_view type : {"u32", "s32"})
        list.add(b32, {b32}, "redux.sync.{}.{} $d, $a, $m;", op, type);
    for (std::string_view op : {"and", "or", "xor"})
      list.add(b32, {b32}, "redux.sync.{}.b32 $d, $a, $m;", op);
    list.add(predicate, {}, "elect.sync $x0|$d, $m;");
    list.add(b32, {}, "elect.sync $d|$q, $m;");
    list.add(b32, {}, "activemask.b32 $d; mov.u32 $x0, %lanemask_eq; and.b32 $d, $d, $x0;");
    addShuffles(list);
    addShuffles(list);
    addExchange(list);
    addExchange(list);
    return list.forms;
  }();
  return forms;
}

void writeWarpForms(SequenceWriter &writer, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    writer.apply(writer.random.pick(warpForms()));
}

/// For as long as it lives other lanes are the members.
class Members {
public:
  Members(SequenceWriter &writer, std::string mask) : writer(writer), before(std::move(writer.members)) {
    writer.members = std::move(mask);
  }
  Members(const Members &) = delete;
  ~Members() { writer.members = before; }

private:
  SequenceWriter &writer;
  std::string before;
};

void writeBody(SequenceWriter &writer, unsigned depth);

/// Registers that both ways through a branch set.
class Merged {
  SequenceWriter &writer;

public:
  explicit Merged(SequenceWriter &writer) : writer(writer) {
    writer.emit("mov.b32 {}, 0;", digest);
    const unsigned count = unsigned(writer.random.between(1, 3));
    for (unsigned i = 0; i < count; ++i) {
      const Format format = writer.random.pick(std::array{b32, b32, b64, predicate});
      results.push_back({writer.fresh(format), format});
      set(results.back());
    }
  }
  void setSome() {
    for (const Result &result : results)
      if (!writer.random.oneIn(4))
        set(result);
  }
  void keep() {
    for (const auto &[name, format] : results)
      writer.keep(name, format);
    writer.keep(digest, b32);
  }
  const std::string digest = writer.fresh(b32); ///< of all that the ways have made

private:
  struct Result {
    std::string name;
    Format format;
  };
  void set(const Result &result) {
    const std::string value = writer.source(result.format);
    writer.emit("mov.{} {}, {};",
                result.format == predicate ? "pred" : fmt::format("b{}", registerBits(result.format)),
                result.name, value);
  }
  std::vector<Result> results;
};

void writeArm(SequenceWriter &writer, const std::string &mask, Merged &merged, unsigned depth) {
  const size_t entered = writer.enter();
  Members members(writer, mask);
  writeBody(writer, depth + 1);
  merged.setSome();
  writer.keep(mask, b32);
  writer.digest(entered, merged.digest);
  writer.leave(entered);
}

void writeBranch(SequenceWriter &writer, unsigned depth) {
  const std::string condition = writer.source(predicate);
  const std::string then = writer.fresh(b32), otherwise = writer.fresh(b32);
  writer.emit("vote.sync.ballot.b32 {}, {}, {};", then, condition, writer.members);
  writer.emit("not.b32 {0}, {1}; and.b32 {0}, {0}, {2};", otherwise, then, writer.members);
  Merged merged(writer);
  const std::string other = writer.label(), end = writer.label();
  const bool hasOther = !writer.random.oneIn(4);
  writer.emit("@!{} bra {};", condition, hasOther ? other : end);
  writeArm(writer, then, merged, depth);
  if (hasOther) {
    writer.emit("bra {};", end);
    writer.emit("{}:", other);
    writeArm(writer, otherwise, merged, depth);
  }
  writer.emit("{}: bar.warp.sync {};", end, writer.members);
  merged.keep();
}

/// Four ways, by an indirect branch; the lanes of each know each other.
void writeSwitch(SequenceWriter &writer, unsigned depth) {
  const std::string key = writer.fresh(b32), mask = writer.fresh(b32);
  const std::string from = writer.source(b32);
  writer.emit("and.b32 {}, {}, 3;", key, from);
  writer.emit("match.any.sync.b32 {}, {}, {};", mask, key, writer.members);
  Merged merged(writer);
  std::array<std::string, 4> ways;
  for (std::string &way : ways)
    way = writer.label();
  const std::string end = writer.label(), targets = writer.label();
  writer.emit("{}: .branchtargets {};", targets, fmt::join(ways, ", "));
  writer.emit("brx.idx {}, {};", key, targets);
  for (const std::string &way : ways) {
    writer.emit("{}:", way);
    writeArm(writer, mask, merged, depth);
    writer.emit("bra {};", end);
  }
  writer.emit("{}: bar.warp.sync {};", end, writer.members);
  merged.keep();
}

/// A loop in which those that are left meet.
void writeLoop(SequenceWriter &writer, unsigned depth) {
  const std::string count = writer.fresh(b32), mask = writer.fresh(b32), left = writer.fresh(b32),
                    more = writer.fresh(predicate);
  const std::string from = writer.source(b32);
  writer.emit("and.b32 {}, {}, {};", count, from, writer.random.oneIn(2) ? 3 : 7);
  writer.emit("mov.b32 {}, {};", mask, writer.members);
  Merged merged(writer);
  const std::string begin = writer.label(), end = writer.label();
  writer.emit("{}: setp.ne.u32 {}, {}, 0;", begin, more, count);
  writer.emit("vote.sync.ballot.b32 {}, {}, {};", left, more, mask);
  writer.emit("@!{} bra {};", more, end);
  writer.emit("mov.b32 {}, {};", mask, left);
  writeArm(writer, mask, merged, depth);
  writer.emit("sub.u32 {0}, {0}, 1;", count);
  writer.emit("bra {};", begin);
  writer.emit("{}: bar.warp.sync {};", end, writer.members);
  merged.keep();
}

/// Every lane in one instruction, with the mask of its group.
void writeGroups(SequenceWriter &writer, unsigned depth) {
  const std::string mask = writer.fresh(b32);
  const unsigned kind = unsigned(writer.random.below(depth == 0 ? 4 : 2));
  if (kind == 0) { // those of the same label
    const std::string from = writer.source(b32);
    writer.emit("and.b32 %x0, {}, {};", from, writer.random.pick(std::array{1, 3, 7, 15}));
    writer.emit("match.any.sync.b32 {}, %x0, {};", mask, writer.members);
  } else if (kind == 1) { // yes and no
    const std::string condition = writer.source(predicate);
    writer.emit("vote.sync.ballot.b32 {}, {}, {};", mask, condition, writer.members);
    writer.emit("@!{0} not.b32 {1}, {1}; and.b32 {1}, {1}, {2};", condition, mask, writer.members);
  } else if (kind == 2) { // tiles of neighbours
    const unsigned width = writer.random.pick(std::array{2u, 4u, 8u, 16u});
    writer.emit("and.b32 %x0, %lane, {}; shl.b32 {}, {}, %x0;", 32 - width, mask, (1u << width) - 1);
  } else { // two parts
    const unsigned size = unsigned(writer.random.between(1, 31));
    writer.emit("setp.lt.u32 %q, %lane, {0}; selp.b32 {1}, 0x{2:x}, 0x{3:x}, %q;", size, mask,
                (1u << size) - 1, ~((1u << size) - 1));
  }
  Members members(writer, mask);
  writeWarpForms(writer, unsigned(writer.random.between(2, 5)));
}

void writeBody(SequenceWriter &writer, unsigned depth) {
  const unsigned count = unsigned(writer.random.between(1, depth > 1 ? 2 : 3));
  for (unsigned i = 0; i < count; ++i) {
    switch (writer.random.below(depth < 3 ? 12 : 8)) {
    case 0:
      writer.emit("bar.warp.sync {};", writer.members);
      break;
    case 1:
      writeCarries(writer);
      break;
    case 2:
      if (writer.random.oneIn(2)) {
        writer.emit("nanosleep.u32 {};", writer.random.below(50));
        break;
      }
      [[fallthrough]];
    case 3:
      writeArithmetic(writer, 2);
      break;
    case 8:
      writeBranch(writer, depth);
      break;
    case 9:
      writeSwitch(writer, depth);
      break;
    case 10:
      writeLoop(writer, depth);
      break;
    case 11:
      writeGroups(writer, depth);
      break;
    default:
      writeWarpForms(writer, 1);
    }
  }
}

void together(SequenceWriter &writer) { writeWarpForms(writer, unsigned(writer.random.between(3, 7))); }
void groups(SequenceWriter &writer) { writeGroups(writer, 0); }
void branch(SequenceWriter &writer) { writeBranch(writer, 0); }
void ways(SequenceWriter &writer) { writeSwitch(writer, 1); }
void loop(SequenceWriter &writer) { writeLoop(writer, 1); }

} // namespace

std::span<const Stage> divergentStages() {
  static constexpr Stage stages[] = {{"warp together", 1, together},
                                     {"groups of lanes", 3, groups},
                                     {"branch", 3, branch},
                                     {"switch", 1, ways},
                                     {"loop of those left", 1, loop}};
  return stages;
}

} // namespace tlc::conformance
