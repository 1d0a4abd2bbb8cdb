// SPDX-License-Identifier: Apache-2.0
/// \file
/// Random sequences of operations on one mbarrier, by one thread: what each
/// test_wait says, and the pending counts of the states. And clusters: what
/// blocks do to each other's shared memory and barriers.
#include "tools/conformance/Program.h"

#include <fmt/format.h>

namespace tlc::conformance {
namespace {

/// What the generator knows of the barrier, so that it asks nothing undefined.
struct Model {
  unsigned expected = 0, pending = 0;
  int transactions = 0;
  unsigned phase = 0;

  void settle() {
    if (pending == 0 && transactions == 0) {
      pending = expected;
      ++phase;
    }
  }
};

class Sequence {
public:
  explicit Sequence(Random &random) : random(random) {}

  Program make(std::string name) {
    begin();
    for (unsigned i = 0; i < 120; ++i)
      step();
    Program program;
    program.name = std::move(name);
    program.threads = 1;
    program.output.resize(results * 4);
    program.columns.push_back({"results in program order", Format::b32, 0, results});
    std::string declarations = "  .reg .b32 %r; .reg .pred %p; .shared .align 8 .b64 bar;\n";
    declarations += fmt::format("  .reg .b64 %s<{}>;\n", states.size() + 1);
    program.ptx = moduleText(declarations, body);
    return program;
  }

private:
  void emit(const std::string &text) { body += "  " + text + "\n"; }
  void store() { emit(fmt::format("st.global.b32 [%out+{}], %r;", 4 * results++)); }
  void storePredicate() {
    emit("selp.b32 %r, 1, 0, %p;");
    store();
  }
  void begin() {
    model = {};
    model.expected = model.pending = unsigned(random.between(1, random.oneIn(4) ? 1000 : 9));
    firstState = states.size();
    emit(fmt::format("mbarrier.init.shared::cta.b64 [bar], {};", model.expected));
  }
  /// The state of an arrival, taken before it; its pending count is a result.
  std::string newState() {
    states.push_back(model.phase);
    return fmt::format("%s{}", states.size() - 1);
  }
  void keepState(const std::string &state) {
    emit(fmt::format("mbarrier.pending_count.b64 %r, {};", state));
    store();
  }
  void arrive() {
    if (model.pending == 0)
      return;
    const bool one = random.oneIn(2);
    const unsigned count = one ? 1 : unsigned(random.between(1, model.pending));
    const bool drop = random.oneIn(5) && model.expected > count;
    const bool last = count == model.pending;
    const std::string state = newState();
    std::string name = drop ? "mbarrier.arrive_drop" : "mbarrier.arrive";
    const int bytes = random.oneIn(3) ? int(random.between(1, 5000)) : 0;
    if (bytes && one) {
      emit(fmt::format("{}.expect_tx.shared::cta.b64 {}, [bar], {};", name, state, bytes));
      model.transactions += bytes;
    } else if (!last && random.oneIn(3)) {
      emit(fmt::format("{}.noComplete.shared::cta.b64 {}, [bar], {};", name, state, count));
    } else if (one) {
      emit(fmt::format("{}.shared::cta.b64 {}, [bar];", name, state));
    } else {
      emit(fmt::format("{}.shared::cta.b64 {}, [bar], {};", name, state, count));
    }
    model.pending -= count;
    if (drop)
      model.expected -= count;
    model.settle();
    keepState(state);
  }
  void transact() {
    // Balanced within some operations, also the completion first.
    if (model.transactions == 0 || random.oneIn(3)) {
      const int bytes = int(random.between(1, 3000));
      // Completed bytes that nobody expected yet must not end the phase.
      if (model.pending > 0 && random.oneIn(3)) {
        emit(fmt::format("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], {};", bytes));
        model.transactions -= bytes;
      } else {
        emit(fmt::format("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], {};", bytes));
        model.transactions += bytes;
      }
    } else if (model.transactions > 0) {
      const int bytes = random.oneIn(2) ? model.transactions : int(random.between(1, model.transactions));
      emit(fmt::format("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], {};", bytes));
      model.transactions -= bytes;
    } else {
      emit(fmt::format("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], {};", -model.transactions));
      model.transactions = 0;
    }
    model.settle();
  }
  void test() {
    const std::string_view wait = random.oneIn(4) ? "try_wait" : "test_wait";
    const std::string_view limit = wait == "try_wait" ? ", 100" : "";
    if (random.oneIn(2) && states.size() > firstState) {
      const size_t state = states.size() - 1;
      if (states[state] + 1 >= model.phase) {
        emit(fmt::format("mbarrier.{}.shared::cta.b64 %p, [bar], %s{}{};", wait, state, limit));
        return storePredicate();
      }
    }
    emit(fmt::format("mbarrier.{}.parity.shared::cta.b64 %p, [bar], {}{};", wait, random.below(2), limit));
    storePredicate();
  }
  void step() {
    switch (random.below(16)) {
    case 0:
      if (random.oneIn(4)) {
        emit("mbarrier.inval.shared::cta.b64 [bar];");
        return begin();
      }
      [[fallthrough]];
    case 1:
    case 2:
    case 3:
    case 4:
      return transact();
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
      return arrive();
    default:
      return test();
    }
  }

  Random &random;
  Model model;
  std::string body;
  std::vector<unsigned> states; ///< the phase of each
  size_t firstState = 0;        ///< since the barrier was initialised
  unsigned results = 0;
};

/// Four blocks of 64 threads that read, write and add to each other's shared
/// memory, by ordinary accesses, st.async, red.async and bulk copies.
Program clusterProgram(std::string name, Random &random) {
  constexpr unsigned blocks = 4, threads = 64, words = 512;
  constexpr size_t blockBytes = words * 4;
  Program program;
  program.name = std::move(name);
  program.blocks = program.cluster = blocks;
  program.threads = threads;
  program.sharedBytes = blockBytes;
  program.input.resize(2 * blocks * blockBytes);
  for (std::byte &byte : program.input)
    byte = std::byte(random.next());
  const std::string declarations =
      "  .reg .b32 %t, %rank, %base, %mine, %peer, %theirs, %theirBar, %n, %v<4>, %x;\n"
      "  .reg .b64 %from, %to, %state; .reg .pred %p, %first; .shared .align 8 .b64 bar; .reg .b16 %mask;\n";
  std::string body =
      "  mov.u32 %t, %tid.x;\n  mov.u32 %rank, %cluster_ctarank;\n  mov.u32 %base, dynamicShared;\n"
      "  setp.eq.u32 %first, %t, 0;\n  mad.lo.u32 %mine, %t, 32, %base;\n"
      "  mad.wide.u32 %from, %rank, 2048, %in;\n  mad.wide.u32 %from, %t, 32, %from;\n"
      "  mad.wide.u32 %to, %rank, 2048, %out;\n  mad.wide.u32 %to, %t, 32, %to;\n"
      "  @%first mbarrier.init.shared.b64 [bar], 1;\n  fence.mbarrier_init.release.cluster;\n";
  for (unsigned half = 0; half < 32; half += 16)
    body += fmt::format("  ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%from+{0}];\n"
                        "  st.shared.v4.b32 [%mine+{0}], {{%v0, %v1, %v2, %v3}};\n",
                        half);
  const std::string meet = "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n";
  const auto peer = [&](unsigned distance) {
    body += fmt::format("  add.u32 %peer, %rank, {};\n  and.b32 %peer, %peer, 3;\n  mov.u32 %x, bar;\n"
                        "  mapa.shared::cluster.u32 %theirs, %mine, %peer;\n"
                        "  mapa.shared::cluster.u32 %theirBar, %x, %peer;\n",
                        distance);
  };
  const auto wait = [&](unsigned parity) {
    body += fmt::format(
        "  mov.u32 %n, 20000;\n{{ Wait: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p, [bar], "
        "{}, 1000;\n"
        "  sub.u32 %n, %n, 1;\n  @%p bra Done;\n  setp.ne.u32 %p, %n, 0;\n  @%p bra Wait;\n  trap;\n"
        "Done: }}\n",
        parity);
  };
  body += meet;
  unsigned phase = 0;
  for (unsigned i = 0; i < 6; ++i) {
    peer(unsigned(random.between(0, 3)));
    const unsigned at = 4 * unsigned(random.below(7)), from = 4 * unsigned(random.below(8));
    switch (random.below(6)) {
    case 0: // what the peer has, which nobody changes now
      body += fmt::format("  ld.shared::cluster.b32 %v0, [%theirs+{}];\n", at) + meet +
              fmt::format("  st.shared.b32 [%mine+{}], %v0;\n", from) + meet;
      break;
    case 1:
      body += fmt::format("  ld.shared.b32 %v0, [%mine+{}];\n", from) + meet +
              fmt::format("  st.shared::cluster.b32 [%theirs+{}], %v0;\n", at) + meet;
      break;
    case 2:
      body += fmt::format("  ld.shared.b32 %v0, [%mine+{}];\n", from) + meet +
              fmt::format("  atom.relaxed.cluster.shared::cluster.add.u32 %v1, [%theirs+{}], %v0;\n", at) +
              meet + fmt::format("  st.shared.b32 [%mine+{}], %v1;\n", from) + meet;
      break;
    case 3: // 64 threads store two words each
      body += fmt::format("  ld.shared.b32 %v0, [%mine+{}];\n  not.b32 %v1, %v0;\n", from) + meet +
              "  @%first mbarrier.arrive.expect_tx.shared.b64 %state, [bar], 512;\n" +
              fmt::format("  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%theirs+{}], "
                          "{{%v0, %v1}}, "
                          "[%theirBar];\n",
                          at / 8 * 8);
      wait(phase++ % 2);
      body += meet;
      break;
    case 4: {
      constexpr std::string_view operations[] = {"add.u32", "max.s32", "min.u32", "inc.u32",
                                                 "dec.u32", "and.b32", "xor.b32"};
      body += fmt::format("  ld.shared.b32 %v0, [%mine+{}];\n", from) + meet +
              "  @%first mbarrier.arrive.expect_tx.shared.b64 %state, [bar], 256;\n" +
              fmt::format("  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{} "
                          "[%theirs+{}], %v0, "
                          "[%theirBar];\n",
                          random.pick(operations), at);
      wait(phase++ % 2);
      body += meet;
      break;
    }
    default: { // one block's input to several
      const unsigned mask = unsigned(random.between(1, 15)), issuer = unsigned(random.below(blocks));
      const unsigned bytes = 16 * unsigned(random.between(1, 32)), place = 16 * unsigned(random.below(64));
      body += fmt::format(
          "  fence.proxy.async;\n{}  shl.b32 %x, 1, %rank;\n  and.b32 %x, %x, {};\n  setp.ne.u32 %p, %x, 0;\n"
          "  and.pred %p, %p, %first;\n"
          "  @%p mbarrier.arrive.expect_tx.shared.b64 %state, [bar], {};\n{}"
          "  setp.eq.u32 %p, %rank, {};\n  and.pred %p, %p, %first;\n  mov.u16 %mask, {};\n"
          "  add.u32 %x, %base, {};\n  add.u64 %from, %in, {};\n"
          "  @%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
          "[%x], [%from], {}, [bar], %mask;\n",
          meet, mask, bytes, meet, issuer, mask, place, blocks * blockBytes + 16 * random.below(64), bytes);
      // The others complete the phase by themselves.
      body += fmt::format("  shl.b32 %x, 1, %rank;\n  and.b32 %x, %x, {};\n  setp.eq.u32 %p, %x, 0;\n"
                          "  and.pred %p, %p, %first;\n  @%p mbarrier.arrive.shared.b64 %state, [bar];\n",
                          mask);
      wait(phase++ % 2);
      body += meet;
      break;
    }
    }
  }
  for (unsigned half = 0; half < 32; half += 16)
    body += fmt::format("  ld.shared.v4.b32 {{%v0, %v1, %v2, %v3}}, [%mine+{0}];\n"
                        "  st.global.v4.b32 [%to+{0}], {{%v0, %v1, %v2, %v3}};\n",
                        half);
  program.output.resize(blocks * blockBytes);
  program.columns.push_back({"shared memory of the blocks", Format::b32, 0, blocks * words});
  program.ptx = moduleText(declarations, body);
  return program;
}

} // namespace

std::vector<Program> barrierPrograms() {
  std::vector<Program> programs;
  for (unsigned i = 0; i < 24; ++i) {
    const std::string name = fmt::format("mbarrier.{}", i);
    Random random(1, name);
    programs.push_back(Sequence(random).make(name));
  }
  return programs;
}

std::vector<Program> clusterPrograms() {
  std::vector<Program> programs;
  for (unsigned i = 0; i < 24; ++i) {
    const std::string name = fmt::format("cluster.{}", i);
    Random random(1, name);
    programs.push_back(clusterProgram(name, random));
  }
  return programs;
}

} // namespace tlc::conformance
