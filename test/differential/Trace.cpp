// SPDX-License-Identifier: Apache-2.0
/// \file
/// Makes the calls that Print.cpp writes: arguments, launches, places in memory.
#include "test/differential/Tracer.h"

using namespace tlc;
using namespace tlc::differential;
using dsl::Fragment, dsl::FragmentValue, dsl::Index, dsl::Operand, dsl::Predicate, dsl::Scalar;

void Tracer::run() {
  for (const DimensionInfo &dimension : tree.dimensions)
    dimensions.push_back(k.dim(dimension.name, {.multipleOf = dimension.multipleOf}));
  if (tree.ranks > 1) {
    rank = k.rank();
    ranks = k.ranks();
  }
  symmetric.resize(tree.tensors.size());
  addresses.resize(tree.tensors.size());
  memberNumbers.resize(tree.tensors.size());
  for (const TensorInfo &tensor : tree.tensors)
    tensors.push_back(declare(tensor));
  for (const ScalarInfo &scalar : tree.scalars)
    scalars.push_back(k.scalar(scalar.name, scalar.element));
  if (!tree.namesLaunches()) {
    chooseRanks(0);
    return launch(tree.launches.front());
  }
  auto launches = int64_t(tree.launches.size());
  if (tree.ranks > 1 && launches > 1)
    ended = k.symmetric("ended", ElementType::i32, {launches},
                        {.use = dsl::TensorUse::workspace, .initial = dsl::Initial::zero});
  if (tree.ranks > 1)
    transferTensors();
  for (int64_t number = 0; number < launches; ++number) {
    const LaunchTree &each = tree.launches[size_t(number)];
    k.launch(each.name, [&] {
      chooseRanks(number);
      launch(each);
      if (tree.ranks > 1 && launches > 1 && tree.announcesItsEnd(each))
        announceEnd(number);
    });
    if (tree.ranks > 1 && number + 1 < launches)
      k.launch("after_" + each.name, [&] { meetRanks(number); });
  }
}

/// What is declared comes before all transfers.
void Tracer::transferTensors() {
  std::vector<std::function<void()>> transfers;
  arrived.resize(tree.tensors.size());
  for (size_t number = 0; number < tree.tensors.size(); ++number) {
    const TensorInfo &info = tree.tensors[number];
    if (!info.transfer)
      continue;
    std::vector<Index> shape = extentsOf(info);
    dsl::Global here = k.workspace(info.name + "_here", info.element, shape, {.alignment = info.alignment});
    if (info.transfer->counted)
      arrived[number] = k.symmetric(info.name + "_arrived", ElementType::i32, {info.transfer->rounds},
                                    {.use = dsl::TensorUse::workspace, .initial = dsl::Initial::zero});
    dsl::Global from =
        info.shift ? symmetric[number].of((rank + info.transfer->shift) % ranks) : tensors[number];
    tensors[number] = here;
    transfers.emplace_back([=, this, &info] {
      k.transfer("copy_" + info.name, info.transfer->rounds, [&](const auto &transfer, const Index &round) {
        Index each = ceilDiv(shape[0], info.transfer->rounds), first = min(round * each, shape[0]);
        std::vector<Index> position(shape.size(), 0), extents = shape;
        position[0] = first;
        extents[0] = min(each, shape[0] - first);
        transfer.copy({from, position}, {here, position}, extents);
        if (info.transfer->counted)
          transfer.set(arrived[number].of(rank), {round});
      });
    });
  }
  for (const std::function<void()> &transfer : transfers)
    transfer();
}

void Tracer::awaitTransfers(const LaunchTree &launch) {
  if (&launch != &tree.launches.front() || tree.ranks == 1)
    return;
  for (size_t number = 0; number < tree.tensors.size(); ++number)
    if (const std::optional<TransferInfo> &transfer = tree.tensors[number].transfer;
        transfer && transfer->counted)
      k.loop(transfer->rounds, [&](Index round) { waitFor(arrived[number].of(rank), {round}, 1); });
}

void Tracer::chooseRanks(int64_t launch) {
  for (size_t number = 0; number < tree.tensors.size(); ++number)
    if (std::optional<int64_t> shift = tree.tensors[number].shift;
        shift && tree.ranks > 1 && !tree.tensors[number].transfer)
      tensors[number] = symmetric[number].of((rank + (*shift + launch)) % ranks);
}

/// Waits until the launch of that number is done on all ranks.
void Tracer::meetRanks(int64_t launch) {
  const LaunchTree &before = tree.launches[size_t(launch)];
  Index count = ranks;
  if (tree.announcesItsEnd(before))
    for (const IndexNode &extent : before.extents)
      count = count * index(extent);
  else
    announceEnd(launch);
  waitFor(ended.of(rank), {launch}, count);
}

void Tracer::announceEnd(int64_t launch) {
  if (tree.announcesToAll)
    announce(ended.ofAll(), {launch});
  else
    k.loop(ranks, [&](Index other) { announce(ended.of(other), {launch}); });
}

std::vector<Index> Tracer::extentsOf(const TensorInfo &tensor) {
  std::vector<Index> shape;
  for (const TensorExtent &extent : tensor.shape) {
    if (extent.computedFrom >= 0) {
      auto [multiple, rest] = tree.multipleAndRest(extent);
      shape.push_back(dimensions[size_t(extent.computedFrom)] * multiple + rest);
      continue;
    }
    shape.push_back(extent.dimension >= 0 ? dimensions[size_t(extent.dimension)]
                                          : Index(tree.valueOf(extent.size)));
  }
  return shape;
}

dsl::Global Tracer::declare(const TensorInfo &tensor) {
  std::vector<Index> shape = extentsOf(tensor);
  if (tensor.table) {
    addresses[tensors.size()] = k.addresses(tensor.name, tensor.element, tensor.table->count,
                                            {.axes = int64_t(shape.size()),
                                             .use = dsl::TensorUse(tensor.access),
                                             .alignment = memberAlignmentOf(tensor)});
    if (tensor.table->readsNumbers)
      memberNumbers[tensors.size()] =
          k.input(tensor.name + "_numbers", ElementType::i32, {int64_t(2 * shape.size())});
    return {};
  }
  if (tensor.shift && tree.ranks > 1) {
    dsl::SymmetricOptions options = {.use = dsl::TensorUse(tensor.access), .alignment = tensor.alignment};
    if (tensor.access == Access::workspace) {
      options.initial = tensor.workspace.initial;
      options.alignment = tensor.workspace.alignment;
    }
    symmetric[tensors.size()] = k.symmetric(tensor.name, tensor.element, shape, options);
    return {};
  }
  dsl::TensorFacts facts = {.alignment = tensor.alignment, .lastStride = tensor.lastStride};
  switch (tensor.access) {
  case Access::input:
    return k.input(tensor.name, tensor.element, shape, facts);
  case Access::output:
    return k.output(tensor.name, tensor.element, shape, facts);
  case Access::inout:
    return k.inout(tensor.name, tensor.element, shape, facts);
  case Access::workspace:
    break;
  }
  return k.workspace(tensor.name, tensor.element, shape, tensor.workspace);
}

dsl::Global Tracer::tensor(int number) {
  const TensorInfo &info = tree.tensors[size_t(number)];
  if (!info.table)
    return tensors[size_t(number)];
  const auto axes = int64_t(info.shape.size());
  std::vector<int64_t> known = tree.memberNumbersOf(info);
  std::vector<Index> numbers(known.begin(), known.end());
  std::ranges::copy(extentsOf(info), numbers.begin() + 1);
  if (info.table->readsNumbers)
    for (size_t at = 0; at < numbers.size(); ++at)
      numbers[at] = memberNumbers[size_t(number)].read({int64_t(at)});
  return addresses[size_t(number)].of(numbers[0], {numbers.begin() + 1, numbers.begin() + 1 + axes},
                                      {numbers.begin() + 1 + axes, numbers.end()});
}

void Tracer::launch(const LaunchTree &launch) {
  if (launch.warps != 0)
    k.warps(launch.warps);
  if (launch.cluster != 1)
    k.cluster(launch.cluster);
  if (launch.residents != 1)
    k.residents(launch.residents);
  if (launch.loadRole)
    k.loadRole();
  if (launch.storeRole)
    k.storeRole();
  if (launch.requirement)
    k.require(*launch.requirement);
  std::vector<Index> extents;
  for (const IndexNode &extent : launch.extents)
    extents.push_back(index(extent));
  auto at = [&](auto... position) {
    size_t axis = 0;
    ((positions[launch.positions[axis++]] = position), ...);
  };
  auto inTile = [&](auto... position) {
    at(position...);
    awaitTransfers(launch);
    body(launch.body);
  };
  if (launch.grid == LaunchTree::Grid::persistent) {
    if (extents.size() == 1)
      k.persistent({extents[0]}, launch.persistent, inTile);
    else if (extents.size() == 2)
      k.persistent({extents[0], extents[1]}, launch.persistent, inTile);
    else
      k.persistent({extents[0], extents[1], extents[2]}, launch.persistent, inTile);
    return;
  }
  if (launch.grid == LaunchTree::Grid::grid) {
    if (extents.size() == 1)
      std::apply(at, k.grid(extents[0]));
    else if (extents.size() == 2)
      std::apply(at, k.grid(extents[0], extents[1]));
    else
      std::apply(at, k.grid(extents[0], extents[1], extents[2]));
  }
  awaitTransfers(launch);
  body(launch.body);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

dsl::Slice Tracer::slice(const Box &box) {
  const std::vector<Index> origin = indices(box.origin);
  const dsl::Shape extents = tree.extentsOf(box.extents);
  auto ofTensor = [&] {
    dsl::Global around = tree.isOfAll(box) ? symmetric[size_t(box.tensor)].ofAll() : tensor(box.tensor);
    if (box.window)
      around = around.windows({.taps = box.window->taps,
                               .strides = box.window->strides,
                               .dilations = box.window->dilations,
                               .before = box.window->before,
                               .after = box.window->after});
    return around.tile(origin, extents);
  };
  dsl::Slice slice = box.tensor < 0 ? view(box.tile).tile(origin, extents) : ofTensor();
  if (box.limit)
    slice = slice.limited(box.limit->axis, index(box.limit->end));
  if (box.fill)
    slice = slice.fill(*box.fill);
  if (box.unchecked)
    slice = slice.unchecked("it lies inside");
  if (box.eviction != dsl::Eviction::normal)
    slice = slice.evict(box.eviction);
  return slice;
}

dsl::Shared Tracer::view(const View &view) {
  dsl::Shared tile = shared[view.shared];
  if (view.slot >= 0)
    tile = tile.slot(slots[view.slot]);
  if (view.firstRow)
    tile = tile.rows(*view.firstRow, tree.valueOf(view.rows));
  if (view.firstColumn)
    tile = tile.columns(*view.firstColumn, tree.valueOf(view.columns));
  return view.transposed ? tile.t() : tile;
}

dsl::ClusterTile Tracer::ofBlock(const View &view) {
  dsl::ClusterTile tile = shared[view.shared].of((k.blockRank() + view.blockShift) % view.blocks);
  if (!view.firstRow)
    return tile;
  int64_t rows = tree.valueOf(view.rows);
  return tile.rows(view.rowsByBlock ? k.blockRank() * rows : dsl::Index(*view.firstRow), rows);
}

dsl::TensorMemory Tracer::inTensorMemory(const View &view) {
  dsl::TensorMemory tile = tensorMemory[view.shared];
  return view.slot >= 0 ? tile.slot(slots[view.slot]) : tile;
}

void Tracer::loadOfAll(Function how, const dsl::Slice &from, Fragment &to) {
  if (how == Function::add)
    loadSum(from, to);
  else if (how == Function::min)
    loadMin(from, to);
  else
    loadMax(from, to);
}

void Tracer::copyBetween(const Place &from, const Place &to) {
  using Kind = Place::Kind;
  if (from.kind == Kind::slice) {
    if (to.kind == Kind::slice)
      copy(slice(from.box), slice(to.box));
    else if (to.kind == Kind::shared)
      copy(slice(from.box), view(to.view));
    else if (tree.isOfAll(from.box))
      loadOfAll(*from.box.ofAll, slice(from.box), variable(to.variable));
    else
      copy(slice(from.box), variable(to.variable));
  } else if (from.kind == Kind::shared && from.view.blocks != 0) {
    if (to.kind == Kind::shared)
      copy(ofBlock(from.view), view(to.view));
    else
      copy(ofBlock(from.view), variable(to.variable));
  } else if (from.kind == Kind::shared) {
    if (to.kind == Kind::slice)
      copy(view(from.view), slice(to.box));
    else if (to.kind == Kind::shared)
      copy(view(from.view), view(to.view));
    else if (!from.view.extents.empty())
      copy(view(from.view).reshape(tree.extentsOf(from.view.extents)), variable(to.variable));
    else
      copy(view(from.view), variable(to.variable));
  } else if (from.kind == Kind::tensorMemory) {
    copy(inTensorMemory(from.view), variable(to.variable));
  } else {
    store(FragmentValue(variable(from.variable)), to);
  }
}

void Tracer::store(const FragmentValue &value, const Place &to) {
  if (to.kind == Place::Kind::slice)
    copy(value, slice(to.box));
  else if (to.kind == Place::Kind::shared && to.view.blocks != 0)
    copy(value, ofBlock(to.view));
  else if (to.kind == Place::Kind::shared && !to.view.extents.empty())
    copy(value, view(to.view).reshape(tree.extentsOf(to.view.extents)));
  else if (to.kind == Place::Kind::shared)
    copy(value, view(to.view));
  else if (to.kind == Place::Kind::tensorMemory)
    copy(value, inTensorMemory(to.view));
  else
    copy(value, variable(to.variable));
}

dsl::Program differential::trace(const ProgramTree &tree) {
  dsl::TraceOptions options;
  for (const DimensionInfo &dimension : tree.dimensions)
    if (dimension.fixed)
      options.fixedDimensions[dimension.name] = dimension.value;
  return dsl::Program::trace("drawn", options, [&](dsl::Scope &k) { Tracer(tree, k).run(); });
}
