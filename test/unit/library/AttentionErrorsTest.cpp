// SPDX-License-Identifier: Apache-2.0
/// \file
/// What attention refuses, and what it says. All of it before anything is compiled but where noted.
#include "runtime/device/LaunchPlan.h"
#include "test/unit/library/AttentionCall.h"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <functional>
#include <limits>

using namespace tlc;
using namespace tlc::attention;
using namespace tlc::test;
using Catch::StartsWith;

namespace {

/// Addresses that nobody looks at.
void *const somewhere = reinterpret_cast<void *>(uintptr_t(1) << 20);

TensorView tensor(ElementType element, std::vector<int64_t> shape) {
  return contiguousView(somewhere, element, std::move(shape));
}
TensorView bf16(std::vector<int64_t> shape) { return tensor(ElementType::bf16, std::move(shape)); }
TensorView f32(std::vector<int64_t> shape) { return tensor(ElementType::f32, std::move(shape)); }
/// Memory of its own, for what is written.
TensorView apart(TensorView tensor, int64_t number) {
  tensor.data = static_cast<std::byte *>(somewhere) + (number << 20);
  return tensor;
}
TensorView i32(std::vector<int64_t> shape) { return tensor(ElementType::i32, std::move(shape)); }

struct Call {
  ForwardTensors tensors = {.q = bf16({2, 48, 4, 64}),
                            .k = bf16({2, 80, 2, 64}),
                            .v = bf16({2, 80, 2, 32}),
                            .o = apart(bf16({2, 48, 4, 32}), 1),
                            .lse = apart(f32({2, 4, 48}), 2)};
  ForwardOptions options = {};
  Workspace workspace = {};

  static Call packed() {
    Call call;
    call.tensors = {.q = bf16({96, 4, 64}),
                    .k = bf16({160, 2, 64}),
                    .v = bf16({160, 2, 64}),
                    .o = apart(bf16({96, 4, 64}), 1),
                    .lse = apart(f32({4, 96}), 2),
                    .queryLengths = i32({4}),
                    .keyLengths = i32({4})};
    call.options.lengths = Lengths::packed;
    return call;
  }
};

struct Fixture {
  CountingDevice device;
  ArtifactCache artifacts;
  Programs programs{device, artifacts};

  /// The message of a call that was changed so.
  std::string errorOf(Call call, const std::function<void(Call &)> &change) {
    change(call);
    Result<void> done = forward(programs, {}, call.tensors, call.workspace, call.options);
    REQUIRE_FALSE(done);
    CHECK(done.error().kind == ErrorKind::invalidArgument);
    CHECK(device.launches == 0);
    return done.error().message;
  }
  std::string errorOf(const std::function<void(Call &)> &change) { return errorOf(Call(), change); }
};

const std::string shapes =
    "; expected q[b, sq, h, d] of bf16, k[b, sk, hkv, d] of bf16, v[b, sk, hkv, dv] of bf16, "
    "o[b, sq, h, dv] of bf16, lse[b, h, sq] of f32";

} // namespace

TEST_CASE_METHOD(Fixture, "attention refuses types, ranks and extents by name", "[attention]") {
  CHECK(errorOf([](Call &c) { c.tensors.q.element = ElementType::f32; }) ==
        "argument 'q': expected element type f16, bf16 or e4m3, but got f32");
  CHECK(errorOf([](Call &c) { c.tensors.k.element = ElementType::f16; }) ==
        "argument 'k': expected element type bf16, but got f16" + shapes);
  CHECK(errorOf([](Call &c) { c.tensors.lse.element = ElementType::bf16; }) ==
        "argument 'lse': expected element type f32, but got bf16" + shapes);
  CHECK(errorOf([](Call &c) { c.tensors.q = bf16({48, 4, 64}); }) ==
        "argument 'q': expected rank 4, but got 3" + shapes);
  CHECK(errorOf([](Call &c) { c.tensors.lse = f32({2, 4, 48, 1}); }) ==
        "argument 'lse': expected rank 3, but got 4" + shapes);
  CHECK(
      errorOf([](Call &c) { c.tensors.k = bf16({3, 80, 2, 64}); }) ==
      "argument 'k' axis 0: expected extent 2 because dimension 'b' is 2 in argument 'q' axis 0, but got 3" +
          shapes);
  CHECK(errorOf([](Call &c) { c.tensors.k = bf16({2, 80, 2, 72}); }) ==
        "argument 'k' axis 3: expected extent 64 because dimension 'd' is 64 in argument 'q' axis 3, but got "
        "72" +
            shapes);
  CHECK(errorOf([](Call &c) { c.tensors.v = bf16({2, 81, 2, 32}); }) ==
        "argument 'v' axis 1: expected extent 80 because dimension 'sk' is 80 in argument 'k' axis 1, but "
        "got 81" +
            shapes);
  CHECK(errorOf([](Call &c) { c.tensors.v = bf16({2, 80, 4, 32}); }) ==
        "argument 'v' axis 2: expected extent 2 because dimension 'hkv' is 2 in argument 'k' axis 2, but got "
        "4" +
            shapes);
  CHECK(errorOf([](Call &c) { c.tensors.o = bf16({2, 48, 4, 64}); }) ==
        "argument 'o' axis 3: expected extent 32 because dimension 'dv' is 32 in argument 'v' axis 3, but "
        "got 64" +
            shapes);
  CHECK(
      errorOf([](Call &c) { c.tensors.o = bf16({2, 48, 2, 32}); }) ==
      "argument 'o' axis 2: expected extent 4 because dimension 'h' is 4 in argument 'q' axis 2, but got 2" +
          shapes);
  CHECK(errorOf([](Call &c) { c.tensors.lse = f32({2, 48, 4}); }) ==
        "argument 'lse' axis 1: expected extent 4 because dimension 'h' is 4 in argument 'q' axis 2, but got "
        "48" +
            shapes);
  CHECK_THAT(errorOf([](Call &c) { c.tensors.q.shape[1] = -1; }),
             StartsWith("argument 'q' axis 1: expected an extent from 0 to 2147483647, but got -1;"));
  CHECK_THAT(
      errorOf([](Call &c) { c.tensors.sink = f32({2}); }),
      StartsWith(
          "argument 'sink' axis 0: expected extent 4 because dimension 'h' is 4 in argument 'q' axis 2, "
          "but got 2;"));
  CHECK(device.loads == 0);
}

TEST_CASE_METHOD(Fixture, "attention refuses rows and heads that it cannot take", "[attention]") {
  auto rows = [](int64_t d, int64_t dv) {
    return [=](Call &c) {
      c.tensors.q = bf16({2, 48, 4, d});
      c.tensors.k = bf16({2, 80, 2, d});
      c.tensors.v = bf16({2, 80, 2, dv});
      c.tensors.o = apart(bf16({2, 48, 4, dv}), 1);
    };
  };
  auto notAllowed = [](std::string_view name, std::string_view allowed, int64_t value) {
    return fmt::format("expected parameter '{}' of kernel 'attention::forward' to be {}, but got '{}'", name,
                       allowed, value);
  };
  CHECK(errorOf(rows(584, 64)) == notAllowed("d", "8 to 576 in steps of 8", 584));
  CHECK(errorOf(rows(64, 60)) == notAllowed("dv", "8 to 512 in steps of 8, or auto", 60));
  CHECK(errorOf(rows(64, 520)) == notAllowed("dv", "8 to 512 in steps of 8, or auto", 520));
  CHECK(errorOf(rows(0, 64)) == notAllowed("d", "8 to 576 in steps of 8", 0));
  auto heads = [](int64_t hkv) {
    return [=](Call &c) {
      c.tensors.k = bf16({2, 80, hkv, 64});
      c.tensors.v = bf16({2, 80, hkv, 32});
    };
  };
  CHECK(errorOf(heads(3)) == "attention::forward: expected h to be a multiple of hkv because as many heads "
                             "of Q share each head of K "
                             "and V, but got h = 4 and hkv = 3");
  CHECK_THAT(errorOf(heads(0)), Catch::EndsWith("but got h = 4 and hkv = 0"));
  CHECK(device.loads == 0);
}

TEST_CASE_METHOD(Fixture, "attention refuses strides and addresses by name", "[attention]") {
  CHECK(errorOf([](Call &c) { c.tensors.k.strides.pop_back(); }) ==
        "argument 'k': expected 4 strides, but got 3");
  CHECK(errorOf([](Call &c) { c.tensors.v.strides = {5120, 64, 1, 2}; }) ==
        "argument 'v' axis 3: expected stride 1 because the innermost axis is contiguous, but got 2");
  CHECK(errorOf([](Call &c) { c.tensors.q.strides[1] = -256; }) ==
        "argument 'q' axis 1: expected a stride of at least 0, but got -256");
  CHECK(errorOf([](Call &c) { c.tensors.o.strides[1] = 96; }) ==
        "argument 'o' axis 1: expected a stride of at least 128 because elements that are written must not "
        "overlap, "
        "but got 96");
  CHECK(errorOf([](Call &c) { c.tensors.lse.strides = {192, 1, 4}; }) ==
        "argument 'lse' axis 2: expected stride 1 because the innermost axis is contiguous, but got 4");
  CHECK(errorOf([](Call &c) { c.tensors.q.data = nullptr; }) ==
        "argument 'q': expected the address of 49152 bytes, but got null");
  CHECK(errorOf([](Call &c) { c.tensors.o.data = static_cast<std::byte *>(somewhere) + 1; }) ==
        "argument 'o': expected an address that is a multiple of 2 because its elements are bf16, but got "
        "0x100001");
  CHECK(device.loads == 0);
}

TEST_CASE_METHOD(Fixture, "attention refuses options by name", "[attention]") {
  auto notAllowed = [](std::string_view name, std::string_view allowed, std::string_view value) {
    return fmt::format("expected parameter '{}' of kernel 'attention::forward' to be {}, but got '{}'", name,
                       allowed, value);
  };
  // The sentences are the registry's.
  CHECK(errorOf([](Call &c) { c.options.scale = 0; }) ==
        "attention::forward: expected a scale above 0 because all keys would weigh the same, but got 0");
  constexpr std::string_view number = "a number from 0 to 1024, or auto";
  CHECK(errorOf([](Call &c) { c.options.scale = std::numeric_limits<double>::quiet_NaN(); }) ==
        notAllowed("scale", number, "nan"));
  CHECK(errorOf([](Call &c) { c.options.scale = 1e6; }) == notAllowed("scale", number, "1000000"));
  CHECK(errorOf([](Call &c) { c.options.scale = -1; }) == notAllowed("scale", number, "-1"));
  for (auto [cap, text] : {std::pair(-1.0, "-1"), {1e6, "1000000"}})
    CHECK(errorOf([&](Call &c) { c.options.softCap = cap; }) == notAllowed("softcap", number, text));
  CHECK(errorOf([&](Call &c) { c.options.softCap = 1e-4; }) ==
        "attention::forward: expected a softcap of 0, which is none, or of at least 0.0009765625, but got "
        "0.0001");
  CHECK(errorOf([](Call &c) { c.options.mask.windowLeft = -3; }) ==
        notAllowed("window", "0 to 1073741824, or auto", "-3"));
  CHECK(errorOf([](Call &c) { c.options.mask.windowRight = (int64_t(1) << 30) + 1; }) ==
        notAllowed("window_right", "0 to 1073741824, or auto", "1073741825"));
  CHECK(errorOf([](Call &c) { c.options.mask.blockCausal = 0; }) ==
        notAllowed("block", "1 to 1073741824", "0"));
  CHECK(errorOf([](Call &c) { c.options.mask = {.causal = CausalAlignment::left, .blockCausal = 4}; }) ==
        "attention::forward: expected the block-causal mask alone, but got a causal mask or a window beside "
        "it");
  std::string halves =
      "attention::forward: expected as many queries as keys, an even number, because the block-causal mask "
      "is about a noisy and a clean half of one sequence, but each sequence has ";
  CHECK(errorOf([](Call &c) { c.options.mask.blockCausal = 4; }) == halves + "48 and 80");
  CHECK(errorOf([](Call &c) {
          c.options.mask.blockCausal = 4;
          c.tensors.q = c.tensors.k = bf16({2, 33, 2, 64});
          c.tensors.v = c.tensors.o = bf16({2, 33, 2, 32});
          c.tensors.lse = f32({2, 2, 33});
        }) == halves + "33 and 33");
  CHECK(device.loads == 0);
}

TEST_CASE_METHOD(Fixture, "attention refuses tensors of lengths by name", "[attention]") {
  CHECK(
      errorOf([](Call &c) { c.tensors.queryLengths = i32({2}); }) ==
      "argument 'queryLengths': expected none because option 'lengths' is uniform, but got one; say whether "
      "sequences are padded or packed");
  auto padded = [](std::optional<TensorView> queries, std::optional<TensorView> keys) {
    return [=](Call &c) {
      c.options.lengths = Lengths::padded;
      c.tensors.queryLengths = queries;
      c.tensors.keyLengths = keys;
    };
  };
  CHECK(errorOf(padded(i32({2}), {})) ==
        "argument 'keyLengths': expected the sequences' lengths, one i32 of each, "
        "because option 'lengths' is padded, but got none");
  CHECK_THAT(
      errorOf(padded(i32({3}), i32({2}))),
      StartsWith(
          "argument 'queryLengths' axis 0: expected extent 2 because dimension 'b' is 2 in argument 'q' "
          "axis 0, but got 3; expected q[b, sq, h, d] of bf16"));
  CHECK_THAT(errorOf(padded(tensor(ElementType::i64, {2}), i32({2}))),
             StartsWith("argument 'queryLengths': expected element type i32, but got i64; expected"));
  CHECK(errorOf(Call::packed(), [](Call &c) { c.tensors.queryLengths.reset(); }) ==
        "argument 'queryLengths': expected where the sequences begin, cumulative lengths of i32 from 0, one "
        "more than "
        "there are sequences, because option 'lengths' is packed, but got none");
  CHECK(errorOf(Call::packed(), [](Call &c) { c.tensors.keyLengths = i32({5}); }) ==
        "argument 'keyLengths' axis 0: expected extent 4 because dimension 'b + 1' is 4 in argument "
        "'queryLengths' "
        "axis 0, but got 5; expected q[sq, h, d] of bf16, k[sk, hkv, d] of bf16, v[sk, hkv, dv] of bf16, "
        "queryLengths[b + 1] of i32, keyLengths[b + 1] of i32, o[sq, h, dv] of bf16, lse[h, sq] of f32");
  CHECK(errorOf(Call::packed(), [](Call &c) { c.tensors.queryLengths = c.tensors.keyLengths = i32({0}); }) ==
        "argument 'queryLengths': expected at least 1 number, the begin of all, but got 0");
  CHECK(device.loads == 0);
}

TEST_CASE_METHOD(Fixture, "attention that insists on the explicit form says what it lacks", "[attention]") {
  auto insist = [](const std::function<void(Call &)> &change) {
    return [=](Call &c) {
      c.options.form = AttentionForm::explicitRoles;
      change(c);
    };
  };
  std::string begin =
                  "option 'form': expected arguments for the explicit form because it was requested, but ",
              end = "; leave 'form' out to use the plain form";
  CHECK(
      errorOf(insist([](Call &c) { c.tensors.k.data = static_cast<std::byte *>(somewhere) + 2; })) ==
      begin +
          "the address 0x100002 and outer strides [10240, 128, 64, 1] of argument 'k', of bf16, are not all "
          "multiples of 16 bytes" +
          end);
  CHECK(
      errorOf(insist([](Call &c) { c.tensors.q.strides = {12304, 257, 64, 1}; })) ==
      begin +
          "the address 0x100000 and outer strides [12304, 257, 64, 1] of argument 'q', of bf16, are not all "
          "multiples of 16 bytes" +
          end);
  CHECK(device.loads == 0);

  // The same without insisting.
  Call call;
  call.tensors.k.data = static_cast<std::byte *>(somewhere) + 2;
  Result<ForwardChoice> choice = chooseForm(programs, call.tensors, call.options);
  REQUIRE(bool(choice));
  CHECK(choice->form == AttentionForm::plain);
  CHECK_THAT(choice->why, StartsWith("the address 0x100002 and outer strides"));
  call.options.form = AttentionForm::plain;
  choice = chooseForm(programs, Call().tensors, call.options);
  REQUIRE(bool(choice));
  CHECK(choice->form == AttentionForm::plain);
  CHECK(choice->why == "option 'form' says so");
}

TEST_CASE_METHOD(Fixture, "attention refuses a workspace by its size and address", "[attention]") {
  Call call = Call::packed();
  call.tensors.q.data = nullptr; // its size is known without memory
  Result<size_t> bytes = workspaceSize(programs, call.tensors, call.options);
  REQUIRE(bool(bytes));
  REQUIRE(*bytes > 256);
  auto given = [](Workspace workspace) { return [=](Call &c) { c.workspace = workspace; }; };
  CHECK(
      errorOf(Call::packed(), given({})) ==
      "workspace: expected at least " + std::to_string(*bytes) +
          " bytes for these tensors and options, but got 0; attention::workspaceSize says how many it takes");
  CHECK_THAT(errorOf(Call::packed(), given({somewhere, *bytes - 1})),
             Catch::Contains("but got " + std::to_string(*bytes - 1)));
  CHECK(errorOf(Call::packed(), given({nullptr, *bytes})) ==
        "workspace: expected the address of " + std::to_string(*bytes) + " bytes, but got null");
  CHECK(errorOf(Call::packed(), given({static_cast<std::byte *>(somewhere) + 128, *bytes})) ==
        "workspace: expected an address that is a multiple of 256, as Device::allocate gives it, but got "
        "0x100080");
  CHECK(device.loads == 1);
}
