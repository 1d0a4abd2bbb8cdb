// SPDX-License-Identifier: Apache-2.0
/// \file
/// How programs are drawn: statement by statement, over what is declared at that place, so that each is well
/// typed, reads only what was written, and writes only what its block owns.
#pragma once

#include "test/differential/Domain.h"
#include "test/differential/Generate.h"

#include <functional>
#include <set>

namespace tlc::differential {

/// What products of such factors are summed in.
constexpr ElementType sumsOf(ElementType factor) {
  return isInteger(factor) ? ElementType::i32 : ElementType::f32;
}
/// What the columns of wgmma are a multiple of.
constexpr int64_t wgmmaColumnsOf(ElementType factor) { return isInteger(factor) ? 16 : 8; }
/// The feature that products of such factors are, besides being products.
constexpr std::optional<Feature> productOf(ElementType factor) {
  if (isInteger(factor))
    return Feature::integerProduct;
  return factor == ElementType::f32 ? std::optional(Feature::tf32Product) : std::nullopt;
}

/// What elements may hold once they are combined with such values, any number of times, but not added.
Domain combinedBy(Function function, ElementType element, Domain holds, Domain value);

/// Positions and counts: from `low` to `high`.
struct IndexRange {
  int64_t low = 0, high = 0;
};

/// An expression and what its elements are.
struct Drawn {
  Expression expression;
  Domain domain;
};

/// A position that an origin may be a multiple of.
struct Axis {
  int position = -1;
  int64_t count = 1;   ///< of positions, at most
  Size tile = {};      ///< what it usually steps by, 1 if unknown
  int dimension = -1;  ///< that it walks, or -1
  bool isGrid = false; ///< and not of a loop
};

/// What is declared, and what it holds, at a place in the program.
struct Environment {
  std::vector<int> variables = {}, tiles = {};
  std::set<int> written = {};      ///< tiles that hold something
  std::set<int> filledBefore = {}; ///< those that did when the loop around this place began
  std::vector<Axis> axes = {};     ///< of the grid and of loops, outermost first
  std::vector<Box> stored = {};    ///< what this block wrote to tensors, and may read
  double repeats = 1;              ///< of this place in a block, at most
  int loops = 0, depth = 0;
  int64_t warps = 0;    ///< that run this place, if it is said
  bool inTiles = false; ///< a block comes here once for each of its tiles
  bool inRole = false, inBranch = false;
  bool isAlike = true; ///< all blocks of a cluster come here equally often
  bool isPure = false; ///< a branch of nothing but arithmetic: no position is read from memory
  bool isLean = false; ///< a loop that roles can be made of: nothing but copies by the TMA and products
};

class Generator {
public:
  Generator(uint64_t seed, std::optional<Feature> forced) : draw(seed, forced) { tree.seed = seed; }
  DrawnProgram run();

private:
  // Generate.cpp: programs, launches, arguments.
  void drawOptions();
  void drawTarget();
  void drawRanks();
  void drawAllRanks();
  std::optional<Function> drawOfAll(const Box &box);
  void drawTables(); // DrawTables.cpp
  LaunchTree newLaunch();
  void launch();
  void finish(LaunchTree drawn);
  void drawGrid(LaunchTree &launch);
  void stride(LaunchTree &launch);
  void drawRequirement(LaunchTree &launch);
  /// What is done for a tile, for all tiles of this block.
  Body forTiles(Body body) const;
  void storeResults(Body &body);
  Size newSize(int64_t value);
  int64_t drawExtent(int64_t most);
  Size drawSize(int64_t most) { return newSize(drawExtent(most)); }
  int newDimension(int64_t value);
  /// A dimension or a constant that is `value` or, without `exact`, near it.
  TensorExtent drawTensorExtent(int64_t value);
  int newTensor(Access access, ElementType element, std::vector<TensorExtent> shape);
  ElementType drawElement();
  /// Whether a box or a tile of the shape has whole bytes: elements that share one lie along the last axis
  /// that has several.
  bool mayBeInMemory(const Sizes &shape, ElementType element) const;
  ElementType drawFloat();
  int newIndexTensor(int64_t most);

  // DrawPlaces.cpp: boxes, positions, views.
  IndexRange rangeOf(const IndexNode &node) const;
  /// A quotient or remainder of a difference that is often negative.
  IndexNode drawQuotient(IndexNode of);
  IndexNode drawOrigin(int64_t extent, const std::vector<Axis> &preferred);
  IndexNode drawCount(int64_t most);
  PositionTest drawTest();
  std::optional<IndexNode> drawIndexRead(int64_t most);
  /// Of the grid, of a loop, or in the cluster.
  std::optional<IndexNode> drawPosition();
  std::optional<Box> drawInputBox(const Sizes &shape, ElementType element, Domain &domain);
  std::optional<Box> drawOwnedBox(const Sizes &shape, ElementType element, Access access);
  void decorate(Box &box, bool isRead, Domain *domain);
  void drawEviction(Box &box);
  /// Which axes of a box of that rank have the extents, in their order; the others have 1.
  Sizes onAxes(const Sizes &extents, size_t rank, ElementType element);
  /// The extents of what it is a slice of.
  std::vector<int64_t> boundsOf(const Box &box) const;
  /// Whether elements can be found one by one.
  bool isInOrder(const Box &box) const;
  bool isInside(const Box &box) const;
  bool covers(const Box &box) const;

  // DrawGathers.cpp
  /// Gives each element of a tile of the shape a position of its own along one or several axes, or one that
  /// it has in common with others.
  void gather(Body &body, Box &box, const Sizes &shape);
  /// The same of a new tensor, whose axes with positions are any number of axes of the tile.
  std::optional<Box> drawGathered(Body &body, const Sizes &shape, ElementType element, Domain &domain);
  /// The same elements of a box that is written, reversed along one or several axes.
  void scatter(Body &body, Box &box, const Sizes &shape);
  /// A variable with numbers to be positions.
  std::optional<int> drawPerElement(Body &body, const Sizes &narrow);
  bool hasExtents(const Box &box, const Sizes &shape) const;

  // DrawWindows.cpp
  /// A box of what a window sees of a new tensor. Along the last axis it begins at a multiple of so many
  /// elements, of which the tensor has a multiple, too.
  Box drawWindows(const Sizes &extents, ElementType element, const std::vector<Axis> &axes,
                  int64_t channelsUnit);

  // DrawExpressions.cpp
  std::optional<Drawn> drawFull(const Sizes &shape, ElementType element, int depth);
  std::optional<Drawn> drawLeaf(const Sizes &shape, ElementType element);
  Drawn drawPartner(const Sizes &shape, ElementType element, int depth);
  std::optional<Drawn> drawOfOne(const Sizes &shape, ElementType element, int depth);
  std::optional<Drawn> drawOfTwo(const Sizes &shape, ElementType element, int depth);
  std::optional<Drawn> drawOfThree(const Sizes &shape, ElementType element, int depth);
  std::optional<Drawn> drawWhere(const Sizes &shape, ElementType element, int depth);
  std::optional<Drawn> drawWherePlace(const Sizes &shape, ElementType element, int depth);
  std::optional<Drawn> drawReduction(const Sizes &shape, ElementType element);
  std::optional<Drawn> drawScan(const Sizes &shape, ElementType element, int depth);
  std::optional<Drawn> drawIntegers(const Sizes &shape, ElementType element, int depth);
  std::optional<Drawn> drawBits(const Sizes &shape, ElementType element, int depth);
  Drawn drawIntegerPartner(const Sizes &shape, ElementType element, int depth);
  std::optional<Drawn> drawPositions(const Sizes &shape, ElementType element);
  std::optional<Drawn> drawRounded(const Sizes &shape, ElementType element, int depth);
  std::optional<Drawn> drawQuotient(Drawn x, const Sizes &shape, int depth);
  std::optional<Drawn> drawPower(Drawn x);
  std::optional<Drawn> drawSigned(Drawn x, const Sizes &shape, int depth);
  std::optional<Drawn> converted(Drawn value, ElementType element);
  Drawn clamped(Drawn value, double magnitude);
  Drawn number(ElementType element, double most);
  double drawInfinity();
  Drawn infinite(ElementType element);
  Drawn wrapped(Drawn a, Drawn b);
  Drawn drawOther(const Sizes &shape, ElementType element, int depth);
  Drawn variableValue(int id);
  /// An expression of this shape and type within the domain.
  std::optional<Drawn> drawWithin(const Sizes &shape, ElementType element, Domain domain);

  // DrawReshapes.cpp
  /// As many elements with up to three extents.
  Sizes otherExtents(const Sizes &shape);
  std::optional<Drawn> drawReshaped(const Sizes &shape, ElementType element, int depth);
  std::optional<Drawn> drawOtherWidth(const Sizes &shape, ElementType element, int depth);

  // DrawStatements.cpp
  void drawBody(Body &body, int statements);
  bool drawStatement(Body &body);
  bool declareLoaded(Body &body);
  int loaded(Body &body, const Sizes &shape, ElementType element);
  bool declareComputed(Body &body);
  bool assign(Body &body);
  bool store(Body &body, int variable);
  bool storePanels(Body &body, int variable);
  void storeTo(Body &body, const Box &box, Drawn value, const Sizes &shape);
  bool shared(Body &body);
  int newShared(Body &body, const Sizes &shape, ElementType element);
  bool writeTile(Body &body, int tile);
  bool readTile(Body &body, int tile);
  /// The widest panels that views of columns are made of; 0 if its rows are not whole ones.
  int64_t panelsOf(const SharedInfo &info) const;
  bool copyTile(Body &body, int tile);
  bool sharedIndex(Body &body);
  // DrawSharedSlices.cpp
  bool sharedSlices(Body &body);
  Box drawSharedBox(int tile);
  void readSharedBox(Body &body, int tile, Domain domain);
  bool writeSharedBox(Body &body, int tile, Domain &holds);
  bool combineSharedBox(Body &body, int tile, Domain &holds);
  bool atomic(Body &body);
  /// A tile that the TMA combines with a tensor.
  bool atomicTile(Body &body);
  bool atomicFetch(Body &body);
  /// Blocks and roles add one after the other.
  void takeTurns(Statement &add);
  bool loadBack(Body &body);
  bool sliceToSlice(Body &body);
  int declare(Body &body, ElementType element, const Sizes &shape, Domain domain);
  bool mayAssign(int variable, Domain domain) const;
  void assigned(int variable, Domain domain);
  bool mayAdd(int variable, Domain domain) const;
  void added(int variable, Domain domain);
  Sizes drawShape();

  // DrawCluster.cpp
  bool otherBlocks(Body &body);
  bool clusterSum(Body &body);

  // DrawControl.cpp
  bool loop(Body &body, bool isPipelined);
  /// Lets the step be read from memory; where it is 0 the range is empty.
  void drawStep(const IndexNode &from, IndexNode &to, IndexNode &step);
  /// What moves the counter of a loop near an end of what positions can be.
  IndexNode drawFar(const IndexNode &from, const IndexNode &to);
  bool when(Body &body);
  bool whenAny(Body &body);
  void drawLeanBody(Body &body);
  bool assignWhen(Body &body, PositionTest test);
  void firstRounds(Body &body, const Axis &axis, const IndexNode &from);
  IndexNode drawBound(int notThis = -1);
  /// Draws a body whose declarations end with it.
  Body inside(const std::function<void(Body &)> &body);

  // DrawProducts.cpp
  bool product(Body &body);
  Expression metadata(Body &body, const Sizes &shape, ElementType factor);
  void changeSum(Body &body, int sum);
  void exchange(Body &body);
  std::optional<int> factorTile(Body &body, Size rows, Size columns, ElementType element);

  // DrawReports.cpp
  bool report(Body &body);
  bool reportPosition(Body &body);

  // DrawRoles.cpp
  bool roles(LaunchTree &launch);
  int newRole(std::string_view name, int64_t warps);
  int newChannel(Body &body, ChannelInfo info);
  int newSlot(int channel);
  int newSlots(Body &body, const Sizes &shape, ElementType element, int64_t slots, Domain domain);
  Body role(int id, const std::function<void(Body &)> &drawRole);
  /// A role executes a statement of the body, or one inside of its loops and branches.
  void giveToRole(Body &body);
  /// A loop that every role has.
  void rounds(Body &body, const IndexNode &count, const std::function<void(Body &, const Axis &)> &drawRound);
  std::optional<Box> drawAsyncBox(const Sizes &shape, ElementType element, bool isMulticast);
  void interleaved();
  /// Copies a tile to a variable, and adds what is computed of it to a sum.
  void addTile(Body &round, int sum, View tile, const Sizes &shape);
  /// What roles hand over.
  struct Handed {
    int channel = -1, released = -1; ///< from which its slots are got, and to which they go back
    std::vector<int> tiles = {};
    IndexNode count = {}; ///< of slots, but for an empty one at the end
    bool isProduct = false, hasSignal = false;
  };
  /// A round's put into `slot` of what comes from tensors, with what a role stores.
  void fillSlot(Body &round, const Axis &axis, int slot, std::span<const int> tiles, bool isAsync,
                bool storesLast);
  void consume(Body &statements, const Handed &handed, bool hasTurns, bool hasRegisters);

  // DrawTensorMemory.cpp
  struct ProductInTensorMemory {
    Size rows = {}, columns = {}, depth = {};
    ElementType element = ElementType::bf16;
    bool leftAcross = false,
         rightAcross = false; ///< rows of the factor's tile lie along the reduced axis if not

    Sizes leftShape() const;
    Sizes rightShape() const;
  };
  bool tensorMemory(LaunchTree &launch);
  void multiplyInRoles(LaunchTree &launch, const ProductInTensorMemory &product);
  void multiplyTogether(LaunchTree &launch, const ProductInTensorMemory &product);
  int newTensorMemory(Body &body, const Sizes &shape, ElementType element, int64_t slots);

  // DrawBarriers.cpp
  bool handshake(LaunchTree &launch);
  int newBarrier(Body &body, BarrierInfo::Kind kind, int64_t count);
  bool meet(Body &body);
  /// Whether it is known how often a place is reached, as the phase of a barrier there has to be.
  bool countsRounds() const;

  bool equal(Size a, Size b) const { return tree.valueOf(a) == tree.valueOf(b); }
  bool equal(const Sizes &a, const Sizes &b) const { return tree.extentsOf(a) == tree.extentsOf(b); }
  /// Without extents of 1.
  Sizes significant(const Sizes &shape) const;
  /// Elements that may still be computed on, with all repetitions.
  bool spend(double cost);

  /// What a variable or a tile may hold. In loops that it was declared outside of it may be assigned to
  /// and added to, so that reading it there gives the limit.
  struct Holds {
    Domain limit, current;
    double added = 0; ///< what was added to it in loops, at most
    double repeats = 1;
    int loops = 0;
  };

  Draw draw;
  ProgramTree tree;
  Environment env;
  std::vector<Holds> variableHolds, tileHolds;
  std::vector<Domain> tensorDomains;
  std::vector<IndexRange> positionRanges;
  std::set<int> complete; ///< workspaces and outputs that an earlier launch has written in full
  std::set<int> unread;   ///< tensors that this launch writes, which blocks read only where they own them
  std::vector<Box> launchStores; ///< unconditional, of this launch
  int64_t blocks = 1;
  int64_t cluster = 1; ///< of this launch, where blocks are numbered
  int64_t blocksOfCluster = 1;
  bool hasBlocks = true;
  bool isForTcgen05 = false; ///< plain products that tcgen05 can make
  int namedBarriers = 0;
  std::optional<Statement> tiles = {}; ///< the loop over a block's tiles, if it has one of its own
  double budget = 0;
  int launchesLeft = 0; ///< after this one
};

} // namespace tlc::differential
