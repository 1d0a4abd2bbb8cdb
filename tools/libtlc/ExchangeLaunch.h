// SPDX-License-Identifier: Apache-2.0
/// \file
/// Launches on tensors that are objects of Python, which tell what they are by DLPack's exchange API.
#pragma once

#include "runtime/device/RecentlyUsed.h"
#include "runtime/support/Result.h"
#include "tools/libtlc/Calls.h"
#include "tools/libtlc/DlpackStructs.h"
#include "tools/libtlc/tlc.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// Describes a launch, and makes others like it. Any number of threads use it.
struct tlc_exchange {
public:
  static tlc::Result<std::unique_ptr<tlc_exchange>> create(const tlc_program *program,
                                                           const tlc_tensor *tensors, int tensorCount,
                                                           const tlc_scalar *scalars, int scalarCount,
                                                           const tlc_exchange_options &options);

  /// Launches on these tuples' objects, on the current stream of their library. False if they are not like
  /// those of the earlier launch, or if their library says no, then with an exception of Python.
  tlc::Result<bool> launch(void *given, void *made) const;

  /// What a function of Python takes beside that; see `tlc_exchange_function_options`. Objects are borrowed.
  struct Caller {
    std::vector<void *> makers, modes;
    std::vector<int32_t> like, written; ///< numbers of objects that are given; -1: like none
    void *tracked = nullptr, *attribute = nullptr, *refused = nullptr, *note = nullptr;
  };
  tlc::Result<void> setCaller(const tlc_exchange_function_options &options);
  static constexpr size_t mostObjects = 32;
  using Addresses = std::array<void *, mostObjects>;
  /// On objects at these addresses; else as above.
  tlc::Result<bool> launchOn(const Addresses &read) const;
  /// What its function of Python does, with `launchOn` as a call of the C interface: the tuple of what it
  /// makes, a new reference; None if it is no launch like the earlier one; null with an exception of Python.
  void *call(void *given, int (*launch)(const tlc_exchange &, const Addresses &)) const;

private:
  /// What is checked of an object.
  struct Description {
    bool isNone = false;
    tlc::dlpack::DataType dtype = {};
    uintptr_t remainder = 0; ///< of the address
    std::vector<int64_t> shape, strides;

    bool fits(const tlc::dlpack::Tensor &tensor) const;
  };

  tlc::Result<void> describe(const tlc_exchange_options &options);
  tlc::Result<void> setTensors(const tlc_tensor *tensors, int count, const tlc_exchange_options &options);
  /// The tensor that an object is, or false.
  bool read(void *object, tlc::dlpack::Tensor &tensor) const;
  /// Writes the addresses of a tuple's objects; false if they are not like `objects` from number `first` on.
  bool readAll(void *tuple, size_t first, size_t count, void **addresses) const;

  bool readGiven(void *tuple, Addresses &to) const { return readAll(tuple, 0, givenCount, to.data()); }
  bool readMade(void *tuple, Addresses &to) const {
    return readAll(tuple, givenCount, objects.size() - givenCount, to.data());
  }
  /// Whether a call has to do more than a launch; also if the library fails to say.
  bool isInMode() const;
  bool isTracked(void *given) const;
  /// A new tuple of what a launch on these takes, or null with an exception of Python.
  void *make(void *given) const;

  /// A tensor of the program.
  struct Argument {
    int32_t element = 0;
    std::vector<int64_t> shape, strides;
    int object = -1;   ///< whose memory it is; -1: memory of the launch
    size_t offset = 0; ///< in that memory
  };

  /// Memory of the library whose tensors a launch has, which orders what uses it next on the current stream.
  class Scratch {
  public:
    explicit operator bool() const { return memory != nullptr; }
    bool allocate(const tlc::dlpack::ExchangeApi &api, tlc::dlpack::Device device, int64_t bytes);
    std::byte *begin() const; ///< aligned as workspaces have to be

  private:
    struct Delete {
      void operator()(tlc::dlpack::ManagedTensor *memory) const {
        if (memory->deleter)
          memory->deleter(memory);
      }
    };
    std::unique_ptr<tlc::dlpack::ManagedTensor, Delete> memory;
  };
  /// For launches of one thread at a time. Memory is kept for launches on this stream, which orders them;
  /// what a graph captures has memory of its own.
  struct Prepared {
    std::unique_ptr<tlc_bound> bound;
    Scratch scratch;
    void *stream = nullptr;
  };
  tlc::Result<bool> launchAt(Prepared &launch, const Addresses &read, void *stream, bool keepsMemory) const;
  bool isCaptured(void *stream) const;
  /// At these addresses of the tensors and, after them, of the workspaces.
  tlc::Result<void> enqueueAt(std::unique_ptr<tlc_bound> &launch, std::span<void *const> addresses,
                              void *stream) const;

  const tlc_program *program = nullptr;
  const tlc::dlpack::ExchangeApi *api = nullptr;
  tlc::dlpack::Device device = {};
  std::vector<void *> types;
  std::vector<Description> objects; ///< those that are given, then those that are made
  size_t givenCount = 0;
  std::vector<Argument> arguments;
  std::vector<tlc_scalar> scalars;
  std::vector<size_t> workspaces; ///< their offsets in the memory of the launch
  int64_t room = 0;               ///< bytes of that memory
  Caller caller;
  mutable tlc::RecentlyUsed<Prepared> prepared;
};

namespace tlc::calls {

Result<std::unique_ptr<tlc_exchange>> createExchange(const tlc_program *program, const tlc_tensor *tensors,
                                                     int tensorCount, const tlc_scalar *scalars,
                                                     int scalarCount, const tlc_exchange_options *options);
/// False: not by this one.
Result<bool> launch(const tlc_exchange *exchange, void *given, void *made);
/// Launches on the stream that is current in the library of this exchange API.
Result<void> launchOnCurrent(tlc_bound *bound, const void *api);
/// Functions of Python, new references, of C functions that take the object's address as an int of Python.
Result<void *> functionOf(tlc_exchange *exchange, const tlc_exchange_function_options *options,
                          void *(*call)(void *address, void *given));
Result<void *> functionOf(tlc_bound *bound, const tlc_bound_function_options *options,
                          void *(*call)(void *address, void *));
/// What such an address is.
void *addressOf(void *address);
/// After the launch of a bound launch's function, with its status.
void *resultOf(const tlc_bound &bound, int status);

} // namespace tlc::calls
