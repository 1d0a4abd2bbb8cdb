// SPDX-License-Identifier: Apache-2.0
/// \file
/// The things a program speaks of. The kind is the C++ type; element type and
/// extents are known to the traced value. Handles are made by `Scope` and by
/// operations on other handles; each knows its trace. A handle whose making
/// was a mistake is poisoned: what is done with it is silent.
///
/// A `Fragment` is a variable: assigning stores, reading takes the value of
/// that moment, and so does initialising another `Fragment` from it. What an
/// expression gives is a `FragmentValue`, which never changes.
#pragma once

#include "compiler/dsl/At.h"
#include "compiler/dsl/TileExtents.h"
#include "runtime/support/ElementType.h"
#include "runtime/support/Enum.h"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace tlc::dsl::inline v1 {

class ClusterTile;
class ReshapedTile;
class ElementOperand;
class Fragment;
class FragmentValue;
class Predicate;
class Scalar;
class Trace;
struct Window;

/// Which of the two numbers around it a number becomes: the nearest (of two that are equally near, the even
/// one), the one of smaller magnitude, the one below or the one above.
#define TLC_ROUNDINGS(X) X(nearest) X(zero) X(down) X(up)
TLC_ENUM(Rounding, TLC_ROUNDINGS)
TLC_ENUM_NAMES(Rounding, TLC_ROUNDINGS)

/// How numbers become elements of another type.
struct Conversion {
  /// Not said: to the nearest, but a float that becomes an integer is cut off.
  std::optional<Rounding> rounding = {};
  /// What is too large becomes the largest number of the type, and not infinite or any integer. In floats of
  /// 8 bits or less it always does.
  bool saturate = false;
};

template <class T>
concept Number = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

/// A C++ number, without rounding.
class Constant {
public:
  template <Number T> Constant(T number) {
    if constexpr (std::floating_point<T>)
      value = double(number);
    else if constexpr (std::unsigned_integral<T>)
      value = uint64_t(number);
    else
      value = int64_t(number);
  }

  /// Calls it with a double, an int64_t or a uint64_t.
  decltype(auto) visit(auto &&visitor) const { return std::visit(visitor, value); }
  bool isFloat() const { return std::holds_alternative<double>(value); }
  double toDouble() const {
    return visit([](auto number) { return double(number); });
  }
  /// The number, if it is an integer of so many bits.
  std::optional<int64_t> toInteger(unsigned bits, bool hasSign) const;

private:
  std::variant<double, int64_t, uint64_t> value;
};

namespace detail {
/// A value of a trace. Without a value: poisoned; without a trace: never set.
struct Ref {
  std::shared_ptr<Trace> trace = {};
  const void *value = nullptr;
};

/// Operators of fragments, found by argument-dependent lookup for both kinds.
struct FragmentOperators {
  friend FragmentValue operator+(At<ElementOperand> a, At<ElementOperand> b);
  friend FragmentValue operator-(At<ElementOperand> a, At<ElementOperand> b);
  friend FragmentValue operator*(At<ElementOperand> a, At<ElementOperand> b);
  friend FragmentValue operator/(At<ElementOperand> a, At<ElementOperand> b);
  friend FragmentValue operator-(At<ElementOperand> a);
  // Of integers.
  friend FragmentValue operator%(At<ElementOperand> a, At<ElementOperand> b);
  friend FragmentValue operator&(At<ElementOperand> a, At<ElementOperand> b);
  friend FragmentValue operator|(At<ElementOperand> a, At<ElementOperand> b);
  friend FragmentValue operator^(At<ElementOperand> a, At<ElementOperand> b);
  friend FragmentValue operator~(At<ElementOperand> a);
  friend FragmentValue operator<<(At<ElementOperand> a, At<ElementOperand> b);
  friend FragmentValue operator>>(At<ElementOperand> a, At<ElementOperand> b);
  friend Predicate operator<(At<ElementOperand> a, At<ElementOperand> b);
  friend Predicate operator<=(At<ElementOperand> a, At<ElementOperand> b);
  friend Predicate operator>(At<ElementOperand> a, At<ElementOperand> b);
  friend Predicate operator>=(At<ElementOperand> a, At<ElementOperand> b);
  friend Predicate operator==(At<ElementOperand> a, At<ElementOperand> b);
  friend Predicate operator!=(At<ElementOperand> a, At<ElementOperand> b);
};
} // namespace detail

/// What all handles have.
class Handle {
public:
  Handle() = default;
  explicit Handle(detail::Ref ref) : reference(std::move(ref)) {}
  const detail::Ref &ref() const { return reference; }

protected:
  detail::Ref reference;
};

/// A truth value of the device, or one per element of a fragment.
class Predicate : public Handle {
public:
  Predicate() = default;
  template <std::same_as<bool> B> Predicate(B value) : known(value) {}
  explicit Predicate(detail::Ref ref) : Handle(std::move(ref)) {}

  /// The value, where it is known while tracing.
  std::optional<bool> constant() const { return known; }

  template <std::same_as<bool> B> operator B() const {
    static_assert(detail::never<B>,
                  "a traced predicate has no C++ truth value: use k.when(cond, body) or where()");
  }

  // Exact in the first operand, or C++'s own operators on bool would fit as well.
  friend Predicate operator&&(const Predicate &a, At<Predicate> b);
  friend Predicate operator||(const Predicate &a, At<Predicate> b);
  friend Predicate operator!(const Predicate &a);
  template <std::same_as<bool> B> friend Predicate operator&&(const Predicate &a, B b) {
    return b ? a : Predicate(false);
  }
  template <std::same_as<bool> B> friend Predicate operator&&(B a, const Predicate &b) {
    return a ? b : Predicate(false);
  }
  template <std::same_as<bool> B> friend Predicate operator||(const Predicate &a, B b) {
    return b ? Predicate(true) : a;
  }
  template <std::same_as<bool> B> friend Predicate operator||(B a, const Predicate &b) {
    return a ? Predicate(true) : b;
  }

  template <class T> friend void operator<(const Predicate &, const T &) { rejectOrder<T>(); }
  template <class T> friend void operator<=(const Predicate &, const T &) { rejectOrder<T>(); }
  template <class T> friend void operator>(const Predicate &, const T &) { rejectOrder<T>(); }
  template <class T> friend void operator>=(const Predicate &, const T &) { rejectOrder<T>(); }

private:
  template <class T> static void rejectOrder() {
    static_assert(detail::never<T>, "a comparison cannot be compared again: write a < b && b < c");
  }
  std::optional<bool> known;
};

/// A position, an extent or a count, known while tracing or on the device only.
/// `/` and `%` truncate towards zero, as in C++; `ceilDiv` rounds up.
class Index : public Handle {
public:
  Index() = default;
  template <Integer T> Index(T value) : known(int64_t(value)) {}
  explicit Index(detail::Ref ref) : Handle(std::move(ref)) {}

  /// The value, where it is known while tracing.
  std::optional<int64_t> constant() const { return known; }
  /// As a number for arithmetic with fragments.
  Scalar to(ElementType element, Loc loc = Loc::current()) const;

  template <std::same_as<bool> B> operator B() const {
    static_assert(detail::never<B>,
                  "a traced index has no C++ truth value: compare it and use k.when(cond, body)");
  }

  friend Index operator+(At<Index> a, At<Index> b);
  friend Index operator-(At<Index> a, At<Index> b);
  friend Index operator-(At<Index> a);
  friend Index operator*(At<Index> a, At<Index> b);
  friend Index operator/(At<Index> a, At<Index> b);
  friend Index operator%(At<Index> a, At<Index> b);
  friend Predicate operator<(At<Index> a, At<Index> b);
  friend Predicate operator<=(At<Index> a, At<Index> b);
  friend Predicate operator>(At<Index> a, At<Index> b);
  friend Predicate operator>=(At<Index> a, At<Index> b);
  friend Predicate operator==(At<Index> a, At<Index> b);
  friend Predicate operator!=(At<Index> a, At<Index> b);

private:
  std::optional<int64_t> known;
};

/// One number: an argument of the program, or a C++ number, which takes the
/// element type of what it meets.
class Scalar : public Handle {
public:
  Scalar() = default;
  template <Number T> Scalar(T value) : known(value) {}
  explicit Scalar(detail::Ref ref) : Handle(std::move(ref)) {}

  /// The value, where it is a C++ number.
  std::optional<Constant> constant() const { return known; }
  Scalar to(ElementType element, Loc loc = Loc::current()) const { return to(element, {}, loc); }
  Scalar to(ElementType element, Conversion how, Loc loc = Loc::current()) const;
  /// A number of i32 as a position.
  Index toIndex(Loc loc = Loc::current()) const;

  template <std::same_as<bool> B> operator B() const {
    static_assert(detail::never<B>,
                  "a traced number has no C++ truth value: compare it and use k.when(cond, body)");
  }

  friend Scalar operator+(At<Scalar> a, At<Scalar> b);
  friend Scalar operator-(At<Scalar> a, At<Scalar> b);
  friend Scalar operator*(At<Scalar> a, At<Scalar> b);
  friend Scalar operator/(At<Scalar> a, At<Scalar> b);
  friend Scalar operator-(At<Scalar> a);
  friend Predicate operator<(At<Scalar> a, At<Scalar> b);
  friend Predicate operator<=(At<Scalar> a, At<Scalar> b);
  friend Predicate operator>(At<Scalar> a, At<Scalar> b);
  friend Predicate operator>=(At<Scalar> a, At<Scalar> b);
  friend Predicate operator==(At<Scalar> a, At<Scalar> b);
  friend Predicate operator!=(At<Scalar> a, At<Scalar> b);

private:
  std::optional<Constant> known;
};

/// A tile spread over the registers of the executing threads; never changes.
class FragmentValue : public Handle, detail::FragmentOperators {
public:
  FragmentValue() = default;
  explicit FragmentValue(detail::Ref ref) : Handle(std::move(ref)) {}
  /// The value the variable has now.
  FragmentValue(const Fragment &variable, Loc loc = Loc::current());

  /// Empty for a poisoned handle.
  Shape shape() const;
  /// Converted element by element.
  FragmentValue to(ElementType element, Loc loc = Loc::current()) const { return to(element, {}, loc); }
  FragmentValue to(ElementType element, Conversion how, Loc loc = Loc::current()) const;
  /// Elements of i32 as positions, one for each element: of slices, and to be compared with others in
  /// `where`.
  Index toIndex(Loc loc = Loc::current()) const;
  /// An error that says how a transposed factor is written: registers hold a tile as it is, and only
  /// `Shared::t` is a view with the last two axes exchanged.
  FragmentValue t(Loc loc = Loc::current()) const;

  template <std::same_as<bool> B> operator B() const {
    static_assert(detail::never<B>, "a fragment has no C++ truth value: compare its elements in where()");
  }
};

/// A variable that holds a tile.
class Fragment : public Handle, detail::FragmentOperators {
public:
  Fragment() = default;
  explicit Fragment(detail::Ref ref, Loc loc) : Handle(std::move(ref)), declared(loc) {}
  /// New variables, with the value of this moment.
  Fragment(const FragmentValue &value, Loc loc = Loc::current());
  Fragment(const Fragment &other, Loc loc = Loc::current());
  Fragment(Fragment &&other) noexcept = default;
  ~Fragment() = default;

  /// Assignment stores. By value, so that the copy captures where it stands.
  Fragment &operator=(Fragment value);
  Fragment &operator=(At<Scalar> number);
  Fragment &operator+=(At<ElementOperand> other);
  Fragment &operator-=(At<ElementOperand> other);
  Fragment &operator*=(At<ElementOperand> other);
  Fragment &operator/=(At<ElementOperand> other);
  Fragment &operator%=(At<ElementOperand> other);
  Fragment &operator&=(At<ElementOperand> other);
  Fragment &operator|=(At<ElementOperand> other);
  Fragment &operator^=(At<ElementOperand> other);
  Fragment &operator<<=(At<ElementOperand> other);
  Fragment &operator>>=(At<ElementOperand> other);

  /// Gives the variable a name for dumps and messages.
  Fragment &&named(std::string_view name) &&;

  Shape shape() const;
  FragmentValue to(ElementType element, Loc loc = Loc::current()) const { return to(element, {}, loc); }
  FragmentValue to(ElementType element, Conversion how, Loc loc = Loc::current()) const;
  Index toIndex(Loc loc = Loc::current()) const { return FragmentValue(*this, loc).toIndex(loc); }
  FragmentValue t(Loc loc = Loc::current()) const;

  template <std::same_as<bool> B> operator B() const {
    static_assert(detail::never<B>, "a fragment has no C++ truth value: compare its elements in where()");
  }

private:
  void store(const FragmentValue &value, Loc loc);
  Loc declared;
};

/// What an elementwise operation takes: a fragment, or a number for all elements.
class Operand {
public:
  Operand(const FragmentValue &value) : reference(value.ref()) {}
  Operand(const Fragment &variable) : reference(variable.ref()) {}
  Operand(const Scalar &number) : reference(number.ref()), known(number.constant()) {}
  template <Number T> Operand(T value) : known(value) {}

  const detail::Ref &ref() const { return reference; }
  std::optional<Constant> constant() const { return known; }

private:
  detail::Ref reference;
  std::optional<Constant> known;
};

/// What an operator of fragments takes.
class ElementOperand : public Operand {
public:
  template <class T>
    requires std::convertible_to<const T &, Operand>
  ElementOperand(const T &value) : Operand(value) {}
  template <std::same_as<Index> T> ElementOperand(const T &) : Operand(0) {
    static_assert(
        detail::never<T>,
        "a position is no element of a fragment: convert it to a number, index.to(f32), or compute with "
        "each element's own position, k.positions({m, n}, axis)");
  }
};

/// When L2 gives up the data that a copy from or to a tensor brings there: as any other, before other data
/// because nobody needs it again soon, or after other data because it is needed again.
enum class Eviction : uint8_t { normal, first, last };

/// A guarded box of a global tensor or a shared tile: reads outside give the
/// fill value (0 without one), writes outside are dropped. Along any axes it
/// may have a position for each element instead.
class Slice : public Handle {
public:
  Slice() = default;
  explicit Slice(detail::Ref ref, std::vector<detail::Ref> positions = {})
      : Handle(std::move(ref)), perElement(std::move(positions)) {}

  /// The positions of elements along each axis that has them, in the order of the axes.
  const std::vector<detail::Ref> &positions() const { return perElement; }

  /// The same box of a tensor or tile that ends at `end` along `axis`: elements from there on are outside, as
  /// are all elements of a box that begins at a negative position along it. An end beyond the extent of the
  /// tensor or tile means the extent, a negative one means 0.
  Slice limited(int64_t axis, const Index &end, Loc loc = Loc::current()) const;
  /// The same box, whose elements outside the tensor or tile read as `value`.
  Slice fill(const Scalar &value, Loc loc = Loc::current()) const;
  /// The same box without guards but that of a limit, because of `reason`.
  Slice unchecked(std::string_view reason, Loc loc = Loc::current()) const;
  /// The same box of a tensor, of which the block accesses each element once, by one copy in one round of the
  /// loops around it, because of `reason`: no barrier orders that copy among others.
  Slice disjoint(std::string_view reason, Loc loc = Loc::current()) const;
  /// The same box of a tensor, with a hint for L2: the copies of it say when its data may be given up.
  /// Results are the same. Atomic operations and counts have no hint.
  Slice evict(Eviction eviction, Loc loc = Loc::current()) const;

private:
  std::vector<detail::Ref> perElement;
};

/// A tensor argument.
class Global : public Handle {
public:
  Global() = default;
  explicit Global(detail::Ref ref) : Handle(std::move(ref)) {}

  /// The box at `origin`, one position and one extent per axis of the tensor. A position may also be one per
  /// element, a fragment: element e of the slice is then at position[e] along that axis. Such axes that
  /// follow one another may be any number of extents: `X.tile({p, q, 0}, {32, 64})` has X[p[i], q[i], j] as
  /// element (i, j), with p and q of 32 x 1.
  Slice tile(const std::vector<Index> &origin, const TileExtents &extents, Loc loc = Loc::current()) const;
  /// The element at that position of a tensor of i32, for all threads; 0 outside the tensor.
  Index read(const std::vector<Index> &position, Loc loc = Loc::current()) const;
  /// What a window that moves over the tensor sees, to be read: of images, height, width and channels it is
  /// [positions, taps along the height, taps along the width, channels]. Positions count through those of an
  /// image, in row-major order, and the images. Taps beyond an image are outside the tensor.
  Global windows(const Window &window, Loc loc = Loc::current()) const;

private:
  friend class Symmetric;
  enum class Owners : uint8_t { one, all };
  Global(detail::Ref ref, Index owner) : Handle(std::move(ref)), owner(std::move(owner)) {}
  Global(detail::Ref ref, Owners owners) : Handle(std::move(ref)), owners(owners) {}
  std::optional<Index> owner; ///< the rank, of a symmetric tensor
  Owners owners = Owners::one;
};

/// A tensor argument of which every rank has its own.
class Symmetric : public Handle {
public:
  Symmetric() = default;
  explicit Symmetric(detail::Ref ref) : Handle(std::move(ref)) {}

  /// The tensor of that rank, from 0 to `Scope::ranks()` - 1: the same for all threads.
  Global of(const Index &rank, Loc loc = Loc::current()) const;
  /// The tensors of all ranks at once, by NVLink multicast: a copy from a fragment writes a box of it on all
  /// ranks, atomic operations and `announce` change each rank's elements, and `loadSum` and its like load all
  /// ranks' elements, combined. Nothing else accesses it. Elements have 16, 32 or 64 bits. Those of 16 are
  /// accessed in pairs, so that the tensor has an alignment of 4 bytes at least, and its last extent is known
  /// to be even. Programs with it need `CompileOptions::multicast`, and on GPUs memory that the driver joins
  /// (`TensorView::ofAll`).
  Global ofAll() const;
};

/// An argument that holds the addresses of tensors.
class Addresses : public Handle {
public:
  Addresses() = default;
  explicit Addresses(detail::Ref ref) : Handle(std::move(ref)) {}

  /// The tensor at address `number`, the same for all threads, with one extent per axis and in elements the
  /// stride of each axis but the last, whose stride is 1. Nothing checks them but the emulator.
  Global of(const Index &number, const std::vector<Index> &extents, const std::vector<Index> &strides,
            Loc loc = Loc::current()) const;
};

/// A slot of a channel, in the role that fills it or got it.
class Slot : public Handle {
public:
  Slot() = default;
  explicit Slot(detail::Ref ref) : Handle(std::move(ref)) {}
};

/// A tile in the block's shared memory, with slots or without.
class Shared : public Handle {
public:
  Shared() = default;
  explicit Shared(detail::Ref ref) : Handle(std::move(ref)) {}

  /// The view with the last two axes exchanged.
  Shared t(Loc loc = Loc::current()) const;
  /// The view of rows `first` to `first` + `count` - 1 of a tile of two axes; `first` is a multiple of 8.
  Shared rows(int64_t first, int64_t count, Loc loc = Loc::current()) const;
  /// The same of columns. `first` and the tile's columns are multiples of 128 bytes, which the widest swizzle
  /// keeps together, and `count` is one of 16 bytes. The TMA copies whole multiples of 128 bytes.
  Shared columns(int64_t first, int64_t count, Loc loc = Loc::current()) const;
  /// The box at `origin`, one position and one extent per axis of the tile, a slot or a view; positions
  /// may also be one per element, as of a tensor. Threads access it by ordinary loads, stores and atomic
  /// operations, through fragments.
  Slice tile(const std::vector<Index> &origin, const TileExtents &extents, Loc loc = Loc::current()) const;
  /// The elements of the tile, a slot or a view in row-major order with other extents, for copies from and to
  /// fragments.
  ReshapedTile reshape(const TileExtents &extents, Loc loc = Loc::current()) const;
  /// The part of a channel's slot.
  Shared slot(const Slot &at, Loc loc = Loc::current()) const;
  /// The same tile of a block of the cluster, from 0 to the number of its blocks less 1 and the same for all
  /// threads; of a tile without slots.
  ClusterTile of(const Index &block, Loc loc = Loc::current()) const;
  /// The element at that position of a tile of i32, for all threads.
  Index read(const std::vector<Index> &position, Loc loc = Loc::current()) const;
  /// One thread writes the element at that position of a tile of i32.
  void write(const std::vector<Index> &position, const Index &value, Loc loc = Loc::current()) const;
  Shape shape() const;

private:
  friend class Scope;
  bool slots = false;
};

/// A shared tile with other extents: copies from and to fragments have these.
class ReshapedTile : public Handle {
public:
  ReshapedTile() = default;
  explicit ReshapedTile(detail::Ref ref) : Handle(std::move(ref)) {}

  const Shape &shape() const { return extents; }

  /// An error that says what a reshaped tile is for, wherever a shared tile is wanted.
  template <std::same_as<Shared> Tile> operator Tile() const {
    static_assert(detail::never<Tile>, "a reshaped tile is copied from and to fragments only: use the tile "
                                       "itself, or copy a fragment on");
  }

private:
  friend class Shared;
  ReshapedTile(detail::Ref tile, Shape extents) : Handle(std::move(tile)), extents(std::move(extents)) {}
  Shape extents;
};

/// A shared tile of a block of the cluster, this one or another: copies reach it. What blocks do to each
/// other's tiles takes effect in the order of the program: what stands before has been done by all blocks.
class ClusterTile : public Handle {
public:
  ClusterTile() = default;
  explicit ClusterTile(detail::Ref ref) : Handle(std::move(ref)) {}

  /// Rows `first` to `first` + `count` - 1 of a tile of two axes that is not transposed. Both are multiples
  /// of 8; that `first` is must follow from its arithmetic and the facts about dimensions.
  ClusterTile rows(const Index &first, int64_t count, Loc loc = Loc::current()) const;

  const Index &block() const { return owner; }
  const std::optional<Index> &firstRow() const { return first; }
  int64_t rowCount() const { return count; }

private:
  friend class Shared;
  ClusterTile(detail::Ref tile, Index owner) : Handle(std::move(tile)), owner(std::move(owner)) {}
  Index owner;
  std::optional<Index> first;
  int64_t count = 0;
};

/// A tile in the block's tensor memory, where products may add up: 128 rows, with slots or without.
class TensorMemory : public Handle {
public:
  TensorMemory() = default;
  explicit TensorMemory(detail::Ref ref) : Handle(std::move(ref)) {}

  /// The part of a channel's slot.
  TensorMemory slot(const Slot &at, Loc loc = Loc::current()) const;
  Shape shape() const;

  template <class Tile = TensorMemory> Tile t() const {
    static_assert(detail::never<Tile>, "a factor in tensor memory is read along k only: store it transposed, "
                                       "or use a shared tile");
    return *this;
  }
};

/// When a barrier gets an arrival.
enum class Arrival : uint8_t {
  now,
  afterProducts, ///< once the products in tensor memory are complete that the role has started; it does not
                 ///< wait
};

/// Slots that roles fill and hand over to others. A slot consists of one slot of each tile with the same
/// number of slots: `tile.slot(at)`. Each role puts, gets and releases every slot, in order.
class Channel : public Handle {
public:
  Channel() = default;
  explicit Channel(detail::Ref ref) : Handle(std::move(ref)) {}

  /// Fills the role's next slot: waits until all roles that release have released it, and runs the body.
  /// Roles that get it see what the body does to shared and tensor memory: copies, writes and products. The
  /// role that puts waits for none of the TMA's copies, nor for products. Copies that the TMA can make, it
  /// makes: they stand in no loop on the device. Returns the slot, from which the role may read what its
  /// threads wrote, until it fills the slot again.
  Slot put(const std::function<void(const Slot &)> &fill, Loc loc = Loc::current()) const;
  /// An empty slot, as a signal.
  Slot put(Loc loc = Loc::current()) const;
  /// Waits until the role's next slot is full. A role that never releases only looks at what others release.
  Slot get(Loc loc = Loc::current()) const;
  /// The oldest slot that the role has not released or passed: its next `release` or `pass` is about it.
  Slot oldest(Loc loc = Loc::current()) const;
  /// The role is done with the oldest slot, which another role releases.
  void pass(Loc loc = Loc::current()) const;
  /// Gives the oldest slot back, to be filled again. Its tiles are not used after that.
  void release(Loc loc = Loc::current()) const { release(Arrival::now, loc); }
  void release(Arrival arrival, Loc loc = Loc::current()) const;
};

using Ring [[deprecated("is now Channel: docs/migrating.md has the pairs")]] = Channel;
using Cursor [[deprecated("is now Slot, which put and get give: docs/migrating.md has the pairs")]] = Slot;

/// An mbarrier; phases are counted from 0 over the whole kernel.
class Barrier : public Handle {
public:
  Barrier() = default;
  explicit Barrier(detail::Ref ref) : Handle(std::move(ref)) {}

  /// Every thread arrives; after products, nobody but these, once.
  void arrive(Loc loc = Loc::current()) const { arrive(Arrival::now, loc); }
  void arrive(Arrival arrival, Loc loc = Loc::current()) const;
  void wait(const Index &phase, Loc loc = Loc::current()) const;
};

/// A hardware barrier that `warps` warps meet at.
class NamedBarrier {
public:
  void sync(Loc loc = Loc::current()) const { meet(false, loc); }
  /// Arrives without waiting.
  void arrive(Loc loc = Loc::current()) const { meet(true, loc); }

private:
  friend class Scope;
  void meet(bool arriveOnly, Loc loc) const;
  std::shared_ptr<Trace> trace;
  int64_t id = 0; ///< 0: poisoned
  int64_t warps = 0;
};

} // namespace tlc::dsl::inline v1
