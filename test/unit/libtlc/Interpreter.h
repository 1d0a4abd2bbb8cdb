// SPDX-License-Identifier: Apache-2.0
/// \file
/// An interpreter that stands in for Python's, found by dlsym in an executable that exports its symbols. One
/// source file of it includes this.
#pragma once

#include "tools/libtlc/DlpackStructs.h"

#include <cstddef>
#include <vector>

namespace tlc::test {

/// An object of the interpreter: a tensor, a tuple, or a type.
struct Object {
  Object *type = nullptr;
  dlpack::Tensor tensor = {};
  std::vector<Object *> items = {};
};

inline Object tensorType, otherType;
inline int unlocked = 0; ///< how often the interpreter's lock was given away and not taken back
inline int locksGiven = 0;

} // namespace tlc::test

extern "C" {
tlc::test::Object _Py_NoneStruct;
ptrdiff_t PyTuple_Size(tlc::test::Object *tuple) { return ptrdiff_t(tuple->items.size()); }
tlc::test::Object *PyTuple_GetItem(tlc::test::Object *tuple, ptrdiff_t i) { return tuple->items[size_t(i)]; }
tlc::test::Object *PyObject_Type(tlc::test::Object *object) { return object->type; }
void Py_DecRef(tlc::test::Object *) {}
void *PyEval_SaveThread() {
  ++tlc::test::unlocked, ++tlc::test::locksGiven;
  return &tlc::test::unlocked;
}
void PyEval_RestoreThread(void *) { --tlc::test::unlocked; }
}
