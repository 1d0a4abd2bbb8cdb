// SPDX-License-Identifier: Apache-2.0
/// \file
/// The recording that handles belong to: where operations go, what was declared,
/// what was wrong. One per program being traced; a thread knows only which
/// one of its programs is being traced innermost.
///
/// Operations are verified as they are made, so that a mistake is reported
/// where the user made it; then the operation is dropped and its result poisoned.
#pragma once

#include "compiler/dsl/Module.h"
#include "compiler/dsl/Program.h"
#include "dialects/tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/StringMap.h"

#pragma GCC visibility push(hidden) // not for those who link libtlc
namespace tlc::dsl::inline v1 {

Position positionOf(mlir::Location location);
/// The user's name of an element type.
std::string textOf(mlir::Type type);

class Trace : public std::enable_shared_from_this<Trace> {
public:
  Trace(std::string_view name, TraceOptions options, Loc loc);

  /// Completes the module; what is done with handles afterwards goes nowhere. Null if there were errors.
  std::unique_ptr<ProgramModule> finish();
  /// Each place that made a mistake several times has it once.
  std::vector<Diagnostic> takeDiagnostics();

  /// The innermost program that this thread is tracing, or null.
  static Trace *current();
  /// Makes a trace the current one as long as it lives.
  class Current {
  public:
    explicit Current(Trace &trace);
    ~Current();
    Current(const Current &) = delete;
    Current &operator=(const Current &) = delete;

  private:
    Trace *enclosing;
  };

  //===--------------------------------------------------------------------===//
  // Places and mistakes
  //===--------------------------------------------------------------------===//

  mlir::Location at(Loc loc);
  bool hasErrors() const { return !diagnostics.empty(); }
  /// Of the last operation.
  Loc latestPlace() const { return latest; }
  /// Records an error; later notes may be attached to what is returned.
  Diagnostic &error(Loc loc, const llvm::Twine &message);
  /// Notes where a value was declared, if it has a name.
  void noteDeclaration(Diagnostic &diagnostic, mlir::Value value);
  /// `'acc' (128x64 f32)`, or without the name.
  std::string describe(mlir::Value value);

  //===--------------------------------------------------------------------===//
  // Handles and values
  //===--------------------------------------------------------------------===//

  /// Whether this is the current trace; if another is, says there that its own Scope is to be used.
  bool checkCurrent(Loc loc);
  /// Whether a handle of `owner` was set, and in this program; says what is wrong otherwise.
  bool checkOwner(const Trace *owner, llvm::StringRef what, Loc loc);
  /// The value of a handle, or null: silently if it is poisoned, with an
  /// error if it was never set, is of another program, or cannot be seen here.
  mlir::Value use(const detail::Ref &ref, llvm::StringRef what, Loc loc);
  /// The value of an index, a constant if need be.
  mlir::Value use(const Index &index, llvm::StringRef what, Loc loc);
  /// As above, for one position and not one per element.
  mlir::Value useUniform(const Index &index, llvm::StringRef what, Loc loc);
  mlir::Value read(const detail::Ref &variable, llvm::StringRef what, Loc loc);
  /// The value of a handle as long as its program is being traced, or null, silently.
  static mlir::Value peek(const detail::Ref &ref);

  template <class H> H make(mlir::Value value) {
    return H(detail::Ref{shared_from_this(), value ? value.getAsOpaquePointer() : nullptr});
  }
  template <class H> H poison() { return H(detail::Ref{shared_from_this(), nullptr}); }

  //===--------------------------------------------------------------------===//
  // Making operations
  //===--------------------------------------------------------------------===//

  /// The operation, or its result if it has exactly one; null if it does not verify or may not stand here.
  template <class Op, class... Args> auto create(Loc loc, Args &&...args) {
    auto op = Op::create(builder, at(loc), std::forward<Args>(args)...);
    bool accepted = accept(op, loc);
    if constexpr (Op::template hasTrait<mlir::OpTrait::OneResult>())
      return accepted ? op->getResult(0) : mlir::Value();
    else
      return accepted ? op : Op();
  }
  /// Runs `body` with operations going to the end of `block`, before its terminator.
  void inside(mlir::Block *block, llvm::function_ref<void()> body);

  mlir::Type typeOf(ElementType element);
  /// A number as an attribute of that element type, or null with an error.
  mlir::TypedAttr numberAttr(const Constant &number, mlir::Type element, Loc loc);
  mlir::Value number(const Constant &number, mlir::Type element, Loc loc);
  mlir::Value index(int64_t value, Loc loc);
  /// A fragment of that type with the number everywhere, or null.
  mlir::Value filled(const Scalar &number, mlir::RankedTensorType type, Loc loc);
  mlir::Value splat(mlir::Value number, llvm::ArrayRef<int64_t> shape, Loc loc);
  mlir::Value broadcast(mlir::Value fragment, llvm::ArrayRef<int64_t> shape, Loc loc);

  /// Whether extents make a tile; says what is wrong otherwise.
  bool checkExtents(llvm::StringRef what, llvm::ArrayRef<int64_t> extents, Loc loc);
  /// Whether memory can have the extents: elements that share a byte lie along the last axis.
  bool checkPacking(llvm::StringRef what, llvm::ArrayRef<int64_t> extents, mlir::Type element, Loc loc);
  /// Whether operations go to the kernel itself; says that `call` must stand there otherwise.
  bool checkTopLevel(llvm::StringRef call, Loc loc);
  /// Whether a fragment of that type fits the registers of a block.
  bool checkFragment(llvm::ArrayRef<int64_t> extents, mlir::Type element, Loc loc);

  //===--------------------------------------------------------------------===//
  // Arguments and kernels
  //===--------------------------------------------------------------------===//

  /// Null if the name is taken or no name, or it is too late.
  mlir::BlockArgument addArgument(llvm::StringRef name, mlir::Type type, mlir::Attribute argument, Loc loc);
  /// Of a name that a user cannot give.
  mlir::BlockArgument addClaimedArgument(llvm::StringRef name, mlir::Type type, mlir::Attribute argument,
                                         Loc loc);
  /// The dimension attribute of an argument, or null.
  program::DimensionAttr dimensionOf(mlir::Value value);
  /// Number `number` of them.
  program::DimensionAttr dimension(int64_t number);
  /// The one that the host computes so; null if there is none.
  mlir::BlockArgument computedDimension(program::HostExprAttr computed);
  /// The one that the launch itself gives; null if there is none.
  mlir::BlockArgument dimensionOfLaunch(program::DimensionSource source);
  /// The tensor attribute of an argument of the current kernel, or null.
  program::TensorAttr tensorOf(mlir::Value value);
  std::optional<int64_t> fixedValue(llvm::StringRef dimension);
  void launch(llvm::StringRef name, const Body &body, Loc loc);
  void transfer(llvm::StringRef name, const Index &rounds, const TransferBody &body, Loc loc);
  /// What the body of a transfer asks for. Operands are slices of one element.
  void addCopy(mlir::Value from, mlir::Value to, llvm::ArrayRef<mlir::Value> extents, Loc loc);
  void setCount(mlir::Value count, mlir::Value value, Loc loc);
  /// Whether the body of a transfer is traced; says that `call` belongs there otherwise.
  bool checkTransfer(llvm::StringRef call, Loc loc);
  /// The kernel that operations go to now.
  tile::KernelOp kernel() { return currentKernel; }
  /// A number for one more hardware barrier of this kernel.
  int64_t nextNamedBarrier() { return ++namedBarriers; }

private:
  std::shared_ptr<mlir::MLIRContext> context;

public:
  mlir::OpBuilder builder;

private:
  tile::KernelOp createKernel(llvm::StringRef name, mlir::Location loc);
  bool accept(mlir::Operation *op, Loc loc);
  bool mayStandHere(mlir::Operation *op, Loc loc);
  void record(mlir::Diagnostic &diagnostic);
  bool checkName(llvm::StringRef what, llvm::StringRef name, Loc loc);
  /// As above, and no argument or launch has the name yet.
  bool claimName(llvm::StringRef what, llvm::StringRef name, Loc loc);
  void startModule();
  void setSignature(tile::KernelOp kernel);
  /// Whether what was declared before the first launch or transfer may be repeated in each.
  bool checkOutside(Loc loc);
  /// A kernel with the arguments and operations of `outer`, to which operations go in `body`.
  tile::KernelOp traceKernel(llvm::StringRef kernelName, llvm::function_ref<void(tile::KernelOp)> body,
                             Loc loc);
  program::HostExprAttr hostExpression(mlir::Value value, llvm::StringRef what, Loc loc);
  program::PlaceAttr placeOf(mlir::Value slice, Loc loc);
  /// The number of an argument of `kernel` among its tensors; nothing for another value.
  std::optional<int64_t> tensorNumber(mlir::Value tensor, tile::KernelOp kernel) const;
  void addTransfers();
  void checkFixedDimensions();
  void checkDimensionsAreGiven();

  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string name;
  TraceOptions options;
  Loc began, latest;
  bool finished = false;
  std::vector<Diagnostic> diagnostics;
  std::optional<mlir::ScopedDiagnosticHandler> handler;

  /// What is declared outside launches; the only kernel if there are none.
  tile::KernelOp outer, currentKernel;
  std::vector<tile::KernelOp> launches;
  mlir::IRMapping ofLaunch; ///< from values of `outer` to those of the current launch
  llvm::SmallVector<mlir::Attribute> arguments;
  llvm::StringMap<Loc> names; ///< of arguments, launches and transfers
  int64_t namedBarriers = 0;

  struct TracedTransfer {
    std::string name;
    Loc loc;
    int64_t after = 0; ///< so many launches
    program::HostExprAttr rounds = {}, value = {};
    llvm::SmallVector<program::TransferCopyAttr> copies = {};
    program::PlaceAttr sets = {};
    mlir::OwningOpRef<tile::KernelOp> body = {}; ///< of no module; handles refer to its values
  };
  std::vector<TracedTransfer> transfers;
  TracedTransfer *currentTransfer = nullptr;
};

/// Where an operation on handles goes: to the current trace, whichever program they are of; without one, to
/// the first among them. Null if there is none, either.
template <class... Refs> Trace *traceOf(const Refs &...refs) {
  Trace *trace = Trace::current();
  ((trace = trace ? trace : refs.trace.get()), ...);
  return trace;
}

} // namespace tlc::dsl::inline v1
#pragma GCC visibility pop
