// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reports as records in the module's buffer. No call: ptxas would wait for every wgmma before one.
#include "runtime/artifact/Reports.h"

#include "compiler/lowering/SimtToNvvm/Patterns.h"

using namespace mlir;
using namespace tlc;
using namespace tlc::simt;

namespace {

constexpr size_t wordsPerVector = 4;
using Words = SmallVector<Value>;

Value offsetBy(ImplicitLocOpBuilder &b, Value address, size_t bytes) {
  return LLVM::GEPOp::create(b, address.getType(), b.getI8Type(), address,
                             ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}

struct LowerReport : OpConversionPattern<ReportOp> {
  LowerReport(const TypeConverter &converter, MLIRContext *context, LLVM::GlobalOp buffer,
              llvm::SetVector<program::ReportAttr> &sites)
      : OpConversionPattern(converter, context), buffer(buffer), sites(sites) {}

  LogicalResult matchAndRewrite(ReportOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value start = LLVM::AddressOfOp::create(b, buffer);
    Value place = addTo(b, start, offsetof(ReportBufferHeader, records), constantI32(b, b.getLoc(), 1));
    Value capacity = constantI32(b, b.getLoc(), reportCapacity);
    Value isRoom = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ult, place, capacity);
    if (op.getSite().getKind() == program::ReportKind::check) {
      Value isLost = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::uge, place, capacity);
      addTo(b, start, offsetof(ReportBufferHeader, lostChecks),
            LLVM::ZExtOp::create(b, b.getI32Type(), isLost));
    }
    Value record = recordAt(b, start, place);
    for (auto [i, word] : llvm::enumerate(vectorsOf(b, wordsOf(b, op, adaptor)))) {
      Value address = offsetBy(b, record, i * wordsPerVector * sizeof(uint32_t));
      StoreOp::create(b, word, address, isRoom, Value());
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// The word of the header as it was before.
  static Value addTo(ImplicitLocOpBuilder &b, Value start, size_t word, Value number) {
    return LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, offsetBy(b, start, word), number,
                                     LLVM::AtomicOrdering::monotonic, "device");
  }

  static Value recordAt(ImplicitLocOpBuilder &b, Value start, Value place) {
    Type i64 = b.getI64Type();
    Value size = LLVM::ConstantOp::create(b, b.getI64IntegerAttr(sizeof(ReportRecord)));
    Value offset = LLVM::MulOp::create(b, LLVM::ZExtOp::create(b, i64, place), size);
    Value first = offsetBy(b, start, sizeof(ReportBufferHeader));
    return LLVM::GEPOp::create(b, first.getType(), b.getI8Type(), first, ArrayRef<LLVM::GEPArg>{offset});
  }

  /// The words of a ReportRecord, up to its last value.
  Words wordsOf(ImplicitLocOpBuilder &b, ReportOp op, OpAdaptor adaptor) const {
    sites.insert(op.getSite());
    auto site = llvm::find(sites, op.getSite()) - sites.begin();
    Type i32 = b.getI32Type();
    Value zero = constantI32(b, b.getLoc(), 0);
    Words words = {constantI32(b, b.getLoc(), int32_t(site)), NVVM::ThreadIdXOp::create(b, i32),
                   NVVM::BlockIdXOp::create(b, i32), NVVM::BlockIdYOp::create(b, i32),
                   NVVM::BlockIdZOp::create(b, i32)};
    llvm::append_range(words, adaptor.getPosition());
    words.resize(offsetof(ReportRecord, values) / sizeof(uint32_t), zero);
    for (Value value : adaptor.getValues()) {
      llvm::append_range(words, toWords(b, b.getLoc(), value));
      words.resize(llvm::alignTo(words.size(), sizeof(uint64_t) / sizeof(uint32_t)), zero);
    }
    return words;
  }

  static SmallVector<Value> vectorsOf(ImplicitLocOpBuilder &b, Words words) {
    words.resize(llvm::alignTo(words.size(), wordsPerVector), constantI32(b, b.getLoc(), 0));
    SmallVector<Value> vectors;
    auto type = VectorType::get(int64_t(wordsPerVector), b.getI32Type());
    for (size_t i = 0; i < words.size(); i += wordsPerVector)
      vectors.push_back(pack(b, b.getLoc(), type, ArrayRef(words).slice(i, wordsPerVector)));
    return vectors;
  }

  mutable LLVM::GlobalOp buffer;
  llvm::SetVector<program::ReportAttr> &sites;
};

Value endsWaitsOf(ImplicitLocOpBuilder &b, LLVM::GlobalOp buffer) {
  return offsetBy(b, LLVM::AddressOfOp::create(b, buffer), offsetof(ReportBufferHeader, endsWaits));
}

struct LowerEndWaits : OpConversionPattern<EndWaitsOp> {
  LowerEndWaits(const TypeConverter &converter, MLIRContext *context, LLVM::GlobalOp buffer)
      : OpConversionPattern(converter, context), buffer(buffer) {}

  LogicalResult matchAndRewrite(EndWaitsOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    LLVM::StoreOp::create(b, constantI32(b, b.getLoc(), 1), endsWaitsOf(b, buffer),
                          /*alignment=*/sizeof(uint32_t), /*isVolatile=*/false, /*isNonTemporal=*/false,
                          /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic, "device");
    rewriter.eraseOp(op);
    return success();
  }

  mutable LLVM::GlobalOp buffer;
};

struct LowerWaitsEnd : OpConversionPattern<WaitsEndOp> {
  LowerWaitsEnd(const TypeConverter &converter, MLIRContext *context, LLVM::GlobalOp buffer)
      : OpConversionPattern(converter, context), buffer(buffer) {}

  LogicalResult matchAndRewrite(WaitsEndOp op, OpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value word = LLVM::LoadOp::create(b, b.getI32Type(), endsWaitsOf(b, buffer),
                                      /*alignment=*/sizeof(uint32_t), /*isVolatile=*/false,
                                      /*isNonTemporal=*/false, /*isInvariant=*/false,
                                      /*isInvariantGroup=*/false, LLVM::AtomicOrdering::monotonic, "device");
    rewriter.replaceOpWithNewOp<LLVM::ICmpOp>(op, LLVM::ICmpPredicate::ne, word,
                                              constantI32(b, b.getLoc(), 0));
    return success();
  }

  mutable LLVM::GlobalOp buffer;
};

} // namespace

void tlc::simt::populateReportPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                       LLVM::GlobalOp buffer, llvm::SetVector<program::ReportAttr> &sites) {
  patterns.add<LowerReport>(converter, patterns.getContext(), buffer, sites);
  patterns.add<LowerEndWaits, LowerWaitsEnd>(converter, patterns.getContext(), buffer);
}
