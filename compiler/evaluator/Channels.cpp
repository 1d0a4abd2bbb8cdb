// SPDX-License-Identifier: Apache-2.0
/// \file
/// Channels: each role counts what it puts, gets and releases.
#include "compiler/evaluator/Machine.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tlc::evaluator {

namespace {

tile::ChannelOp declarationOf(Value channel) { return channel.getDefiningOp<tile::ChannelOp>(); }

Channel &channelOf(BlockState &block, Value channel) {
  auto [found, isNew] = block.channels.try_emplace(declarationOf(channel));
  Channel &state = found->second;
  if (!isNew)
    return state;
  state.slots = cast<tile::ChannelType>(channel.getType()).getSlots();
  for (Operation *user : channel.getUsers()) {
    auto role = user->getParentOfType<tile::RoleOp>();
    const StringRef name = role ? role.getName() : StringRef();
    auto release = dyn_cast<tile::ReleaseOldestOp>(user);
    if (isa<tile::PutOp>(user))
      state.putting.insert(name);
    else if (release && !release.getByOthers())
      state.releasing.insert(name);
  }
  return state;
}

Channel &channelOf(const Task &task, Value channel) { return channelOf(task.block, channel); }

/// The channel whose slots it hands over, which counts what roles get and release of them.
Channel &ownerOf(const Task &task, Value channel) {
  Value of = declarationOf(channel).getOf();
  return channelOf(task, of ? of : channel);
}

/// Whether it holds for the channel of all blocks that fill slots together.
bool holdsForAll(const Task &task, Value channel, llvm::function_ref<bool(Channel &)> holds) {
  if (!declarationOf(channel).getMulticast())
    return holds(channelOf(task, channel));
  return llvm::all_of(task.block.cluster, [&](const std::unique_ptr<BlockState> &block) {
    return holds(channelOf(*block, channel));
  });
}

Step evaluateChannel(Task &, tile::ChannelOp) { return Step::done; }

Step evaluatePut(Task &task, tile::PutOp op) {
  Channel &channel = channelOf(task, op.getChannel());
  const bool isHeld = bool(declarationOf(op.getChannel()).getOf());
  const int64_t number =
      isHeld ? ownerOf(task, op.getChannel()).releases[task.role] : channel.puts[task.role];
  channel.puts[task.role] = number;
  const bool isEmpty = holdsForAll(task, op.getChannel(), [&](Channel &each) {
    return llvm::all_of(each.releasing,
                        [&](StringRef role) { return each.releases[role] + each.slots > number; });
  });
  if (!isEmpty)
    return Step::waits;
  task.set(op.getSlot(), Datum(Cursor{number}));
  task.set(op.getFilled(), Datum(Cursor{number}));
  task.enter(op, op.getRegion());
  return Step::done;
}

Step evaluateGet(Task &task, tile::GetOp op) {
  int64_t &number = ownerOf(task, op.getChannel()).gets[task.role];
  const bool isFull = holdsForAll(task, op.getChannel(), [&](Channel &each) {
    return llvm::all_of(each.putting, [&](StringRef role) { return each.puts[role] > number; });
  });
  if (!isFull)
    return Step::waits;
  task.set(op.getSlot(), Datum(Cursor{number++}));
  return Step::done;
}

Step evaluateOldest(Task &task, tile::OldestOp op) {
  task.set(op.getSlot(), Datum(Cursor{ownerOf(task, op.getChannel()).releases[task.role]}));
  return Step::done;
}

Step evaluateRelease(Task &task, tile::ReleaseOldestOp op) {
  ++ownerOf(task, op.getChannel()).releases[task.role];
  return Step::done;
}

} // namespace

void handOver(Task &task, tile::PutOp op) { ++channelOf(task, op.getChannel()).puts[task.role]; }

void addChannelRules(Rules &rules) {
  rules.add(evaluateChannel);
  rules.add(evaluatePut);
  rules.add(evaluateGet);
  rules.add(evaluateOldest);
  rules.add(evaluateRelease);
}

} // namespace tlc::evaluator
