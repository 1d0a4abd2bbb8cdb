// SPDX-License-Identifier: Apache-2.0
/// \file
/// The compiled program: the only structure that crosses from the compiler to
/// the runtime. Plain data, no LLVM, no CUDA. Both devices launch from it.
///
/// A program has an argument schema (dimensions, tensors, scalars, workspaces)
/// and one or more variants. A variant is a PTX module plus the launches to
/// make from it, in stream order; the launcher takes the first variant whose
/// alignment conditions the actual arguments meet (the last one has none).
#pragma once

#include "runtime/artifact/TensorWindow.h"
#include "runtime/support/ElementType.h"
#include "runtime/support/Swizzle.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tlc {

/// The first three are leaves. `divide` and `remainder` are the device's `/` and `%`, which truncate.
#define TLC_HOST_OPS(X)                                                                                      \
  X(constant)                                                                                                \
  X(dimension)                                                                                               \
  X(multiprocessors) X(add) X(subtract) X(multiply) X(ceilDiv) X(divide) X(remainder) X(min) X(max)

/// An integer expression that the host evaluates at launch: over the program's
/// dimensions and the device's number of multiprocessors. A tree in postfix
/// form; `operand` is the constant or the dimension's index, else unused.
struct HostExpr {
  TLC_ENUM(Op, TLC_HOST_OPS)
  struct Step {
    Op op;
    int64_t operand = 0;
    bool operator==(const Step &) const = default;
  };
  std::vector<Step> steps = {};

  /// Most operands that may be pending at once while evaluating.
  static constexpr size_t maxDepth = 32;

  static HostExpr constant(int64_t value) { return {{{Op::constant, value}}}; }
  static HostExpr dimension(int64_t index) { return {{{Op::dimension, index}}}; }
  static HostExpr multiprocessors() { return {{{Op::multiprocessors, 0}}}; }
  static HostExpr apply(Op op, const HostExpr &lhs, const HostExpr &rhs);

  /// Value for the given dimensions, as a kernel computes it, too; nothing where a number on the way has more
  /// than 32 bits, for quotients by 0, and for a malformed expression.
  std::optional<int64_t> evaluate(const std::vector<int64_t> &dimensions, int64_t multiprocessors) const;
  bool operator==(const HostExpr &) const = default;
};

/// The largest extent of an axis: kernels get extents as 32-bit integers.
inline constexpr int64_t maxExtent = 0x7fffffff;

/// Of a dimension that no shape has it is the launch: the number of the rank that is launched, or of all.
#define TLC_DIMENSION_SOURCES(X) X(shapes) X(rank) X(ranks)
TLC_ENUM(DimensionSource, TLC_DIMENSION_SOURCES)

/// A named extent. Its value is taken from the tensors whose shape names it, or computed;
/// all of them must agree.
struct Dimension {
  std::string name;
  int64_t multipleOf = 1; ///< fact the program relies on; checked at launch
  int64_t least = 0;      ///< and so are these limits
  int64_t most = maxExtent;
  std::optional<int64_t> fixed = {}; ///< value the program was specialised for
  /// What it is of the dimensions before it, without multiprocessors; tensors that have it as an extent are
  /// checked.
  std::optional<HostExpr> computed = {};
  DimensionSource source = DimensionSource::shapes;
};

#define TLC_ACCESSES(X) X(input) X(output) X(inout) X(workspace)
TLC_ENUM(Access, TLC_ACCESSES)

/// One extent of a tensor argument: a dimension's index or a constant.
struct Extent {
  int64_t dimension = -1; ///< index into `Artifact::dimensions`, or -1
  int64_t constant = 0;   ///< when `dimension` is -1
};

/// What the address of a workspace is a multiple of.
inline constexpr size_t workspaceAlignment = 256;

/// A tensor argument. Rows may have any stride unless the tensor is `contiguous`; the innermost stride is 1
/// unless it is `strided`. Workspaces are contiguous but for the ends of rows that the alignment leaves
/// empty, their sizes are host expressions and the caller (or `Device::run`, which asks for them) provides
/// the memory.
struct TensorArgument {
  std::string name;
  ElementType element = ElementType::f32;
  Access access = Access::input;
  std::vector<Extent> shape = {};
  std::vector<HostExpr> workspaceShape = {}; ///< only for `Access::workspace`
  bool zeroFill = false;                     ///< the launcher clears it before the first launch
  /// Bytes of which base address and outer strides are multiples: the program says so, the launcher checks
  /// it.
  int64_t alignment = 1;
  bool symmetric = false;  ///< every rank has its own and reaches those of all
  bool strided = false;    ///< kernels take any innermost stride
  bool contiguous = false; ///< rows follow each other without gaps; kernels get no strides
};

struct ScalarArgument {
  std::string name;
  ElementType element = ElementType::f32;
};

/// How to build a TMA tensor map at launch (`cuTensorMapEncodeTiled`): the
/// tensor's own shape and strides, this box, zero fill outside.
///
/// A map with a limited axis has one axis more, outermost, with the same stride, and the
/// limited axis has the extent r of the box. A box of r rows from row t, of which n are
/// valid, starts at r - n of the limited axis and at t + n - r of the other one, which is
/// row t, and the TMA clips the last r - n rows. If t + n - r is negative, the box needs a
/// map that begins r rows before the tensor, and starts at t + n there. For a box that is
/// completely outside the hardware reads the map's first bytes, so such a map is for other
/// boxes only.
struct TensorMapRecipe {
  int64_t tensor = 0;            ///< index into `Artifact::tensors`
  std::vector<int64_t> box = {}; ///< per axis, outermost first as in the tensor: elements, or their bytes
                                 ///< along the innermost axis where several share one
  Swizzle swizzle = Swizzle::none;
  int64_t limitedAxis = -1; ///< of the tensor, not the innermost; or -1
  int64_t before = 0;       ///< rows of the limited axis from the map's begin to the tensor's
  /// A map in im2col mode (`cuTensorMapEncodeIm2col`): a box is so many positions of the window, the
  /// outermost extent of `box`, at one of its taps. There is no limited axis.
  std::optional<TensorWindow> window = {};
};

/// - `tensorPointer`, .u64: base address of tensor `index`
/// - `tensorStride`, .u64 or .u32: stride in elements of `axis` of tensor `index`
/// - `dimension`, .u32 or .u64: value of dimension `index`
/// - `scalar`: the scalar `index`, in its own width
/// - `tensorMap`, .b8[128], 64-byte aligned: map `index` of the launch
/// - `tensorPointers`, .b8[8 maxRanks], 8-byte aligned: base addresses of symmetric tensor `index`, by rank
/// - `multicastPointer`, .u64: the address by which multimem instructions reach symmetric tensor `index` on
/// all ranks
/// - `tensorMaps`, .b8[128 maxRanks], 64-byte aligned: map `index` of the launch for each rank's tensor
#define TLC_PARAMETER_KINDS(X)                                                                               \
  X(tensorPointer)                                                                                           \
  X(tensorStride) X(dimension) X(scalar) X(tensorMap) X(tensorPointers) X(tensorMaps) X(multicastPointer)

/// One kernel parameter, in the order of the PTX entry's parameter list.
struct KernelParameter {
  TLC_ENUM(Kind, TLC_PARAMETER_KINDS)
  Kind kind = Kind::tensorPointer;
  int64_t index = 0;
  int64_t axis = 0;
  unsigned bytes = 0; ///< 4 or 8 of a stride or dimension; 0: those of the first type above
};

/// Warps of a block that do the same, as the source calls them.
struct WarpRole {
  std::string name;
  unsigned firstWarp = 0;
  unsigned warps = 0;
};

/// - `buffer`: `slots` tiles, each `slotBytes` after the one before
/// - `ring`: mbarriers of 8 bytes, "full" of each slot, then "empty" of each slot
/// - `barrier`: one mbarrier
#define TLC_SHARED_KINDS(X) X(buffer) X(ring) X(barrier)

/// What lies in a block's dynamic shared memory, as the source calls it.
struct SharedObject {
  TLC_ENUM(Kind, TLC_SHARED_KINDS)
  std::string name;
  Kind kind = Kind::buffer;
  unsigned offset = 0;
  unsigned slots = 1;
  unsigned slotBytes = 0; ///< 16 for a ring

  unsigned bytes() const { return slots * slotBytes; }
};

/// - `mbarrier`: a wait at one; its offset in dynamic shared memory is recorded
/// - `barrier`: a wait at a barrier of the block; its number is recorded
/// - `wait`: for anything else
/// - `loop`: an iteration begins; its position is recorded
#define TLC_PROFILE_KINDS(X) X(mbarrier) X(barrier) X(wait) X(loop)

/// A place where a profiled kernel records the time (runtime/artifact/Profile.h).
struct ProfileMark {
  TLC_ENUM(Kind, TLC_PROFILE_KINDS)
  Kind kind = Kind::wait;
  std::string awaited; ///< of a `wait`: "products", "bulk copies"
  std::string place;   ///< "file.cpp:12:3"; empty: not known
};

/// What reports call the parts of a launch. Nothing else depends on it.
struct LaunchNames {
  std::vector<WarpRole> roles = {}; ///< by first warp; warps outside all of them have no name
  std::vector<SharedObject> shared = {};
  std::vector<ProfileMark> marks = {}; ///< of a profiled kernel

  /// The role of a warp, or null.
  const WarpRole *roleOf(unsigned warp) const;
  /// "a[2]", "C.staging", "a.b.full[0]", "a.b.empty[3]" for an offset in dynamic shared memory; empty where
  /// nothing has a name.
  std::string nameOf(unsigned offset) const;
};

/// One kernel launch. If any grid extent evaluates to 0 nothing is launched.
struct Launch {
  std::string entry;
  std::array<HostExpr, 3> grid = {};   ///< in blocks
  unsigned threads = 0;                ///< per block
  unsigned threadsY = 1, threadsZ = 1; ///< of them, along these axes of the block
  std::array<unsigned, 3> cluster = {1, 1, 1};
  unsigned sharedBytes = 0; ///< dynamic shared memory
  /// The kernel waits for the launch before it (griddepcontrol) where it must, so that
  /// its prologue may run while that one drains.
  bool ordered = false;
  std::vector<TensorMapRecipe> tensorMaps = {};
  std::vector<KernelParameter> parameters = {};
  LaunchNames names = {};

  /// Threads along each axis.
  std::array<unsigned, 3> block() const { return {threads / (threadsY * threadsZ), threadsY, threadsZ}; }
};

/// An element of a tensor.
struct TensorPlace {
  int64_t tensor = 0;                  ///< index into `Artifact::tensors`
  std::optional<HostExpr> rank = {};   ///< whose, of a symmetric tensor
  std::vector<HostExpr> position = {}; ///< per axis, outermost first
};

/// The most axes along which a transfer copies a box.
inline constexpr size_t maxTransferAxes = 4;

/// Elements of a box, from its first one in a tensor to that in another; extents are of the last axes.
struct TransferCopy {
  TensorPlace from = {}, to = {};
  std::vector<HostExpr> extents = {};
};

/// What a transfer sets when its copies are complete: an element of i32.
struct TransferSignal {
  TensorPlace count = {};
  HostExpr value = {};
};

/// Copies by copy engines, between launches. Expressions may depend on the number of the round, as if it was
/// one more dimension after those of the artifact. It begins when the first `after` launches have ended, and
/// is enqueued before the others. From launch `until` on they begin when it has ended. Those between run
/// beside it, and wait for what it sets.
struct Transfer {
  std::string name;
  int64_t after = 0, until = 0;
  HostExpr rounds = {};
  std::vector<TransferCopy> copies = {};   ///< of a round
  std::optional<TransferSignal> sets = {}; ///< after the copies of each round
};

/// Base address and all outer strides of tensor `tensor` are multiples of
/// `bytes` (TMA demands 16, PTX ISA "Tensor copies").
struct AlignmentCondition {
  int64_t tensor = 0;
  int64_t bytes = 16;
};

#define TLC_REPORT_KINDS(X) X(print) X(check)

/// A place where kernels print or check; runtime/artifact/Reports.h has what they write.
struct ReportSite {
  TLC_ENUM(Kind, TLC_REPORT_KINDS)
  Kind kind = Kind::print;
  std::string text;                     ///< with "{}" for each value
  std::string place;                    ///< "file.cpp:12:3"
  std::vector<ElementType> values = {}; ///< of 32 or 64 bits
  unsigned axes = 0;                    ///< of the fragment whose elements it reports; 0: of none
};

struct Variant {
  std::string name; ///< "aligned", "general"
  std::vector<AlignmentCondition> conditions = {};
  std::vector<Launch> launches = {};
  std::string ptx = {};
  std::string cubin = {};               ///< machine code for the target, or empty; the emulator needs the PTX
  std::vector<ReportSite> reports = {}; ///< if there are any, the PTX has the variable `reportBufferName`
  std::vector<Transfer> transfers = {}; ///< in stream order
};

/// What the compiler chose and why not better; shown by `tlc --remarks`.
struct Remark {
  std::string id;       ///< e.g. "copy-without-tma"
  std::string location; ///< "file.cpp:12:3"
  std::string message;
};

struct Artifact {
  std::string name;
  std::string target; ///< a name of runtime/target, e.g. "sm_90a"
  std::vector<Dimension> dimensions = {};
  std::vector<TensorArgument> tensors = {}; ///< inputs and outputs in declaration order, then workspaces
  std::vector<ScalarArgument> scalars = {};
  std::vector<Variant> variants = {}; ///< tried in order; the last has no conditions
  std::vector<Remark> remarks = {};
  /// Version of the NVRTC that compiled functions in CUDA C++ of it; empty if it has none.
  std::string nvrtc = {};
};

/// Bytes of a parameter in the entry's parameter space, where it is aligned to
/// `parameterAlignment`.
unsigned parameterBytes(const Artifact &artifact, const KernelParameter &parameter);
unsigned parameterAlignment(const Artifact &artifact, const KernelParameter &parameter);

} // namespace tlc
