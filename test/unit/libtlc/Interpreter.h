// SPDX-License-Identifier: Apache-2.0
/// \file
/// An interpreter that stands in for Python's, found by dlsym in an executable that exports its symbols. One
/// source file of it includes this.
#pragma once

#include "tools/libtlc/DlpackStructs.h"
#include "tools/libtlc/PythonApi.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

namespace tlc::test {

/// An object of the interpreter: a tensor, a tuple, a type or a function. References are not counted.
struct Object {
  Object *type = nullptr;
  dlpack::Tensor tensor = {};
  std::vector<Object *> items = {};
  std::function<Object *(Object *)> call = {};
  Object *attribute = nullptr; ///< the only one
};

inline Object tensorType, otherType;
inline int unlocked = 0; ///< how often the interpreter's lock was given away and not taken back
inline int locksGiven = 0;
inline std::deque<Object> made; ///< tuples and functions

} // namespace tlc::test

extern "C" {
tlc::test::Object _Py_NoneStruct;
ptrdiff_t PyTuple_Size(tlc::test::Object *tuple) { return ptrdiff_t(tuple->items.size()); }
tlc::test::Object *PyTuple_GetItem(tlc::test::Object *tuple, ptrdiff_t i) { return tuple->items[size_t(i)]; }
tlc::test::Object *PyObject_Type(tlc::test::Object *object) { return object->type; }
void Py_DecRef(tlc::test::Object *) {}
void Py_IncRef(tlc::test::Object *) {}
tlc::test::Object *PyTuple_New(ptrdiff_t count) {
  return &tlc::test::made.emplace_back(nullptr, tlc::dlpack::Tensor(),
                                       std::vector<tlc::test::Object *>(size_t(count)));
}
int PyTuple_SetItem(tlc::test::Object *tuple, ptrdiff_t i, tlc::test::Object *item) {
  tuple->items[size_t(i)] = item;
  return 0;
}
tlc::test::Object *PyObject_CallNoArgs(tlc::test::Object *function) { return function->call(nullptr); }
tlc::test::Object *PyObject_CallOneArg(tlc::test::Object *function, tlc::test::Object *argument) {
  return function->call(argument);
}
int PyObject_IsTrue(tlc::test::Object *object) { return object != &_Py_NoneStruct; }
tlc::test::Object *PyObject_GetAttr(tlc::test::Object *object, tlc::test::Object *) {
  return object->attribute;
}
void *PyLong_FromVoidPtr(void *address) { return address; }
void *PyLong_AsVoidPtr(void *object) { return object; }
tlc::test::Object *PyCFunction_NewEx(const tlc::calls::Method *method, void *self, void *) {
  tlc::test::Object &function = tlc::test::made.emplace_back();
  function.call = [call = method->call, self](tlc::test::Object *argument) {
    return static_cast<tlc::test::Object *>(call(self, argument));
  };
  return &function;
}
void *PyErr_Occurred() { return nullptr; }
void PyErr_Clear() {}
void *PyEval_SaveThread() {
  ++tlc::test::unlocked, ++tlc::test::locksGiven;
  return &tlc::test::unlocked;
}
void PyEval_RestoreThread(void *) { --tlc::test::unlocked; }
}
