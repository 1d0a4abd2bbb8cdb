// SPDX-License-Identifier: Apache-2.0
/// \file
/// Channels between roles.
#include "compiler/dsl/Trace.h"
#include "runtime/support/Excerpt.h"

using namespace mlir;

namespace tlc::dsl::inline v1 {

Channel Scope::channel(std::string_view name, ChannelOptions options, Loc loc) {
  if (options.slots < 1 || options.slots > tile::maxElements) {
    trace->error(loc, "expected channel '" + excerpt(name) + "' to have from 1 to " +
                          Twine(tile::maxElements) + " slots, but got " + Twine(options.slots));
    return trace->poison<Channel>();
  }
  auto type = tile::ChannelType::get(trace->builder.getContext(), options.slots);
  return trace->make<Channel>(trace->create<tile::ChannelOp>(loc, type, trace->builder.getStringAttr(name),
                                                             Value(), options.multicast));
}

Channel Scope::channel(std::string_view name, const Channel &of, Loc loc) {
  Value other = trace->use(of.ref(), "a channel", loc);
  if (!other)
    return trace->poison<Channel>();
  return trace->make<Channel>(trace->create<tile::ChannelOp>(
      loc, other.getType(), trace->builder.getStringAttr(name), other, /*multicast=*/false));
}

Slot Channel::put(const std::function<void(const Slot &)> &fill, Loc loc) const {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  Value channel = trace->use(reference, "a channel", loc), filled;
  if (channel)
    filled = trace->create<tile::PutOp>(loc, channel);
  if (!filled) { // what else is wrong?
    fill(trace->poison<Slot>());
    return trace->poison<Slot>();
  }
  auto put = filled.getDefiningOp<tile::PutOp>();
  Block &block = put.getBody().front();
  trace->inside(&block, [&] { fill(trace->make<Slot>(block.getArgument(0))); });
  return trace->make<Slot>(filled);
}

Slot Channel::put(Loc loc) const {
  return put([](const Slot &) {}, loc);
}

namespace {
/// The slot that an operation on the channel gives.
template <class Op> Slot slotOf(const detail::Ref &reference, Loc loc) {
  Trace *trace = traceOf(reference);
  if (!trace)
    return {};
  Value channel = trace->use(reference, "a channel", loc);
  if (!channel)
    return trace->poison<Slot>();
  auto type = tile::CursorType::get(trace->builder.getContext(),
                                    cast<tile::ChannelType>(channel.getType()).getSlots());
  return trace->make<Slot>(trace->create<Op>(loc, type, channel));
}
} // namespace

Slot Channel::get(Loc loc) const { return slotOf<tile::GetOp>(reference, loc); }
Slot Channel::oldest(Loc loc) const { return slotOf<tile::OldestOp>(reference, loc); }

void Channel::release(Arrival arrival, Loc loc) const {
  if (Trace *trace = traceOf(reference))
    if (Value channel = trace->use(reference, "a channel", loc))
      trace->create<tile::ReleaseOldestOp>(loc, channel, arrival == Arrival::afterProducts,
                                           /*by_others=*/false);
}

void Channel::pass(Loc loc) const {
  if (Trace *trace = traceOf(reference))
    if (Value channel = trace->use(reference, "a channel", loc))
      trace->create<tile::ReleaseOldestOp>(loc, channel, /*after_products=*/false, /*by_others=*/true);
}

} // namespace tlc::dsl::inline v1
