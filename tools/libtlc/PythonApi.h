// SPDX-License-Identifier: Apache-2.0
/// \file
/// The part of Python's C API that launches on its objects take. It is looked up by name: no headers of
/// Python, whose version is the caller's.
#pragma once

#include <cstddef>
#include <dlfcn.h>
#include <optional>

namespace tlc::calls {

/// PyMethodDef.
struct Method {
  const char *name;
  void *(*call)(void *self, void *argument);
  int flags;
  const char *documentation;
};
inline constexpr int oneArgument = 8, noArguments = 4; ///< METH_O, METH_NOARGS

/// Functions of the interpreter that this process runs.
struct Python {
  ptrdiff_t (*sizeOfTuple)(void *) = nullptr;
  void *(*itemOfTuple)(void *, ptrdiff_t) = nullptr;
  void *(*typeOf)(void *) = nullptr;
  void (*release)(void *) = nullptr;
  void (*retain)(void *) = nullptr;
  void *(*saveThread)() = nullptr;
  void (*restoreThread)(void *) = nullptr;
  void *(*newTuple)(ptrdiff_t) = nullptr;
  int (*setItem)(void *, ptrdiff_t, void *) = nullptr; ///< takes over the item
  void *(*call)(void *function) = nullptr;
  void *(*callWith)(void *function, void *argument) = nullptr;
  int (*isTrue)(void *) = nullptr;
  void *(*attribute)(void *, void *name) = nullptr;
  void *(*ofAddress)(void *) = nullptr;
  void *(*toAddress)(void *) = nullptr;
  void *(*newFunction)(Method *, void *self, void *module) = nullptr;
  void *(*error)() = nullptr; ///< borrowed
  void (*clearError)() = nullptr;
  void *none = nullptr;

  static const Python *find() {
    static const std::optional<Python> found = lookUp();
    return found ? &*found : nullptr;
  }

private:
  static std::optional<Python> lookUp() {
    Python python;
    bool isWhole = true;
    auto take = [&]<class T>(T *&to, const char *name) {
      to = reinterpret_cast<T *>(::dlsym(RTLD_DEFAULT, name));
      isWhole &= to != nullptr;
    };
    take(python.sizeOfTuple, "PyTuple_Size");
    take(python.itemOfTuple, "PyTuple_GetItem");
    take(python.typeOf, "PyObject_Type");
    take(python.release, "Py_DecRef");
    take(python.retain, "Py_IncRef");
    take(python.saveThread, "PyEval_SaveThread");
    take(python.restoreThread, "PyEval_RestoreThread");
    take(python.newTuple, "PyTuple_New");
    take(python.setItem, "PyTuple_SetItem");
    take(python.call, "PyObject_CallNoArgs");
    take(python.callWith, "PyObject_CallOneArg");
    take(python.isTrue, "PyObject_IsTrue");
    take(python.attribute, "PyObject_GetAttr");
    take(python.ofAddress, "PyLong_FromVoidPtr");
    take(python.toAddress, "PyLong_AsVoidPtr");
    take(python.newFunction, "PyCFunction_NewEx");
    take(python.error, "PyErr_Occurred");
    take(python.clearError, "PyErr_Clear");
    take(python.none, "_Py_NoneStruct");
    return isWhole ? std::optional(python) : std::nullopt;
  }
};

/// Other threads of Python run meanwhile: a launch waits where the driver's queue is full.
class WithoutLock {
public:
  explicit WithoutLock(const Python &python) : python(python), state(python.saveThread()) {}
  WithoutLock(const WithoutLock &) = delete;
  ~WithoutLock() { python.restoreThread(state); }

private:
  const Python &python;
  void *state;
};

} // namespace tlc::calls
