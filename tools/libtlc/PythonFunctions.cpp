// SPDX-License-Identifier: Apache-2.0
/// \file
/// Launches as functions of Python, which it calls as those that are built in.
#include "tools/libtlc/ExchangeLaunch.h"
#include "tools/libtlc/PythonApi.h"

#include <algorithm>
#include <fmt/format.h>

using namespace tlc;
using calls::Python;

namespace {

Error invalid(std::string message) { return {ErrorKind::invalidArgument, std::move(message)}; }

/// Releases what a call has returned.
class Owned {
public:
  Owned(const Python &python, void *object) : python(python), object(object) {}
  Owned(const Owned &) = delete;
  ~Owned() {
    if (object)
      python.release(object);
  }
  explicit operator bool() const { return object != nullptr; }
  void *get() const { return object; }
  void *release() { return std::exchange(object, nullptr); }

private:
  const Python &python;
  void *object;
};

std::vector<void *> itemsOf(const Python &python, void *tuple) {
  std::vector<void *> items;
  for (ptrdiff_t i = 0, count = tuple ? python.sizeOfTuple(tuple) : 0; i < count; ++i)
    items.push_back(python.itemOfTuple(tuple, i));
  return items;
}

void *newNone(const Python &python) {
  python.retain(python.none);
  return python.none;
}

/// After a launch that failed: what the caller gave raises its error.
void *raised(const Python &python, void *refused) {
  const Owned result(python, python.call(refused));
  return result ? newNone(python) : nullptr;
}

/// The method has to live as long as the function.
Result<void *> newFunction(calls::Method &method, void *self, void *owner) {
  const Python &python = *Python::find();
  const Owned address(python, python.ofAddress(self));
  void *function = address ? python.newFunction(&method, address.get(), owner) : nullptr;
  if (!function)
    return Error{ErrorKind::environment, "expected a function of Python, but it makes none"};
  return function;
}

template <class Options> Result<void> checkOptions(const void *launch, const Options *options) {
  if (!launch)
    return invalid("expected a launch, but got a null pointer");
  if (!options || options->size != sizeof(Options))
    return invalid(fmt::format("expected options of {} bytes, as version {} of the interface has them",
                               sizeof(Options), TLC_INTERFACE_VERSION));
  if (!Python::find())
    return Error{ErrorKind::environment, "expected an interpreter of Python in this process, but found none"};
  if (!options->refused)
    return invalid("expected a function that raises errors, but got a null pointer");
  return {};
}

} // namespace

Result<void> tlc_exchange::setCaller(const tlc_exchange_function_options &options) {
  const Python &python = *Python::find();
  caller = {};
  caller.makers = itemsOf(python, options.makers), caller.modes = itemsOf(python, options.modes);
  caller.tracked = options.tracked, caller.attribute = options.attribute;
  caller.refused = options.refused, caller.note = options.note;
  if (caller.makers.size() != objects.size() - givenCount || options.written_count < 0 ||
      (options.written_count > 0 && (!options.written || !options.note)) ||
      (!caller.makers.empty() && !options.like) || (options.tracked && !options.attribute))
    return invalid("expected what makes each object, and what is told of written ones");
  caller.like.assign(options.like, options.like + caller.makers.size());
  caller.written.assign(options.written, options.written + options.written_count);
  auto isGiven = [&](int32_t number) { return number >= 0 && static_cast<size_t>(number) < givenCount; };
  for (int32_t number : caller.like)
    if (number != -1 && !isGiven(number))
      return invalid(fmt::format("expected numbers of {} objects, but got {}", givenCount, number));
  for (int32_t number : caller.written)
    if (!isGiven(number))
      return invalid(fmt::format("expected numbers of {} objects, but got {}", givenCount, number));
  return {};
}

bool tlc_exchange::isInMode() const {
  const Python &python = *Python::find();
  for (void *function : caller.modes) {
    const Owned result(python, python.call(function));
    if (!result || python.isTrue(result.get()) != 0)
      return true;
  }
  return false;
}

bool tlc_exchange::isTracked(void *given) const {
  const Python &python = *Python::find();
  if (!caller.tracked)
    return false;
  const Owned tracked(python, python.call(caller.tracked));
  if (!tracked)
    return true;
  if (python.isTrue(tracked.get()) == 0)
    return false;
  for (size_t i = 0; i != givenCount; ++i) {
    if (objects[i].isNone)
      continue;
    const Owned found(
        python, python.attribute(python.itemOfTuple(given, static_cast<ptrdiff_t>(i)), caller.attribute));
    if (!found || python.isTrue(found.get()) != 0)
      return true;
  }
  return false;
}

void *tlc_exchange::make(void *given) const {
  const Python &python = *Python::find();
  const size_t count = caller.makers.size();
  Owned made(python, python.newTuple(static_cast<ptrdiff_t>(count)));
  for (size_t i = 0; made && i != count; ++i) {
    const int32_t like = caller.like[i];
    void *one = like < 0 ? python.call(caller.makers[i])
                         : python.callWith(caller.makers[i], python.itemOfTuple(given, like));
    if (!one || python.setItem(made.get(), static_cast<ptrdiff_t>(i), one) != 0)
      return nullptr;
  }
  return made.release();
}

void *tlc_exchange::call(void *given, int (*launch)(const tlc_exchange &, const Addresses &)) const {
  const Python &python = *Python::find();
  // What a library of tensors refuses here, the usual way to a launch says.
  auto isNone = [&] {
    python.clearError();
    return newNone(python);
  };
  Addresses read = {};
  if (isInMode() || !readGiven(given, read) || isTracked(given))
    return isNone();
  Owned made(python, make(given));
  if (!made || !readMade(made.get(), read))
    return isNone();
  const int status = launch(*this, read);
  if (status < 0)
    return isNone();
  if (status > 0)
    return raised(python, caller.refused);
  for (int32_t number : caller.written)
    if (!Owned(python, python.callWith(caller.note, python.itemOfTuple(given, number))))
      return nullptr;
  return made.release();
}

Result<void *> calls::functionOf(tlc_exchange *exchange, const tlc_exchange_function_options *options,
                                 void *(*call)(void *, void *)) {
  if (Result<void> valid = checkOptions(exchange, options); !valid)
    return valid.error();
  if (Result<void> set = exchange->setCaller(*options); !set)
    return set.error();
  static Method method = {"launch", call, oneArgument,
                          "Launches again on a tuple of tensors like the earlier ones."};
  return newFunction(method, exchange, options->owner);
}

Result<void *> calls::functionOf(tlc_bound *bound, const tlc_bound_function_options *options,
                                 void *(*call)(void *, void *)) {
  if (Result<void> valid = checkOptions(bound, options); !valid)
    return valid.error();
  bound->function = {options->api, options->refused, itemsOf(*Python::find(), options->after)};
  static Method method = {"launch", call, noArguments, "Launches again."};
  return newFunction(method, bound, options->owner);
}

void *calls::addressOf(void *address) { return Python::find()->toAddress(address); }

void *calls::resultOf(const tlc_bound &bound, int status) {
  const Python &python = *Python::find();
  if (status != TLC_OK)
    return python.error() ? nullptr : raised(python, bound.function.refused);
  for (void *note : bound.function.after)
    if (!Owned(python, python.call(note)))
      return nullptr;
  return newNone(python);
}
