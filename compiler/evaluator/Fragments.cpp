// SPDX-License-Identifier: Apache-2.0
/// \file
/// Shapes of fragments, variables, reductions, products.
#include "compiler/evaluator/Machine.h"
#include "dialects/tile/Shapes.h"
#include "runtime/target/Hardware.h"

#include <numeric>

using namespace mlir;

namespace tlc::evaluator {

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

Extents extentsOf(Value value) { return Extents(tile::extentsOf(value.getType())); }

int64_t countOf(ArrayRef<int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
}

Extents positionOf(int64_t number, ArrayRef<int64_t> extents) {
  Extents position(extents.size());
  for (size_t axis = extents.size(); axis-- > 0; number /= extents[axis])
    position[axis] = number % extents[axis];
  return position;
}

std::string positionText(ArrayRef<int64_t> position) {
  std::string text;
  for (int64_t at : position)
    text += (text.empty() ? "" : ", ") + std::to_string(at);
  return "[" + text + "]";
}

void forEachRepeated(ArrayRef<int64_t> extents, ArrayRef<int64_t> sourceExtents,
                     llvm::function_ref<void(int64_t, int64_t)> visit) {
  for (int64_t number = 0, count = countOf(extents); number < count; ++number) {
    int64_t source = 0, left = number, pitch = 1;
    for (size_t axis = extents.size(); axis-- > 0; left /= extents[axis]) {
      source += sourceExtents[axis] == 1 ? 0 : left % extents[axis] * pitch;
      pitch *= sourceExtents[axis];
    }
    visit(number, source);
  }
}

Fragment decisionFor(const Fragment &condition, ArrayRef<int64_t> extents) {
  Fragment decision{Extents(extents), std::vector<Element>(countOf(extents), truthOf(true, false))};
  if (condition.extents.size() != extents.size())
    return decision; // nothing says which elements share a warp
  Extents folded;
  for (auto [own, wanted] : llvm::zip(condition.extents, extents)) {
    if (own != wanted && own != 1 && wanted != 1)
      return decision;
    folded.push_back(std::min(own, wanted));
  }
  // The warp of an element that stands for several takes the branch if one of them does.
  std::vector<Element> parts(countOf(folded), truthOf(false));
  forEachRepeated(condition.extents, folded, [&](int64_t number, int64_t part) {
    const Element &element = condition.elements[number];
    Element &known = parts[part];
    if (isExact(element) && element.integer)
      known = element;
    else if (!isExact(element) && !(isExact(known) && known.integer))
      known = truthOf(true, false);
  });
  forEachRepeated(extents, folded,
                  [&](int64_t number, int64_t part) { decision.elements[number] = parts[part]; });
  return decision;
}

namespace {

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Step evaluateSplat(Task &task, tile::SplatOp op) {
  Extents extents = extentsOf(op.getResult());
  std::vector<Element> elements(countOf(extents), task.number(op.getValue()));
  task.set(op.getResult(), Fragment{extents, std::move(elements)});
  return Step::done;
}

Step evaluateBroadcast(Task &task, tile::BroadcastOp op) {
  const Fragment &source = task.fragment(op.getSource());
  Fragment result{extentsOf(op.getResult()), {}};
  result.elements.resize(countOf(result.extents));
  forEachRepeated(result.extents, source.extents,
                  [&](int64_t number, int64_t from) { result.elements[number] = source.elements[from]; });
  task.set(op.getResult(), std::move(result));
  return Step::done;
}

Step evaluateCoordinates(Task &task, tile::CoordinatesOp op) {
  Fragment result{extentsOf(op.getResult()), {}};
  for (int64_t number = 0, count = countOf(result.extents); number < count; ++number)
    result.elements.push_back(
        exactInteger({.bits = 32}, positionOf(number, result.extents)[static_cast<size_t>(op.getAxis())]));
  task.set(op.getResult(), std::move(result));
  return Step::done;
}

/// True where the condition holds. Elsewhere the warp may hold another element for which it does, if there is
/// one.
Step evaluateAnyInWarp(Task &task, tile::AnyInWarpOp op) {
  Fragment result = task.fragment(op.getCondition());
  bool mayHold = llvm::any_of(result.elements, [](const Element &x) { return x.integer || !isExact(x); });
  for (Element &element : result.elements)
    if (!isExact(element) || !element.integer)
      element = truthOf(mayHold, !mayHold);
  task.set(op.getResult(), std::move(result));
  return Step::done;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

Step evaluateVariable(Task &task, tile::VariableOp op) {
  task.set(op.getVariable(), Datum(std::make_shared<Variable>(Variable{task.get(op.getInit())})));
  return Step::done;
}

Step evaluateRead(Task &task, tile::ReadOp op) {
  task.set(op.getValue(), Datum(std::get<std::shared_ptr<Variable>>(task.get(op.getVariable()))->value));
  return Step::done;
}

Step evaluateWrite(Task &task, tile::WriteOp op) {
  std::get<std::shared_ptr<Variable>>(task.get(op.getVariable()))->value = task.get(op.getValue());
  return Step::done;
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

int64_t combined(tile::ReduceKind how, int64_t a, int64_t b) {
  auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b); // whose sums and products overflow
  switch (how) {
  case tile::ReduceKind::sum:
    return static_cast<int64_t>(x + y);
  case tile::ReduceKind::product:
    return static_cast<int64_t>(x * y);
  case tile::ReduceKind::max:
    return std::max(a, b);
  case tile::ReduceKind::min:
    return std::min(a, b);
  case tile::ReduceKind::bitAnd:
    return a & b;
  case tile::ReduceKind::bitOr:
    return a | b;
  case tile::ReduceKind::bitXor:
    return a ^ b;
  case tile::ReduceKind::maxOrNaN:
  case tile::ReduceKind::minOrNaN:
    break; // of floats
  }
  return 0;
}

Element combined(tile::ReduceKind how, const Kind &kind, const Element &a, const Element &b) {
  using enum tile::ReduceKind;
  if (kind.isFloat && (how == maxOrNaN || how == minOrNaN))
    return how == maxOrNaN ? maximumOrNaN(kind, a, b) : minimumOrNaN(kind, a, b);
  if (kind.isFloat)
    return how == max ? maximum(kind, a, b) : minimum(kind, a, b);
  Element result = exactInteger(kind, combined(how, a.integer, b.integer));
  return isExact(a) && isExact(b) ? result : unspecified(result);
}

/// What elements make together, in any order.
class Combination {
public:
  Combination(tile::ReduceKind how, const Kind &kind) : how(how), kind(kind) {}

  void add(const Element &element) {
    if (kind.isFloat && how == tile::ReduceKind::sum)
      sum.add(element);
    else if (kind.isFloat && how == tile::ReduceKind::product)
      product.add(element);
    else
      known = known.defined ? combined(how, kind, known, element) : element;
  }
  Element result() const {
    if (kind.isFloat && how == tile::ReduceKind::sum)
      return sum.result(kind, ordinarySums(kind));
    return kind.isFloat && how == tile::ReduceKind::product ? product.result(kind) : known;
  }

private:
  tile::ReduceKind how;
  Kind kind;
  Sum sum;
  Product product;
  Element known;
};

Step evaluateReduce(Task &task, tile::ReduceOp op) {
  const Fragment &source = task.fragment(op.getSource());
  Kind kind = kindOf(op.getSource().getType());
  Fragment result{extentsOf(op.getResult()), {}};
  std::vector<Combination> parts(countOf(result.extents), Combination(op.getKind(), kind));
  forEachRepeated(source.extents, result.extents,
                  [&](int64_t number, int64_t to) { parts[to].add(source.elements[number]); });
  for (const Combination &part : parts)
    result.elements.push_back(part.result());
  task.set(op.getResult(), std::move(result));
  return Step::done;
}

Step evaluateScan(Task &task, tile::ScanOp op) {
  const Fragment &source = task.fragment(op.getSource());
  Kind kind = kindOf(op.getSource().getType());
  Fragment result = source;
  Extents lines = source.extents;
  lines[op.getAxis()] = 1;
  std::vector<Combination> parts(countOf(lines), Combination(op.getKind(), kind));
  std::vector<std::pair<int64_t, int64_t>> order; // elements with their lines
  forEachRepeated(source.extents, lines,
                  [&](int64_t number, int64_t line) { order.push_back({number, line}); });
  if (op.getReverse())
    std::reverse(order.begin(), order.end());
  for (auto [number, line] : order) {
    parts[line].add(source.elements[number]);
    result.elements[number] = parts[line].result();
  }
  task.set(op.getResult(), std::move(result));
  return Step::done;
}

/// CUDA C++ has no meaning here that is apart from its compiler's.
Step evaluateCuda(Task &task, tile::CudaOp op) {
  return task.fail(op, "the evaluator does not run '" + op.getFunction() +
                           "' because it is a function in CUDA C++; 'tlc run --device emulator' does");
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Of two factors, as a matrix instruction may take it: f16, bf16 and tf32 with the bits of f32; e4m3 with 13
/// fractional bits of the largest term, the sum so far included.
Accumulation matrixSums(const Kind &factors) {
  return factors.bits == 8 ? Accumulation{14, 0x1.1p-13} : Accumulation{24, 0x1p-24};
}
constexpr int64_t extraTerms = 3; // the accumulator, and the cut of the result

/// A factor, row-major, as what sums of its products need.
struct Factor {
  std::vector<double> values, limits; ///< limits: the largest magnitudes that the bounds allow
  bool isExact = true;

  explicit Factor(const std::vector<Element> &elements) {
    for (const Element &element : elements) {
      values.push_back(element.value);
      limits.push_back(std::abs(element.value) + element.bound);
      isExact &= element.bound == 0;
    }
  }
};

/// A factor of f32 as matrix instructions read it: as tf32, whose fraction has at least 10 bits. What they
/// ignore of it, at most the low 13 bits, is the bound, for single multiply-adds do not. What is left of a
/// NaN may be an infinity.
Element asTf32(Element element) {
  if (std::isnan(element.value))
    return unspecified(element);
  if (std::isinf(element.value))
    return element;
  constexpr uint32_t ignored = (1 << 13) - 1;
  if (element.bound != 0) {
    // Of a normal number, or of one below 2^-126.
    element.bound += std::max(0x1p-10 * (std::abs(element.value) + element.bound), 0x1p-136);
    return element;
  }
  auto cut = std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(element.value)) & ~ignored);
  element.bound = std::abs(element.value - cut);
  element.value = cut;
  return element;
}

/// Which elements of a left factor take part in sums: all of one that is not sparse.
using Stored = std::vector<bool>;

/// Gives the elements of a left factor their places in rows. Those of a sparse one that are not stored are 0,
/// and nothing is multiplied by them. A failure if metadata has no places.
std::optional<Stored> placeStored(Task &task, tile::ProductOpInterface op, std::vector<Element> &a) {
  if (!op.getMetadata())
    return Stored(a.size(), true);
  const Fragment &metadata = task.fragment(op.getMetadata());
  Kind kind = kindOf(tile::elementTypeOf(op.getA().getType()));
  int64_t stored = storedPerMetadataByte(kind.bits), perGroup = stored / 2, extent = 2 * perGroup;
  std::vector<Element> elements(2 * a.size(), kind.isFloat ? exactFloat(kind, 0) : exactInteger(kind, 0));
  Stored isStored(elements.size(), false);
  for (auto [number, byte] : llvm::enumerate(metadata.elements)) {
    std::optional<int64_t> bits = task.certain(op, byte, "metadata of a sparse factor");
    if (!bits)
      return std::nullopt;
    for (int64_t group = 2 * int64_t(number); group < 2 * int64_t(number) + 2; ++group) {
      int64_t pair = *bits >> group % 2 * 4 & 15, low = pair & 3, high = pair >> 2;
      if (low >= high || (perGroup == 1 && (low % 2 != 0 || high != low + 1))) {
        task.fail(op, "expected metadata that has two places, the smaller one first, but byte " +
                          Twine(int64_t(number) % metadata.extents[1]) + " of row " +
                          Twine(int64_t(number) / metadata.extents[1]) + " has the bits " + Twine(pair) +
                          " for a group" + (perGroup == 1 ? " of f32" : ""));
        return std::nullopt;
      }
      for (int64_t i = 0; i < perGroup; ++i) {
        int64_t place = group * extent + (perGroup == 1 ? low / 2 : i == 0 ? low : high);
        elements[place] = a[group * perGroup + i];
        isStored[place] = true;
      }
    }
  }
  a = std::move(elements);
  return isStored;
}

/// Of a sum that infinities, NaN or open numbers take part in.
Sum sumOneByOne(const std::vector<Element> &a, const Stored &isStored, const std::vector<Element> &b,
                int64_t i, int64_t j, int64_t depth, int64_t columns) {
  Sum sum;
  for (int64_t k = 0; k < depth; ++k)
    if (isStored[i * depth + k])
      sum.add(multiply(kindOf(ElementType::f64), a[i * depth + k], b[k * columns + j]));
  return sum;
}

/// Of factors that are integers: their sums wrap around, so that any order gives the same.
Fragment addIntegers(const Kind &kind, const std::vector<Element> &a, const std::vector<Element> &b,
                     const Fragment &acc) {
  int64_t rows = acc.extents[0], columns = acc.extents[1];
  int64_t depth = static_cast<int64_t>(a.size()) / rows;
  std::vector<bool> isKnownRow(rows, true), isKnownColumn(columns, true);
  for (int64_t i = 0; i < rows * depth; ++i)
    isKnownRow[i / depth] = isKnownRow[i / depth] && isExact(a[i]);
  for (int64_t i = 0; i < depth * columns; ++i)
    isKnownColumn[i % columns] = isKnownColumn[i % columns] && isExact(b[i]);
  Fragment result{acc.extents, {}};
  result.elements.reserve(acc.elements.size());
  std::vector<int64_t> sums(columns); // products of 8 bits: no depth makes them overflow
  for (int64_t i = 0; i < rows; ++i) {
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t j = 0; j < columns; ++j)
        sums[j] += a[i * depth + k].integer * b[k * columns + j].integer;
    for (int64_t j = 0; j < columns; ++j) {
      const Element &before = acc.elements[i * columns + j];
      Element sum = exactInteger(kind, before.integer + sums[j]);
      bool isKnown = isExact(before) && isKnownRow[i] && isKnownColumn[j];
      result.elements.push_back(isKnown ? sum : unspecified(sum));
    }
  }
  return result;
}

/// The accumulator with the product added; a failure if an element of a factor was never written.
std::optional<Fragment> addProduct(Task &task, tile::ProductOpInterface op, const Fragment &acc) {
  auto a = readTile(task, op, op.getA()), b = readTile(task, op, op.getB());
  if (!a || !b)
    return std::nullopt;
  std::optional<Stored> isStored = placeStored(task, op, *a);
  if (!isStored)
    return std::nullopt;
  Kind kind = kindOf(tile::elementTypeOf(op.getAcc().getType()));
  if (!kind.isFloat)
    return addIntegers(kind, *a, *b, acc);
  Kind factorKind = kindOf(tile::elementTypeOf(op.getB().getType()));
  if (factorKind.bits == 32)
    for (std::vector<Element> *factor : {&*a, &*b})
      llvm::transform(*factor, factor->begin(), asTf32);
  int64_t rows = acc.extents[0], columns = acc.extents[1];
  int64_t depth = static_cast<int64_t>(a->size()) / rows;
  Factor left(*a), right(*b);
  std::vector<int> bitsOfRow(rows, std::numeric_limits<int>::max()), bitsOfColumn(columns, bitsOfRow[0]);
  for (int64_t i = 0; i < rows * depth; ++i)
    bitsOfRow[i / depth] = std::min(bitsOfRow[i / depth], lowestBitOf(left.values[i]));
  for (int64_t i = 0; i < depth * columns; ++i)
    bitsOfColumn[i % columns] = std::min(bitsOfColumn[i % columns], lowestBitOf(right.values[i]));

  Accumulation how = matrixSums(factorKind);
  Fragment result{acc.extents, {}};
  result.elements.reserve(acc.elements.size());
  std::vector<double> totals(columns), magnitudes(columns), limits(columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (std::vector<double> *sums : {&totals, &magnitudes, &limits})
      std::fill(sums->begin(), sums->end(), 0);
    for (int64_t k = 0; k < depth; ++k) {
      double x = left.values[i * depth + k], limit = left.limits[i * depth + k];
      const double *y = &right.values[k * columns], *limitOfY = &right.limits[k * columns];
      for (int64_t j = 0; j < columns; ++j) {
        totals[j] += x * y[j];
        limits[j] += limit * limitOfY[j];
      }
      if (!left.isExact || !right.isExact)
        for (int64_t j = 0; j < columns; ++j)
          magnitudes[j] += std::abs(x * y[j]);
    }
    for (int64_t j = 0; j < columns; ++j) {
      Sum sum{.total = totals[j], .magnitude = limits[j], .terms = depth + extraTerms};
      if (!left.isExact || !right.isExact)
        sum.bound = (limits[j] - magnitudes[j]) * (1 + 0x1p-40);
      if (limits[j] != 0 && bitsOfRow[i] < std::numeric_limits<int>::max() &&
          bitsOfColumn[j] < std::numeric_limits<int>::max())
        sum.lowestBit = bitsOfRow[i] + bitsOfColumn[j];
      if (!std::isfinite(limits[j]))
        sum = sumOneByOne(*a, *isStored, *b, i, j, depth, columns);
      sum.add(acc.elements[i * columns + j]);
      result.elements.push_back(sum.result(kind, how));
    }
  }
  return result;
}

template <class Op> Step evaluateProduct(Task &task, Op op) {
  std::optional<Fragment> sum = addProduct(task, op, task.fragment(op.getAcc()));
  if (!sum)
    return Step::failed;
  task.set(op.getResult(), std::move(*sum));
  return Step::done;
}

Step evaluateGemmInPlace(Task &task, tile::GemmInPlaceOp op) {
  auto accumulate = task.certain(op, op.getAccumulate(), "whether a product accumulates");
  if (!accumulate)
    return Step::failed;
  Fragment acc{extentsOf(op.getAcc()), {}};
  if (*accumulate) {
    auto before = readTile(task, op, op.getAcc());
    if (!before)
      return Step::failed;
    acc.elements = std::move(*before);
  } else {
    Kind kind = kindOf(tile::elementTypeOf(op.getAcc().getType()));
    acc.elements.assign(countOf(acc.extents), exactInteger(kind, 0));
  }
  std::optional<Fragment> sum = addProduct(task, op, acc);
  return sum ? writeTile(task, op, op.getAcc(), sum->elements) : Step::failed;
}

/// The product is taken when it is started.
Step evaluateGemmWait(Task &task, tile::GemmWaitOp op) {
  task.set(op.getResult(), Datum(task.get(op.getAcc())));
  return Step::done;
}

} // namespace

void addFragmentRules(Rules &rules) {
  rules.add(evaluateSplat);
  rules.add(evaluateBroadcast);
  rules.add(evaluateCoordinates);
  rules.add(evaluateAnyInWarp);
  rules.add(evaluateVariable);
  rules.add(evaluateRead);
  rules.add(evaluateWrite);
  rules.add(evaluateReduce);
  rules.add(evaluateCuda);
  rules.add(evaluateScan);
  rules.add(evaluateProduct<tile::GemmOp>);
  rules.add(evaluateProduct<tile::GemmAsyncOp>);
  rules.add(evaluateGemmInPlace);
  rules.add(evaluateGemmWait);
}

} // namespace tlc::evaluator
