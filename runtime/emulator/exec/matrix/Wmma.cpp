// SPDX-License-Identifier: Apache-2.0
/// \file
/// wmma.load, wmma.store, wmma.mma: matrices whose fragments only these
/// instructions understand. Here lane l holds elements l * n to l * n + n - 1
/// of the matrix in row-major order, n of them in its registers, again and
/// again where the registers have more room. Products are mma.sync's.
#include "runtime/emulator/exec/core/Lanes.h"
#include "runtime/emulator/exec/decode/Decoder.h"
#include "runtime/emulator/exec/matrix/MatrixForms.h"
#include "runtime/emulator/math/MatrixElements.h"

namespace tlc::emulator {

namespace {

enum class Part : uint8_t { a, b, accumulator };

/// A matrix in fragments.
struct Fragment {
  MatrixElement element = MatrixElement::f16;
  unsigned rows = 16, columns = 16;
  unsigned registers = 8; ///< of 32 bits, or of 64 for f64

  unsigned bits() const { return elementBits(element); }
  /// Elements of a lane, each once.
  unsigned perLane() const { return rows * columns / warpSize; }
  /// Elements that its registers hold.
  unsigned room() const { return registers * (element == MatrixElement::f64 ? 1 : 32 / bits()); }
};

struct Shape {
  unsigned m = 16, n = 16, k = 16;
};

/// Nothing where no form has that element in that shape.
std::optional<Fragment> fragmentOf(Shape shape, Part part, MatrixElement element) {
  Fragment result;
  result.element = element;
  result.rows = part == Part::b ? shape.k : shape.m;
  result.columns = part == Part::a ? shape.k : shape.n;
  const unsigned elements = result.rows * result.columns;
  const bool whole = shape.m * shape.n == 256 && (shape.m == 16 || shape.m == 8 || shape.m == 32);
  const auto is = [&](unsigned m, unsigned n, unsigned k) {
    return shape.m == m && shape.n == n && shape.k == k;
  };
  bool known = false;
  switch (element) {
  case MatrixElement::f16:
    known = whole && shape.k == 16;
    break;
  case MatrixElement::bf16:
  case MatrixElement::s8:
  case MatrixElement::u8:
    known = whole && shape.k == 16 && part != Part::accumulator;
    break;
  case MatrixElement::tf32:
    known = is(16, 16, 8) && part != Part::accumulator;
    break;
  case MatrixElement::s4:
  case MatrixElement::u4:
    known = is(8, 8, 32) && part != Part::accumulator;
    break;
  case MatrixElement::b1:
    known = is(8, 8, 128) && part != Part::accumulator;
    break;
  case MatrixElement::f64:
    known = is(8, 8, 4);
    break;
  case MatrixElement::f32:
    known = part == Part::accumulator && whole && (shape.k == 16 || is(16, 16, 8));
    break;
  case MatrixElement::s32:
    known = part == Part::accumulator && ((whole && shape.k == 16) || is(8, 8, 32) || is(8, 8, 128));
    break;
  default:
    break;
  }
  if (!known)
    return std::nullopt;
  if (element == MatrixElement::f16)
    result.registers = part == Part::accumulator ? 4 : 8;
  else if (element == MatrixElement::f64)
    result.registers = elements / warpSize;
  else
    result.registers = elements * result.bits() / 32 / warpSize;
  return result;
}

/// A matrix as numbers in row-major order: the bits of each element.
using Elements = std::vector<uint64_t>;

Elements readFragment(const Warp &warp, const Fragment &fragment, const Slot *slots) {
  Elements elements(fragment.rows * fragment.columns);
  const unsigned bits = fragment.bits(), each = fragment.perLane();
  for (unsigned lane = 0; lane < warpSize; ++lane)
    for (unsigned i = 0; i < each; ++i) {
      if (bits == 64) {
        elements[lane * each + i] = lanesOf<uint64_t>(warp, slots[i])[lane];
        continue;
      }
      const uint32_t word = lanesOf<uint32_t>(warp, slots[i * bits / 32])[lane];
      elements[lane * each + i] = word >> (i * bits % 32) & ((uint64_t(1) << bits) - 1);
    }
  return elements;
}

void writeFragment(Warp &warp, const Fragment &fragment, const Slot *slots, const Elements &elements) {
  const unsigned bits = fragment.bits(), each = fragment.perLane();
  for (unsigned r = 0; r < fragment.registers; ++r) {
    uint64_t words[warpSize] = {};
    const unsigned inRegister = fragment.room() / fragment.registers;
    for (unsigned lane = 0; lane < warpSize; ++lane)
      for (unsigned i = 0; i < inRegister; ++i)
        words[lane] |= elements[lane * each + (r * inRegister + i) % each] << (i * bits);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      std::memcpy(warp.at(slots[r]) + lane * slots[r].bytes, &words[lane], slots[r].bytes);
  }
}

// --- load and store ---------------------------------------------------------------

struct Transfer {
  Fragment fragment;
  Space space = Space::generic;
  bool isStore = false, columnMajor = false;
};

/// slots: address, stride, registers...
Step transferFragment(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  const Transfer &transfer = instruction.payloadAs<Transfer>();
  const Fragment &fragment = transfer.fragment;
  const LaneAddresses64 addresses =
      laneAddresses(warp, instruction, instruction.slots[0], instruction.immediate);
  const In<uint32_t> strides = lanesOf<uint32_t>(warp, instruction.slots[1]);
  const Slot *registers = instruction.slots + 2;
  const unsigned bits = fragment.bits(), bytes = std::max(1u, bits / 8);
  if (addresses.lane[0] % 32 != 0)
    return fault(warp, instruction,
                 fmt::format("the matrix's address {:#x} is not a multiple of 32", addresses.lane[0]));
  Elements elements(fragment.rows * fragment.columns);
  if (transfer.isStore)
    elements = readFragment(warp, fragment, registers);
  for (unsigned index = 0; index < elements.size(); ++index) {
    const unsigned row = index / fragment.columns, column = index % fragment.columns,
                   lane = index / fragment.perLane();
    const uint64_t major = transfer.columnMajor ? column : row, minor = transfer.columnMajor ? row : column;
    const uint64_t place = (major * strides[lane] + minor) * bits;
    std::byte *host = touch(warp, instruction,
                            {transfer.space, transfer.isStore ? AccessKind::write : AccessKind::read,
                             Proxy::generic, lane, addresses.lane[lane] + place / 8, bytes, bytes});
    if (!host)
      return Step::fault;
    if (transfer.isStore) {
      std::memcpy(host, &elements[index], bytes);
    } else {
      uint64_t value = 0;
      std::memcpy(&value, host, bytes);
      elements[index] = bits < 8 ? value >> place % 8 & ((1u << bits) - 1) : value;
    }
  }
  if (!transfer.isStore)
    writeFragment(warp, fragment, registers, elements);
  ++clusterOf(warp).progress;
  return Step::next;
}

Type registerType(const Fragment &fragment) {
  return fragment.element == MatrixElement::f64 ? Type::b64 : Type::b32;
}

bool takeColumnMajor(Decoder &d) {
  const bool columns = d.take("col");
  if (!columns && !d.take("row"))
    d.fail("'{}' needs .row or .col", d.at().fullName());
  return columns;
}

/// The registers of a fragment; false with the error set when their number is another.
bool appendRegisters(Decoder &d, const Operand &operand, const Fragment &fragment, bool isResult,
                     std::vector<Slot> &slots) {
  const auto elements = d.elements(operand);
  if (elements.size() != fragment.registers) {
    d.fail("'{}' has a fragment of {} registers, but got {}", d.at().fullName(), fragment.registers,
           elements.size());
    return false;
  }
  for (const Operand &element : elements)
    slots.push_back(isResult ? d.out(element, registerType(fragment))
                             : d.in(element, registerType(fragment)));
  return true;
}

void decodeTransfer(Decoder &d, bool isStore) {
  const auto part = isStore ? std::optional(Part::accumulator)
                            : d.takeOneOf<Part>({{"a", Part::a}, {"b", Part::b}, {"c", Part::accumulator}});
  if (!part || (isStore && !d.take("d")))
    return d.fail("'{}' does not say which matrix", d.at().fullName());
  Transfer transfer;
  transfer.isStore = isStore;
  transfer.columnMajor = takeColumnMajor(d);
  Shape shape;
  if (!takeShape(d, shape.m, shape.n, shape.k))
    return;
  transfer.space = d.space();
  const auto element = takeMatrixElement(d);
  const auto fragment = element ? fragmentOf(shape, *part, *element) : std::nullopt;
  if (!fragment)
    return d.fail("'{}' is not a known form", d.at().fullName());
  transfer.fragment = *fragment;
  d.expectOperands(2, 3);
  d.accesses(transfer.space, std::max(1u, fragment->bits() / 8));
  const AddressOperand address = d.address(isStore ? 0 : 1);
  const unsigned packed = transfer.columnMajor ? fragment->rows : fragment->columns;
  std::vector<Slot> slots{address.base, d.operandCount() == 3 ? d.in(2, Type::b32) : d.constant(packed, 4)};
  if (appendRegisters(d, d.operand(isStore ? 1 : 0), *fragment, !isStore, slots))
    d.emitWith(transferFragment, slots, transfer).immediate = address.offset;
}

// --- mma ---------------------------------------------------------------------------

struct Product {
  Fragment a, b, c, d;
  MmaSync mma;
  bool transposed = false; ///< mma.sync computes the transpose
};

/// Elements side by side in registers of 32 bits.
uint32_t pack(const Elements &elements, size_t at, size_t step, unsigned bits) {
  uint32_t word = 0;
  for (unsigned i = 0; i < 32 / bits; ++i)
    word |= uint32_t(elements[at + i * step]) << (i * bits);
  return word;
}

/// A register pair of mma.sync or a register, of an element that is not packed.
void setRegister(std::vector<uint32_t> &registers, unsigned index, unsigned lane, uint64_t value, bool wide) {
  const unsigned first = wide ? 2 * index : index;
  registers[first * warpSize + lane] = uint32_t(value);
  if (wide)
    registers[(first + 1) * warpSize + lane] = uint32_t(value >> 32);
}

/// Rows [first, first + m) of `left` (m x k) times the columns of `right`
/// (k x n) from `column` on, with mma.sync's fragments; adds to `sums`.
void multiplyTile(const MmaSync &mma, const Elements &left, const Elements &right, unsigned rightColumns,
                  unsigned firstRow, unsigned firstColumn, unsigned sumColumns, Elements &sums) {
  const MmaRegisters counts = *mmaSyncRegisters(mma);
  const unsigned bits = elementBits(mma.a), halves = mma.m / 8;
  const bool wide = bits == 64, half = mma.accumulator == MatrixElement::f16;
  const unsigned inWord = wide ? 1 : 32 / bits, steps = mma.k / (4 * inWord);
  std::vector<uint32_t> a(counts.a * warpSize), b(counts.b * warpSize), c(counts.accumulator * warpSize);
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    const unsigned group = lane / 4, place = lane % 4;
    for (unsigned step = 0; step < steps; ++step) {
      const unsigned k = (step * 4 + place) * inWord;
      for (unsigned upper = 0; upper < halves; ++upper) {
        const size_t at = size_t(firstRow + group + 8 * upper) * mma.k + k;
        setRegister(a, step * halves + upper, lane, wide ? left[at] : pack(left, at, 1, bits), wide);
      }
      const size_t at = size_t(k) * rightColumns + firstColumn + group;
      setRegister(b, step, lane, wide ? right[at] : pack(right, at, rightColumns, bits), wide);
    }
    for (unsigned i = 0; i < 2 * halves; ++i) {
      const uint64_t sum =
          sums[(firstRow + group + 8 * (i / 2)) * sumColumns + firstColumn + 2 * place + i % 2];
      if (half)
        c[i / 2 * warpSize + lane] |= uint32_t(sum) << (16 * (i % 2));
      else
        setRegister(c, i, lane, sum, wide);
    }
  }
  mmaSync(mma, a, b, c, c);
  for (unsigned lane = 0; lane < warpSize; ++lane)
    for (unsigned i = 0; i < 2 * halves; ++i) {
      uint64_t &sum =
          sums[(firstRow + lane / 4 + 8 * (i / 2)) * sumColumns + firstColumn + 2 * (lane % 4) + i % 2];
      if (half)
        sum = c[i / 2 * warpSize + lane] >> (16 * (i % 2)) & 0xFFFF;
      else if (wide)
        sum = uint64_t(c[(2 * i + 1) * warpSize + lane]) << 32 | c[2 * i * warpSize + lane];
      else
        sum = c[i * warpSize + lane];
    }
}

Elements transpose(const Elements &elements, unsigned rows, unsigned columns) {
  Elements result(elements.size());
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned column = 0; column < columns; ++column)
      result[column * rows + row] = elements[row * columns + column];
  return result;
}

/// Between the element types of c, of the sums and of d: f16 and f32.
void convertElements(Elements &elements, MatrixElement from, MatrixElement to) {
  if (from == to)
    return;
  for (uint64_t &element : elements)
    element = to == MatrixElement::f32 ? floatResult(f16ToFloat(uint16_t(element)))
                                       : floatToF16(std::bit_cast<float>(uint32_t(element)));
}

/// slots: d..., a..., b..., c...
Step multiplyFragments(Warp &warp, uint32_t active, const Instruction &instruction) {
  if (!gather(warp, active, allLanes))
    return Step::wait;
  const Product &product = instruction.payloadAs<Product>();
  const Slot *a = instruction.slots + product.d.registers, *b = a + product.a.registers,
             *c = b + product.b.registers;
  Elements left = readFragment(warp, product.a, a), right = readFragment(warp, product.b, b),
           sums = readFragment(warp, product.c, c);
  convertElements(sums, product.c.element, product.mma.accumulator);
  unsigned rows = product.d.rows, columns = product.d.columns;
  if (product.transposed) {
    Elements swapped = transpose(right, product.b.rows, product.b.columns);
    right = transpose(left, product.a.rows, product.a.columns);
    left = std::move(swapped);
    sums = transpose(sums, rows, columns);
    std::swap(rows, columns);
  }
  for (unsigned row = 0; row < rows; row += product.mma.m)
    for (unsigned column = 0; column < columns; column += 8)
      multiplyTile(product.mma, left, right, columns, row, column, columns, sums);
  if (product.transposed)
    sums = transpose(sums, rows, columns);
  convertElements(sums, product.mma.accumulator, product.d.element);
  writeFragment(warp, product.d, instruction.slots, sums);
  return Step::next;
}

void decodeProduct(Decoder &d) {
  Product product;
  const auto bitProduct =
      d.takeOneOf<BitProduct>({{"and", BitProduct::conjunction}, {"xor", BitProduct::exclusive}});
  if (bitProduct && !d.take("popc"))
    return d.fail("'{}' needs .popc", d.at().fullName());
  // How a and b lay in memory no longer matters.
  takeColumnMajor(d);
  takeColumnMajor(d);
  Shape shape;
  if (!takeShape(d, shape.m, shape.n, shape.k))
    return;
  product.mma.rounding = takeMmaRounding(d);
  product.mma.overflow = d.take("satfinite") ? IntegerOverflow::saturate : IntegerOverflow::wrap;
  product.mma.bitProduct = bitProduct.value_or(BitProduct::conjunction);
  // f16 products name d and c alone.
  const auto first = takeMatrixElement(d), second = takeMatrixElement(d);
  std::optional<MatrixElement> a = MatrixElement::f16, b = a, c = second;
  if (!d.remaining().empty()) {
    a = second;
    b = takeMatrixElement(d), c = takeMatrixElement(d);
  }
  if (!first || !a || !b || !c)
    return d.fail("'{}' has a combination of types that does not exist", d.at().fullName());
  const auto partA = fragmentOf(shape, Part::a, *a), partB = fragmentOf(shape, Part::b, *b),
             partC = fragmentOf(shape, Part::accumulator, *c),
             partD = fragmentOf(shape, Part::accumulator, *first);
  if (!partA || !partB || !partC || !partD)
    return d.fail("'{}' is not a known form", d.at().fullName());
  product.a = *partA, product.b = *partB, product.c = *partC, product.d = *partD;
  const bool half = *first == MatrixElement::f16 && *c == MatrixElement::f16;
  product.mma.accumulator = *a == MatrixElement::f16 && !half ? MatrixElement::f32 : *first;
  product.mma.a = *a, product.mma.b = *b;
  product.transposed = shape.m == 8 && shape.n == 32;
  if (product.transposed)
    std::swap(product.mma.a, product.mma.b);
  product.mma.m = shape.m * shape.n == 256 ? 16 : 8;
  product.mma.k = shape.k;
  if (auto known = mmaSyncRegisters(product.mma); !known)
    return d.fail("{}", known.error().message);
  d.expectOperands(4);
  std::vector<Slot> slots;
  const Fragment *fragments[] = {&product.d, &product.a, &product.b, &product.c};
  for (size_t i = 0; i < 4; ++i)
    if (!appendRegisters(d, d.operand(i), *fragments[i], i == 0, slots))
      return;
  d.emitWith(multiplyFragments, slots, product);
}

void decodeWmma(Decoder &d) {
  d.ignore({"sync", "aligned"});
  if (d.take("load"))
    decodeTransfer(d, false);
  else if (d.take("store"))
    decodeTransfer(d, true);
  else if (d.take("mma"))
    decodeProduct(d);
  else
    d.fail("unknown instruction '{}'", d.at().fullName());
}

constexpr DecodeEntry entries[] = {{"wmma", decodeWmma}};

} // namespace

std::span<const DecodeEntry> wmmaInstructions() { return entries; }

} // namespace tlc::emulator
