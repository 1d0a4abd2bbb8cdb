// SPDX-License-Identifier: Apache-2.0
/// \file
/// What an exchange takes beyond the driver's call, with an interpreter and a library of tensors that are
/// this test's.
#include "test/unit/libtlc/Caller.h"
#include "test/unit/libtlc/Interpreter.h"

#include <array>
#include <cstdlib>
#include <span>

using namespace tlc;
using namespace tlc::test;

namespace {

/// What the library has lent to launches.
struct Lent {
  dlpack::ManagedTensor memory = {};
  int count = 0, sum = 0;
  int64_t bytes = 0;
};
Lent lent;
uintptr_t lendsAt = 0x70000010;

dlpack::ExchangeApi library() {
  dlpack::ExchangeApi api = {};
  api.version = {1, 3};
  api.describe = [](void *object, dlpack::Tensor *tensor) {
    *tensor = static_cast<Object *>(object)->tensor;
    return unlocked == 0 ? 0 : -1;
  };
  api.currentStream = [](int32_t, int32_t, void **stream) {
    *stream = mainStream.handle;
    return 0;
  };
  api.allocate = [](dlpack::Tensor *prototype, dlpack::ManagedTensor **made, void *,
                    void (*)(void *, const char *, const char *)) {
    lent.bytes = *prototype->shape;
    lent.memory.tensor.data = address(lendsAt);
    lent.memory.deleter = [](dlpack::ManagedTensor *) { lent.count -= unlocked == 0 ? 1 : 0; };
    ++lent.count, ++lent.sum;
    *made = &lent.memory;
    return 0;
  };
  return api;
}

/// The tensors of a caller as objects: two that are given, and one that is made.
struct Objects : Caller {
  dlpack::ExchangeApi api = library();
  Object a{&tensorType}, b{&tensorType}, c{&tensorType};
  Object given{nullptr, {}, {&a, &_Py_NoneStruct, &b}}, made{nullptr, {}, {&c}},
      types{nullptr, {}, {&tensorType}};
  int32_t sources[3] = {0, 2, 3};
  tlc_exchange_options options = {sizeof(options), &api, &types, &given, &made, sources};

  Objects() {
    lent = {};
    const std::array<Object *, 3> all = {&a, &b, &c};
    for (size_t i = 0; i != 3; ++i)
      all[i]->tensor = {
          tensors[i].data, {dlpack::cuda, 0}, 2, {uint8_t(i == 2 ? 2 : 4), uint8_t(i == 2 ? 32 : 16), 1},
          shapes[i],       strides[i],        0};
  }
  tlc_exchange *create() const {
    return tlc_exchange_create(&own, tensors.data(), 3, scalars.data(), 1, &options);
  }
};

struct Exchange : Objects {
  tlc_exchange *exchange = create();
  Exchange() {
    NotingDevice::captures = true; // each launch has memory of its own
    INFO(tlc_last_error());
    REQUIRE(exchange);
    REQUIRE(launch() == TLC_OK); // prepares
    noted = {}, lent.sum = 0, locksGiven = 0;
  }
  Exchange(const Exchange &) = delete;
  ~Exchange() { tlc_exchange_release(exchange); }
  int launch() { return tlc_exchange_launch(exchange, &given, &made); }
};

} // namespace

TEST_CASE("an exchange launches again without an allocation of its own", "[libtlc][exchange]") {
  Exchange exchange;
  bool succeeded = true;
  {
    AllocationCount count;
    for (int i = 0; i < 3; ++i)
      succeeded = succeeded && exchange.launch() == TLC_OK;
  }
  CHECK(succeeded);
  CHECK(allocations == 0);
  CHECK(noted.launches == 6); // of two kernels
  CHECK(noted.pointerChecks == 0);
  CHECK(noted.stream == mainStream.handle);
  CHECK((lent.sum == 3 && lent.count == 0 && lent.bytes > 0));
  CHECK((locksGiven == 3 && unlocked == 0));
}

TEST_CASE("an exchange moves tensors to where objects are", "[libtlc][exchange]") {
  Exchange exchange;
  exchange.a.tensor.data = address(0x50000000 - 64);
  exchange.a.tensor.byte_offset = 64;
  exchange.c.tensor.data = address(0x60000000);
  lendsAt = 0x10000000;
  CHECK(exchange.launch() == TLC_OK);
  lendsAt = 0x70000010;
  CHECK(noted.replacedMaps == 1);
  CHECK(noted.encodedMaps == 0);
  CHECK(noted.pointerChecks == 3);
  CHECK(noted.mapAddress == 0x50000000);
  CHECK(noted.output == 0x60000000);
}

TEST_CASE("an exchange keeps memory for the next launch on a stream", "[libtlc][exchange]") {
  Exchange exchange;
  NotingDevice::captures = false;
  CHECK(exchange.launch() == TLC_OK);
  CHECK((lent.sum == 1 && lent.count == 1));
  bool succeeded = true;
  {
    AllocationCount count;
    for (int i = 0; i < 3; ++i)
      succeeded = succeeded && exchange.launch() == TLC_OK;
  }
  CHECK((succeeded && allocations == 0));
  CHECK((lent.sum == 1 && lent.count == 1 && unlocked == 0));
  NotingDevice::captures = true;
  CHECK(exchange.launch() == TLC_OK);
  CHECK((lent.sum == 2 && lent.count == 1));
  tlc_exchange_release(std::exchange(exchange.exchange, nullptr));
  CHECK(lent.count == 0);
}

TEST_CASE("objects of an exchange trade places, and overlap as those of tlc_launch may not",
          "[libtlc][exchange]") {
  Exchange exchange;
  std::swap(exchange.a.tensor.data, exchange.c.tensor.data);
  for (int i = 0; i < 2; ++i)
    CHECK(exchange.launch() == TLC_OK);
  CHECK(noted.launches == 4);
  CHECK(noted.output == 0x10000000);
  exchange.c.tensor.data = exchange.b.tensor.data;
  CHECK(exchange.launch() == TLC_INVALID_ARGUMENT);
  CHECK_THAT(tlc_last_error(), Catch::Contains("expected memory of its own"));
  CHECK(noted.launches == 4);
  exchange.c.tensor.data = address(0x60000000);
  CHECK(exchange.launch() == TLC_OK);
  CHECK(noted.output == 0x60000000);
  CHECK((lent.count == 0 && unlocked == 0));
}

TEST_CASE("an exchange launches nothing on objects of another kind", "[libtlc][exchange]") {
  Exchange exchange;
  auto isRefused = [&](auto change) {
    const Object a = exchange.a, c = exchange.c, given = exchange.given;
    change();
    const int found = exchange.launch();
    exchange.a = a, exchange.c = c, exchange.given = given;
    return found == -1;
  };
  int64_t shape[] = {200, 64}, strides[] = {256, 1};
  CHECK(isRefused([&] { exchange.a.type = &otherType; }));
  CHECK(isRefused([&] { exchange.a.tensor.device.id = 1; }));
  CHECK(isRefused([&] { exchange.a.tensor.device.type = 1; }));
  CHECK(isRefused([&] { exchange.a.tensor.dtype.code = 2; }));
  CHECK(isRefused([&] { exchange.a.tensor.dtype.lanes = 2; }));
  CHECK(isRefused([&] { exchange.a.tensor.ndim = 1; }));
  CHECK(isRefused([&] { exchange.a.tensor.shape = shape; }));
  CHECK(isRefused([&] { exchange.a.tensor.strides = strides; }));
  CHECK(isRefused([&] { exchange.a.tensor.byte_offset = 8; }));
  CHECK(isRefused([&] { exchange.c.tensor.strides = strides; }));
  CHECK(isRefused([&] { exchange.given.items[1] = &exchange.b; }));
  CHECK(isRefused([&] { exchange.given.items[2] = &_Py_NoneStruct; }));
  CHECK(isRefused([&] { exchange.given.items.pop_back(); }));
  CHECK(noted.launches == 0);
  exchange.a.tensor.strides = nullptr; // contiguous
  CHECK(exchange.launch() == TLC_OK);
}

TEST_CASE("a function of Python makes results, and launches", "[libtlc][exchange]") {
  Exchange exchange;
  Object no{&otherType}, yes{&otherType}, mode{}, tracked{}, maker{}, note{}, refused{};
  Object *inMode = &_Py_NoneStruct, *tracks = &_Py_NoneStruct, *result = &exchange.c;
  std::vector<Object *> likes, notes;
  int refusals = 0;
  mode.call = [&](Object *) { return inMode; };
  tracked.call = [&](Object *) { return tracks; };
  maker.call = [&](Object *like) { return likes.push_back(like), result; };
  note.call = [&](Object *written) { return notes.push_back(written), &_Py_NoneStruct; };
  refused.call = [&](Object *) -> Object * { return ++refusals, nullptr; };
  exchange.a.attribute = exchange.b.attribute = &_Py_NoneStruct;
  Object makers{nullptr, {}, {&maker}}, modes{nullptr, {}, {&mode}};
  const int32_t like = 2, written = 0;
  tlc_exchange_function_options options = {sizeof(options), &makers, &like,    &modes, &tracked, &note,
                                           &refused,        &note,   &written, 1,      nullptr};
  auto *function = static_cast<Object *>(tlc_exchange_function(exchange.exchange, &options));
  REQUIRE(function);
  auto isNothing = [&] {
    const size_t launches = noted.launches;
    return function->call(&exchange.given) == &_Py_NoneStruct && noted.launches == launches;
  };
  Object *made = function->call(&exchange.given);
  REQUIRE(made);
  CHECK(made->items == std::vector<Object *>{&exchange.c});
  CHECK((likes == std::vector<Object *>{&exchange.b} && notes == std::vector<Object *>{&exchange.a}));
  CHECK((noted.launches == 2 && unlocked == 0 && lent.count == 0));
  inMode = &yes;
  CHECK(isNothing());
  inMode = nullptr; // it fails
  CHECK(isNothing());
  inMode = &_Py_NoneStruct, tracks = &yes;
  CHECK(function->call(&exchange.given) != &_Py_NoneStruct);
  exchange.b.attribute = &yes;
  CHECK(isNothing());
  tracks = &_Py_NoneStruct;
  CHECK(function->call(&exchange.given) != &_Py_NoneStruct);
  CHECK((likes.size() == 3 && notes.size() == 3));
  result = nullptr;
  CHECK(isNothing());
  result = &exchange.a; // of another type of elements
  CHECK(isNothing());
  result = &exchange.c;
  exchange.c.tensor.data = exchange.b.tensor.data;
  CHECK(function->call(&exchange.given) == nullptr);
  CHECK(refusals == 1);
  CHECK_THAT(tlc_last_error(), Catch::Contains("expected memory of its own"));
  CHECK(notes.size() == 3);
}

TEST_CASE("what launches nothing makes no function of Python", "[libtlc][exchange]") {
  Exchange exchange;
  Object maker{}, refused{};
  Object makers{nullptr, {}, {&maker}}, none{};
  const int32_t like = 2, written = 3;
  tlc_exchange_function_options options = {sizeof(options), &makers, &like,   nullptr, nullptr, nullptr,
                                           &refused,        nullptr, nullptr, 0,       nullptr};
  auto error = [&](tlc_exchange *of, auto change) {
    tlc_exchange_function_options other = options;
    change(other);
    CHECK_FALSE(tlc_exchange_function(of, &other));
    return std::string(tlc_last_error());
  };
  auto same = [](auto &) {};
  CHECK_THAT(error(nullptr, same), Catch::Contains("expected a launch, but got a null pointer"));
  CHECK_THAT(error(exchange.exchange, [](auto &other) { other.size = 8; }),
             Catch::Contains("expected options of"));
  CHECK_THAT(error(exchange.exchange, [](auto &other) { other.refused = nullptr; }),
             Catch::Contains("expected a function that raises errors"));
  CHECK_THAT(error(exchange.exchange, [&](auto &other) { other.makers = &none; }),
             Catch::Contains("expected what makes each object"));
  CHECK_THAT(
      error(exchange.exchange, [&](auto &other) { other.written = &written, other.written_count = 1; }),
      Catch::Contains("expected what makes each object"));
  CHECK_THAT(
      error(exchange.exchange,
            [&](auto &other) { other.note = &maker, other.written = &written, other.written_count = 1; }),
      Catch::Contains("expected numbers of 3 objects, but got 3"));
  CHECK(tlc_exchange_function(exchange.exchange, &options));
}

TEST_CASE("what is no launch of these objects makes no exchange", "[libtlc][exchange]") {
  auto error = [](const Objects &objects) {
    CHECK_FALSE(objects.create());
    return std::string(tlc_last_error());
  };
  Objects other;
  other.a.tensor.data = address(0x50000000);
  CHECK_THAT(error(other), Catch::Contains("tensor 0: expected the address of object 0"));
  Objects typed;
  typed.b.type = &otherType;
  CHECK_THAT(error(typed), Catch::Contains("but object 2 is none"));
  Objects old;
  old.api.version = {2, 0};
  CHECK_THAT(error(old), Catch::Contains("exchange API of major version 1"));
  const dlpack::ExchangeApi next = library();
  old.api.previous = &next;
  tlc_exchange *made = old.create();
  CHECK(made);
  tlc_exchange_release(made);
}
