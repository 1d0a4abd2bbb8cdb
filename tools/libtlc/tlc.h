// SPDX-License-Identifier: Apache-2.0
/// \file
/// The C interface of libtlc: compile a kernel by its name in `tlc list` and launch
/// it on raw pointers, from any language that can load a shared library.
///
///     const char *names[] = {"m", "n", "k", "dtype"}, *values[] = {"4096", "4096", "4096", "bf16"};
///     tlc_program *gemm = tlc_compile("gemm", names, values, 4, NULL);
///     if (!gemm) { puts(tlc_last_error()); exit(1); }
///     int64_t shape[] = {4096, 4096}, strides[] = {4096, 1};
///     tlc_tensor arguments[] = {{a, TLC_BF16, 2, shape, strides}, {b, ...}, {c, ...}};
///     size_t bytes[4];
///     int workspaces = tlc_workspace(gemm, arguments, 3, bytes, 4);  // allocate as many
///     if (tlc_launch(gemm, arguments, 3, NULL, 0, memory, workspaces, stream) != TLC_OK) ...
///     tlc_release(gemm);
///
/// Programs are compiled for and launched on the device that the options name (tlc_device), or
/// the CUDA device whose context is current on the calling thread, or device 0's primary context where none
/// is. No function throws or aborts on bad arguments: each says what is wrong through its result and
/// `tlc_last_error`. A program is immutable: any number of threads may use it at once, until it is released.
///
/// The compiler is a library beside this one, libtlc_compiler.so, which is opened by the first call that
/// needs it: a program that the cache has does not. Calls that do are TLC_ENVIRONMENT without it.
#ifndef TLC_TOOLS_LIBTLC_TLC_H
#define TLC_TOOLS_LIBTLC_TLC_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TLC_API __attribute__((visibility("default")))
#else
#define TLC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// Version of this interface. Grows by one when something is added; what is
/// here keeps its meaning.
#define TLC_INTERFACE_VERSION 13

/// What a call came to.
typedef enum tlc_status {
  TLC_OK = 0,
  TLC_INVALID_ARGUMENT = 1, ///< the caller passed something wrong
  TLC_ENVIRONMENT = 2,      ///< something is missing or too old: driver, device, the compiler's library
  TLC_EXECUTION = 3,        ///< the device could not run it
  TLC_INTERNAL = 4,         ///< a mistake of this library, which is worth a report; since version 2
} tlc_status;

/// Types of tensor elements and scalars.
typedef enum tlc_element {
  TLC_I8 = 0,
  TLC_I32 = 1,
  TLC_I64 = 2,
  TLC_F16 = 3,
  TLC_BF16 = 4,
  TLC_F32 = 5,
  TLC_F64 = 6,
  TLC_E4M3 = 7, ///< floats of 8 bits
  TLC_E5M2 = 8, ///< since version 3, and those below
  TLC_U8 = 9,
  TLC_U32 = 10,
  TLC_I4 = 11, ///< two in a byte, the first in its low half, as those below
  TLC_U4 = 12,
  TLC_E2M1 = 13, ///< floats of 4 bits (OCP MX)
} tlc_element;

/// The tlc_element of DLPack's DLDataTypeCode and bits, with one lane; of less than 8 bits packed. Negative
/// if there is none: minus a tlc_status. Since version 3.
TLC_API int tlc_element_of_dlpack(int code, int bits);

/// A tensor in the device's memory. Shape and strides are in elements,
/// outermost axis first; the innermost stride is 1, unless the kernel takes any. They are read during the
/// call only. Of elements of 4 bits the innermost extent and the other strides
/// are even.
typedef struct tlc_tensor {
  void *data;
  int32_t element; ///< a tlc_element
  int32_t rank;
  const int64_t *shape;
  const int64_t *strides;
} tlc_tensor;

#define TLC_MOST_AXES 8

/// A tensor of DLPack as this library takes it: `dl_tensor` points to a DLTensor (dlpack.h), of a
/// DLManagedTensor or DLManagedTensorVersioned the member dl_tensor. It is valid as long as that and
/// `strides` are, which are written if the tensor has none because it is contiguous. Nothing checks here that
/// the device reaches its memory, and that elements of less than 8 bits are packed. A tlc_status. Since
/// version 8.
TLC_API int tlc_tensor_of_dlpack(const void *dl_tensor, tlc_tensor *tensor, int64_t strides[TLC_MOST_AXES]);

/// A scalar argument: its value's bits, in the low bytes.
typedef struct tlc_scalar {
  int32_t element; ///< a tlc_element
  uint64_t bits;
} tlc_scalar;

/// A compiled kernel, loaded on one device.
typedef struct tlc_program tlc_program;

/// The `TLC_INTERFACE_VERSION` that the library was built with.
TLC_API int tlc_version(void);

/// Text of the last failure on the calling thread, "" before the first. Valid
/// until the thread's next call of this library.
TLC_API const char *tlc_last_error(void);

/// The tlc_status of that failure, also where a function returned null; TLC_OK before the first. Since
/// version 9.
TLC_API int tlc_last_status(void);

/// That failure as data. Since version 11.
typedef struct tlc_error_info {
  size_t size;          ///< sizeof(tlc_error_info), set by the caller
  int32_t status;       ///< as of tlc_last_status
  const char *text;     ///< as of tlc_last_error
  const char *file;     ///< the first source file that a line of the text begins with; null: none does
  int32_t line, column; ///< in that file, from 1; 0 where there is none
} tlc_error_info;

/// Texts are valid until the thread's next call of this library. A tlc_status. Since version 11.
TLC_API int tlc_last_error_info(tlc_error_info *info);

/// Compiles the kernel `kernel`, registered or of the cookbook, with parameters names[i] =
/// values[i], `count` of them, as `tlc compile <kernel> -D name=value` does:
/// parameters left out have their default, and sizes (m, n, k) guide the choice
/// of the configuration while the program accepts any. A `gemm` whose rows are no
/// multiples of 16 bytes takes tensors aligned as contiguous ones of these sizes;
/// with unaligned=abc it takes any. `target` is e.g.
/// "sm_90a"; null means the current device's. Null on failure. Takes a fraction
/// of a second, unless the cache (`tlc_set_cache`) has the program. Programs of equal requests on one device
/// share what is loaded, until the last is released.
TLC_API tlc_program *tlc_compile(const char *kernel, const char *const *names, const char *const *values,
                                 int count, const char *target);

/// A device that programs are compiled for and launched on: a GPU, or an emulated one, for which no GPU is
/// needed. Programs and bound launches keep it, memory does not. Since version 8, as all that takes one.
typedef struct tlc_device tlc_device;

/// GPU number `ordinal`. Null on failure.
TLC_API tlc_device *tlc_device_gpu(int ordinal);

typedef enum tlc_check {
  TLC_CHECK_ON = 0,     ///< a launch fails by a race, a wrong phase or an access outside of its tensors
  TLC_CHECK_OFF = 1,    ///< only by traps, deadlocks and accesses outside of all memory
  TLC_CHECK_STRICT = 2, ///< also by what only the text of PTX does not order
} tlc_check;

/// What kind of error or warning a finding is. Since version 9, as the next one.
typedef enum tlc_finding_kind {
  TLC_FINDING_RACE = 0,             ///< two accesses that nothing orders
  TLC_FINDING_PROXY_RACE = 1,       ///< ordered, but without a proxy fence
  TLC_FINDING_UNWRITTEN = 2,        ///< a read of what nothing has written
  TLC_FINDING_LANES = 3,            ///< lanes write different values to one address
  TLC_FINDING_EARLY_EXIT = 4,       ///< a block ends while its shared memory is in use
  TLC_FINDING_PRODUCT_REGISTER = 5, ///< a register of a matrix product in flight is accessed
  TLC_FINDING_FAULT = 6,            ///< an access out of bounds, a wrong operand, a trap
  TLC_FINDING_DEADLOCK = 7,         ///< no warp can continue
} tlc_finding_kind;

/// One finding, at a line of a source file; line 0: unknown. A race has the access before it, too.
typedef struct tlc_finding {
  int32_t kind;       ///< a tlc_finding_kind
  int32_t is_warning; ///< 1, or 0 for an error
  const char *message, *file;
  int32_t line, column;
  const char *before_file; ///< "" where no other access is concerned
  int32_t before_line, before_column;
} tlc_finding;

/// What launches on an emulated device found; texts are valid during the call that tells of it.
typedef struct tlc_findings {
  size_t size; ///< sizeof(tlc_findings) of the library; later versions append members
  uint64_t errors, warnings;
  const char *text;
  const tlc_finding *all; ///< `count` of them, at most 100 errors and 100 warnings; since version 9
  int32_t count;
} tlc_findings;

/// How a GPU is emulated. 0 means the default.
typedef struct tlc_emulator_options {
  size_t size;        ///< sizeof(tlc_emulator_options)
  const char *target; ///< null: "sm_90a"
  int32_t multiprocessors;
  int32_t threads;        ///< of the host; 0: one for each core
  int32_t check;          ///< a tlc_check
  uint64_t schedule_seed; ///< 0: the usual order of warps; else another one, the same for the same seed
  /// Called with what kernels print; null: it goes to stderr. It calls no function of this library and throws
  /// nothing, as the next one.
  void (*print)(const char *text, void *user);
  /// Called once for each launch that found something; null: warnings go to stderr, and errors are the text
  /// of the launch's failure.
  void (*on_findings)(const tlc_findings *findings, void *user);
  void *user; ///< for both
} tlc_emulator_options;

/// An emulated device; null: with the defaults. Memory of it is the host's; streams are ignored, launches end
/// before the call that makes them returns. Null on failure.
TLC_API tlc_device *tlc_device_emulator(const tlc_emulator_options *options);

/// "sm_90a", and "NVIDIA H200" or "emulator (sm_90a)"; valid until the device is released.
TLC_API const char *tlc_device_target(const tlc_device *device);
TLC_API const char *tlc_device_name(const tlc_device *device);

/// Memory of the device, at a multiple of 256. Of 0 bytes the address is null. A tlc_status, as of the next
/// four.
TLC_API int tlc_device_allocate(tlc_device *device, size_t bytes, void **address);
TLC_API int tlc_device_free(tlc_device *device, void *address);
/// Between memory of the host and of the device; they return when the copy is done.
TLC_API int tlc_device_copy_in(tlc_device *device, void *to, const void *host, size_t bytes);
TLC_API int tlc_device_copy_out(tlc_device *device, void *host, const void *from, size_t bytes);
/// Waits for a stream, and for what programs on it print and check: a check that failed is a TLC_EXECUTION.
TLC_API int tlc_device_synchronize(tlc_device *device, void *stream);

/// The device ends when its programs and bound launches are released, too. Free its memory before. Null is
/// nothing.
TLC_API void tlc_device_release(tlc_device *device);

/// A C++ file of kernels (docs/your-own-file.md), compiled by a C++ compiler of this machine. Since version
/// 8, as all that takes one. Several threads may use it at once. Code of the file runs in processes of its
/// own, which are forked from this one.
typedef struct tlc_file tlc_file;

/// 0 means the default.
typedef struct tlc_file_options {
  size_t size;          ///< sizeof(tlc_file_options)
  const char *compiler; ///< null: $CXX, clang++, g++ or c++
  const char *const *flags;
  int32_t flag_count;
  int32_t seconds; ///< that a call of a function in the file may take; 0: 60
} tlc_file_options;

/// Compiles the file, unless the cache has it, and asks it for its kernels. `options` may be null. Null on
/// failure; what the compiler says is part of the error then.
TLC_API tlc_file *tlc_file_open(const char *path, const tlc_file_options *options);
/// Programs that were compiled from it stay as they are; null is nothing.
TLC_API void tlc_file_release(tlc_file *file);

/// A kernel of a file, or of tlc where `file` is null. Texts are valid until the file is released.
typedef struct tlc_kernel_info {
  size_t size; ///< sizeof(tlc_kernel_info), set by the caller; as of the other infos
  const char *name, *summary;
  int32_t parameter_count;
} tlc_kernel_info;
typedef struct tlc_parameter_info {
  size_t size;
  const char *name;
  const char *allowed;  ///< in words: "8 to 576 in steps of 8"
  const char *fallback; ///< where nothing is given
  const char *description;
} tlc_parameter_info;

/// Negative on failure: minus a tlc_status.
TLC_API int tlc_kernel_count(const tlc_file *file);
/// A tlc_status. Kernels and their parameters count from 0, in the order of `tlc list`.
TLC_API int tlc_kernel_of(const tlc_file *file, int kernel, tlc_kernel_info *info);
TLC_API int tlc_parameter_of(const tlc_file *file, int kernel, int parameter, tlc_parameter_info *info);

/// What a compilation is asked for beside the kernel's parameters. What is 0 is as of `tlc_compile`. Since
/// version 6.
typedef struct tlc_compile_options {
  size_t size; ///< sizeof(tlc_compile_options), also of an older version
  const char *target;
  /// Seconds, from 0.001 to 86400, after which a wait at an mbarrier, or for a count of another block or
  /// rank, ends as a failed check, which synchronising a group tells; 0: waits last for ever.
  double wait_limit;
  tlc_device *device;   ///< null: the current CUDA device; since version 8
  const tlc_file *file; ///< that has the kernel; null: tlc has it; since version 8
} tlc_compile_options;

/// `tlc_compile` with these options. Since version 6.
TLC_API tlc_program *tlc_compile_with(const char *kernel, const char *const *names, const char *const *values,
                                      int count, const tlc_compile_options *options);

/// What the cache has done. Since version 8, as what follows for the cache.
typedef enum tlc_cache_event_kind {
  TLC_CACHE_COMPILED = 0,
  TLC_CACHE_FOUND_IN_MEMORY = 1,
  TLC_CACHE_FOUND_ON_DISK = 2,
  TLC_CACHE_LOADED = 3, ///< on a device
} tlc_cache_event_kind;

/// Since version 11.
typedef enum tlc_code {
  TLC_CODE_PTX = 0,
  TLC_CODE_CUBIN = 1, ///< machine code, next to PTX in entries of the cache
} tlc_code;

/// The texts are valid during the call that tells of it.
typedef struct tlc_cache_event {
  size_t size;  ///< sizeof(tlc_cache_event) of the library; later versions append members
  int32_t kind; ///< a tlc_cache_event_kind
  const char *program, *target;
  double milliseconds;
  int32_t code; ///< a tlc_code: that the program has, or that the device has loaded; since version 11
} tlc_cache_event;

typedef enum tlc_cache_use {
  TLC_CACHE_USUAL = 0,     ///< in memory and in the folder
  TLC_CACHE_MEMORY = 1,    ///< in memory only
  TLC_CACHE_HITS_ONLY = 2, ///< nothing is compiled: a miss is an error that tells how to make the entry
} tlc_cache_use;

/// Where compiled programs are kept: the last 256 in memory, and in a folder, which must belong to this user
/// or root and not be writable by others: whoever writes it chooses what runs here.
typedef struct tlc_cache_options {
  size_t size;        ///< sizeof(tlc_cache_options), also of an older version
  const char *folder; ///< null: $XDG_CACHE_HOME/tlc or ~/.cache/tlc, shared with `tlc`
  uint64_t bytes;     ///< of the folder's entries together, at most; 0: 1 GiB
  int32_t use;        ///< a tlc_cache_use
  /// Told of each compilation, hit and load, by the thread that asks for the program; may be null. It may be
  /// called by several threads at once, calls no function of this library and throws nothing.
  void (*on_event)(const tlc_cache_event *event, void *user);
  void *user; ///< for on_event
  /// 0: new entries of the folder also have machine code where ptxas is found, which is run for that; else
  /// they have PTX alone. Since version 11.
  int32_t ptx_only;
} tlc_cache_options;

/// The cache of all calls of this process from now on; without it the usual one. Programs stay as they are. A
/// tlc_status.
TLC_API int tlc_set_cache(const tlc_cache_options *options);

/// The folder of results of `tlc tune` (docs/tuning.md) by which open parameters are filled that
/// `tlc_compile` and `tlc_compile_with` are given no value of, from now on; null: none, as at first. Programs
/// stay as they are. An error if the folder cannot be read, or has a malformed line; then all stays as it
/// was. With a folder each of these calls needs the compiler's library. A tlc_status. Since version 13.
TLC_API int tlc_set_tuning(const char *folder);

/// Compiles the programs of a list that the cache lacks, on all cores. The text has lines like "gemm m=4096
/// n=4096 k=4096 dtype=bf16 --target=sm_90a", as `tlc prewarm` takes them; lines without a target are for
/// `target`, null being the current device's. Needs no GPU where all have one. If some fail, the others are
/// there, and the error is that of the first. A tlc_status.
TLC_API int tlc_prewarm(const char *lines, const char *target);

/// The program as bytes, which a later process, this interface's or one with libtlc_runtime alone, loads
/// without compiling (docs/runtime.md). Writes the first `capacity` of them, and their number to `size`. A
/// tlc_status. Since version 8, as the next one.
TLC_API int tlc_program_save(const tlc_program *program, void *bytes, size_t capacity, size_t *size);
/// Loads such bytes on a device, for null the current GPU. Bytes of another version, or damaged ones, are
/// refused. Null on failure.
TLC_API tlc_program *tlc_program_load(tlc_device *device, const void *bytes, size_t size);

typedef enum tlc_access {
  TLC_ACCESS_INPUT = 0,
  TLC_ACCESS_OUTPUT = 1,
  TLC_ACCESS_INOUT = 2,
} tlc_access;

/// A tensor or scalar that a program takes. Texts are valid until the program is released.
typedef struct tlc_argument_info {
  size_t size; ///< sizeof(tlc_argument_info), set by the caller
  const char *name;
  int32_t element;   ///< a tlc_element
  int32_t access;    ///< a tlc_access; of a scalar TLC_ACCESS_INPUT
  int32_t rank;      ///< its number of axes; of a scalar -1
  int32_t symmetric; ///< whether it has an address on each rank
} tlc_argument_info;

/// The extent of an axis of a tensor: a dimension of the program, which is the same wherever it occurs, or a
/// constant.
typedef struct tlc_extent_info {
  size_t size;           ///< sizeof(tlc_extent_info), set by the caller
  const char *dimension; ///< its name, like "m"; null of a constant
  int64_t least, most;   ///< limits of the extent; of a constant both are it
  int64_t multiple_of;
} tlc_extent_info;

/// Tensors in the order of `tlc_launch`, then scalars. Negative on failure: minus a tlc_status. Since version
/// 8, as the next two.
TLC_API int tlc_argument_count(const tlc_program *program);
/// A tlc_status.
TLC_API int tlc_argument_of(const tlc_program *program, int argument, tlc_argument_info *info);
TLC_API int tlc_extent_of(const tlc_program *program, int argument, int axis, tlc_extent_info *info);

/// The shape of a tensor for values of the program's dimensions, names[i] = values[i], `count` of them: also
/// extents that the program computes from them. Names that are no dimensions have no effect. Returns the
/// number of axes, of which the first `capacity` have their extents written to `shape`. Negative on failure:
/// minus a tlc_status. Since version 9.
TLC_API int tlc_shape_of(const tlc_program *program, int argument, const char *const *names,
                         const int64_t *values, int count, int64_t *shape, int capacity);

/// How much workspace a launch on `tensors` needs: the number of workspaces, of
/// which the first `capacity` have their bytes written to `sizes`; a size may
/// be 0. Negative on failure: minus a tlc_status. Depends on shapes alone, so
/// data may be null.
TLC_API int tlc_workspace(const tlc_program *program, const tlc_tensor *tensors, int tensor_count,
                          size_t *sizes, int capacity);

/// Checks the arguments and enqueues the program on `stream`, a CUstream (null:
/// the default stream). Tensors and scalars stand in the order in which the
/// kernel declares them, inputs and outputs alike; workspaces[i] is device
/// memory of at least the bytes that `tlc_workspace` gave, 256-byte aligned, apart
/// from the tensors and from each other, with any content (what must be cleared, the launch clears). A tensor
/// that the kernel writes shares no memory with another one. Neither
/// allocates memory of the device nor synchronises; can be captured in a CUDA graph. A tlc_status.
///
/// Each program keeps the arguments of its last 16 launches by `tlc_launch`, and on a GPU the launches
/// themselves, which programs of equal requests share: a further one with the same shapes, strides and
/// scalars checks only what depends on addresses, and allocates no memory of the host either, unless the
/// kernel reports or copies between GPUs, or other alignment takes other code. Its errors are those of a
/// first launch. What is kept ends with the program and takes memory of the host alone: for each launch some
/// hundred bytes per tensor and the parameters of its kernels. Threads that launch at once use different
/// ones; a launch for which none is left is prepared again.
TLC_API int tlc_launch(const tlc_program *program, const tlc_tensor *tensors, int tensor_count,
                       const tlc_scalar *scalars, int scalar_count, void *const *workspaces,
                       int workspace_count, void *stream);

/// A launch whose arguments are checked once, to be made often. One thread at a time uses it.
typedef struct tlc_bound tlc_bound;

/// Checks arguments as `tlc_launch` does, and keeps them. Null on failure. Since version 8, as the next
/// three.
TLC_API tlc_bound *tlc_bind(const tlc_program *program, const tlc_tensor *tensors, int tensor_count,
                            const tlc_scalar *scalars, int scalar_count, void *const *workspaces,
                            int workspace_count);

/// From the next launch on `tensor` is at another address: the number of a tensor, or tensor_count and more
/// for a workspace. Checks the address, and that tensors and workspaces stay apart; after a failure the
/// launch is as it was. On a GPU it allocates nothing, unless an address that is aligned otherwise takes
/// other code. A tensor that is there already is not checked again. A tlc_status.
TLC_API int tlc_bound_set_address(tlc_bound *bound, int tensor, void *address);

/// The same of `count` tensors and workspaces from number `first` on, all at once: two may exchange
/// addresses. Since version 12.
TLC_API int tlc_bound_set_addresses(tlc_bound *bound, int first, void *const *addresses, int count);

/// Enqueues the program as `tlc_launch` does, without checks. A tlc_status.
TLC_API int tlc_bound_launch(tlc_bound *bound, void *stream);

/// Ends it, also while launches of it run; null is nothing. The program may have been released before.
TLC_API void tlc_bound_release(tlc_bound *bound);

/// A launch on tensors that are objects of Python, of a library whose type of tensors has DLPack's exchange
/// API
/// (`__dlpack_c_exchange_api__`; DLPack 1.2): this library asks it what the objects are, for its current
/// stream and for memory, in the process of the interpreter. Functions that take objects are called with the
/// interpreter's lock, as by ctypes.PyDLL, and give it to other threads while they launch. Since version 10,
/// as the next ones.
typedef struct tlc_exchange tlc_exchange;

/// A launch that was made, by which others are known to be like it. Objects are borrowed.
typedef struct tlc_exchange_options {
  size_t size;            ///< sizeof(tlc_exchange_options)
  const void *api;        ///< a DLPackExchangeAPI that lives as long as the exchange
  void *types;            ///< a tuple of the types that tensors may have, which live as long, too
  void *given;            ///< a tuple of tensors and None
  void *made;             ///< another one, of tensors that are made for each launch
  const int32_t *sources; ///< for each tensor of the program the number of its object, `given` before `made`
} tlc_exchange_options;

/// Describes that launch on GPU tensors: program, tensors and scalars as `tlc_launch` took them. The source
/// -1 marks a tensor that the program writes and the caller does not read: like workspaces it is stored in
/// memory of the objects' library. A launch that needs more than 64 KiB, or that is captured, allocates and
/// frees it in stream order; others keep it for the next one on their stream. The program outlives it. Null
/// on failure.
TLC_API tlc_exchange *tlc_exchange_create(const tlc_program *program, const tlc_tensor *tensors,
                                          int tensor_count, const tlc_scalar *scalars, int scalar_count,
                                          const tlc_exchange_options *options);
/// Launches the program on other objects, tuples as those were, on the stream that is current in their
/// library, if each of them has the type, element type, shape, strides and device of the one at its place
/// there, and its address the same remainder by 16. If not, nothing is launched and the result is -1; so it
/// is if their library fails, which may leave an exception of Python. Else a tlc_status, with the errors of
/// `tlc_launch`. Any number of threads launch at once.
TLC_API int tlc_exchange_launch(const tlc_exchange *exchange, void *given, void *made);
/// Null is nothing.
TLC_API void tlc_exchange_release(tlc_exchange *exchange);

/// `tlc_bound_launch` on the stream that is current in the library of this DLPackExchangeAPI. Where that
/// fails it may leave an exception of Python, too. A tlc_status.
TLC_API int tlc_bound_launch_current(tlc_bound *bound, const void *api);

/// What a function of Python does beside the launch of an exchange. Objects are borrowed as long as it is
/// called.
typedef struct tlc_exchange_function_options {
  size_t size;  ///< sizeof(tlc_exchange_function_options)
  void *makers; ///< a tuple: for each object that is made a function that makes it, of one that is given
  const int32_t *like; ///< for each of them the number of that one, or -1: the function has no argument
  void *modes;   ///< a tuple of functions without arguments: nothing is launched where one gives what is true
  void *tracked; ///< another one, or null: where it does, nothing is launched on an object that has
  void *attribute;        ///< an attribute of this name, a str, that is true
  void *refused;          ///< another one: raises the error of a launch
  void *note;             ///< or null: is called after a launch with each given object that it writes
  const int32_t *written; ///< their numbers
  int32_t written_count;
  void *owner; ///< or null: an object that the function keeps as its module
} tlc_exchange_function_options;

/// A function that is built in, as Python calls it, a new reference: takes a tuple of given objects, makes
/// the others, launches as `tlc_exchange_launch` does, and returns the tuple of those that it made. Where
/// that launches nothing, or a library fails, it returns None. An exchange has one such function, which it
/// outlives. Null on failure. Since version 13, as the next one.
TLC_API void *tlc_exchange_function(tlc_exchange *exchange, const tlc_exchange_function_options *options);

/// What a function of Python does beside `tlc_bound_launch_current`. Objects are borrowed as long as it is
/// called.
typedef struct tlc_bound_function_options {
  size_t size;     ///< sizeof(tlc_bound_function_options)
  const void *api; ///< a DLPackExchangeAPI that lives as long
  void *refused;   ///< as above
  void *after;     ///< a tuple of functions without arguments, which are called after a launch
  void *owner;     ///< as above
} tlc_bound_function_options;

/// The same for a bound launch: the function takes nothing, and returns None.
TLC_API void *tlc_bound_function(tlc_bound *bound, const tlc_bound_function_options *options);

/// What a rank of several launches: a program that was compiled while its device was current, the addresses
/// of its tensors and workspaces as `tlc_launch` takes them, and a stream of its device. Since version 4, as
/// the functions of ranks.
typedef struct tlc_rank {
  const tlc_program *program;
  const tlc_tensor *tensors;
  void *const *workspaces;
  void *stream;
} tlc_rank;

/// Lets the programs, of which each is loaded on a device of its own, reach the memory of all these devices.
/// Once before they are launched as ranks. A tlc_status: TLC_ENVIRONMENT where devices cannot reach each
/// other.
TLC_API int tlc_connect(tlc_program *const *programs, int count);

/// `tlc_workspace` of rank number `rank` of `ranks`.
TLC_API int tlc_rank_workspace(const tlc_program *program, int rank, int ranks, const tlc_tensor *tensors,
                               int tensor_count, size_t *sizes, int capacity);

/// Checks the arguments of all ranks and enqueues the program on each one's stream. Tensor number i of all
/// ranks is one symmetric tensor where the program declares it as such; then ranks agree about its shape and
/// strides, and each has its own memory. Scalars are those of all ranks. The streams wait for each other
/// before the launches begin, the host does not wait; a rank's results are there when its stream is done. An
/// error names the rank, and nothing is launched. A tlc_status.
TLC_API int tlc_launch_ranks(const tlc_rank *ranks, int count, int tensor_count, const tlc_scalar *scalars,
                             int scalar_count, int workspace_count);

/// Which arguments of the program are symmetric, the workspaces last: the number of arguments, of which the
/// first `capacity` have 1 or 0 written to `symmetric`. Negative on failure: minus a tlc_status. Since
/// version 5, as what follows for ranks in processes of their own.
TLC_API int tlc_symmetric_arguments(const tlc_program *program, int *symmetric, int capacity);

/// Memory of this process for another one of the machine, to which these bytes are sent by any means.
typedef struct tlc_memory_handle {
  unsigned char allocation[64];
  uint64_t offset; ///< of the memory in its allocation
} tlc_memory_handle;

/// The handle of memory of the current device, anywhere in what cuMemAlloc or cudaMalloc has allocated. It is
/// valid until that is freed. A tlc_status, as of the next two.
TLC_API int tlc_export_memory(const void *address, tlc_memory_handle *handle);

/// The address by which the current device reaches another process's memory. Close it before the other
/// process frees it.
TLC_API int tlc_import_memory(const tlc_memory_handle *handle, void **address);
TLC_API int tlc_close_memory(const tlc_memory_handle *handle, void *address);

/// This process's rank of several, on its current device; the other ranks are processes of this machine.
typedef struct tlc_group tlc_group;

/// Memory that each rank has for the group's flags, at a multiple of 4. Each rank writes zeros to its own,
/// and synchronizes, before it gives the handle or the address to the others: an old number would let a rank
/// pass. Before ranks make groups on the same memory again, all release theirs, and wait for each other on
/// the host.
#define TLC_GROUP_FLAG_BYTES 128

/// The group of rank number `rank` of `ranks`. flags[i] is the address of rank i's flags as this process
/// reaches it, from `tlc_import_memory` or any library whose mappings are of both processes. Null on failure.
/// One thread at a time uses a group.
TLC_API tlc_group *tlc_group_create(int rank, int ranks, void *const *flags, size_t bytes);

/// From now on symmetric tensors and workspaces may be anywhere in this memory, of which addresses[i] is that
/// of rank i. All ranks add theirs in the same order, of the same size. A tlc_status.
TLC_API int tlc_group_add(tlc_group *group, void *const *addresses, size_t bytes);
/// Before the memory is freed; `address` is this rank's. A tlc_status.
TLC_API int tlc_group_remove(tlc_group *group, const void *address);

/// Enqueues this rank's launch; arguments as of `tlc_launch`, workspaces as `tlc_rank_workspace` tells. Those
/// that are symmetric are in memory of the group, at the same place on all ranks. All ranks launch the same
/// programs in the same order, and order launches on several streams one after the other. The stream waits
/// for those of all ranks before the kernels begin, and waits for ever for ranks that launch something else.
/// The host does not wait, unless the driver's queue is full. Can be captured in a CUDA graph, which is not
/// to be run after an error. A tlc_status.
TLC_API int tlc_group_launch(tlc_group *group, const tlc_program *program, const tlc_tensor *tensors,
                             int tensor_count, const tlc_scalar *scalars, int scalar_count,
                             void *const *workspaces, int workspace_count, void *stream);

/// Waits until the stream is done, for so many seconds at most; negative: without a limit. After the limit
/// TLC_EXECUTION, and the error says which rank has not come, or which one launches something else. Then the
/// group refuses all calls with that error, and the process should end without waiting for its device, as by
/// `_exit`, because the stream may wait for ever. Where all ranks come, but their work takes longer, the
/// error says that, and the group can be synchronized again. Where programs print or check, this then waits
/// for all streams of the device, and a check that failed is TLC_EXECUTION, too, since version 6. A
/// tlc_status.
TLC_API int tlc_group_synchronize(tlc_group *group, void *stream, double seconds);

/// The number by which NCCL names its version, such as 21903 for 2.19.3. `library` is the path of
/// libnccl.so.2, here and below; null: what the loader finds, which is PyTorch's where that is loaded. NCCL
/// is opened when it is needed. Negative on failure: minus a tlc_status; TLC_ENVIRONMENT where it is missing
/// or older than 2.19. Since version 6, as what follows for ranks that NCCL connects.
TLC_API int tlc_nccl_version(const char *library);

/// Bytes that begin a communicator. One rank makes them and sends them to all others, by any means.
#define TLC_NCCL_ID_BYTES 128
/// Writes them to `id`. A tlc_status.
TLC_API int tlc_nccl_create_id(const char *library, void *id);

/// This process's rank of several, on its current device, which NCCL connects; the others are processes of
/// this machine or of others.
typedef struct tlc_communicator tlc_communicator;

/// The communicator of rank number `rank` of `ranks`, which all pass the same id. Waits for them, for so many
/// seconds at most here and in each call that all ranks make. After that limit, and after errors of NCCL, it
/// refuses all calls. Null on failure. One thread at a time uses a communicator and its groups.
TLC_API tlc_communicator *tlc_communicator_create(const char *library, int rank, int ranks, const void *id,
                                                  double seconds);

/// Whether the devices of all ranks reach each other's memory, as a group needs. If not, all ranks get
/// TLC_ENVIRONMENT, and an error that says which ones are of other machines, or which device does not reach
/// which. All ranks call it. A tlc_status.
TLC_API int tlc_communicator_check_peers(tlc_communicator *communicator);

/// A group of these ranks, at most 8, which has flags of its own and exchanges handles of memory by NCCL. All
/// ranks call it. Null on failure, on all of them.
TLC_API tlc_group *tlc_communicator_group(tlc_communicator *communicator);

/// `tlc_group_add` for a group of a communicator: all ranks share as many bytes of their own, of one
/// allocation by cuMemAlloc or cudaMalloc. All ranks call it, and it fails on all of them or on none. A
/// tlc_status, as of the next one.
TLC_API int tlc_group_share(tlc_group *group, void *address, size_t bytes);
/// After it, which all ranks call, they may free what they have shared by the same call at that address. No
/// launch may use it any more on any rank.
TLC_API int tlc_group_unshare(tlc_group *group, void *address);

/// What a kernel of ranks computes, for ranks that do not reach each other's memory: `gemm` on each of them,
/// and a collective of NCCL before or after it. `kernel` is all_reduce, all_gather_gemm, gemm_reduce_scatter
/// or gemm_all_reduce, with the tensors that it has: X and Y, or A, B and C. What NCCL takes has no gaps: X,
/// Y, A of all_gather_gemm, and C of the others; and the matrices of ranks follow one another. Workspace is
/// so many bytes, 256-byte aligned. Compiles the program, which `tlc_communicator_launch` then has. A
/// tlc_status.
TLC_API int tlc_communicator_workspace(tlc_communicator *communicator, const char *kernel,
                                       const tlc_tensor *tensors, int tensor_count, size_t *bytes);
/// Checks the arguments of this rank, and enqueues it on `stream`, which is not captured. All ranks call it
/// with the same kernel, shapes and types; nobody checks that they do. Results have no fixed order of sums. A
/// tlc_status.
TLC_API int tlc_communicator_launch(tlc_communicator *communicator, const char *kernel,
                                    const tlc_tensor *tensors, int tensor_count, void *workspace,
                                    size_t bytes, void *stream);

/// Sets `faster` to 1 if that is likely to take less time than the kernel of ranks, where ranks reach each
/// other's memory and can take either, else to 0: an estimate from shapes and types, the same on all ranks. A
/// tlc_status. Since version 7.
TLC_API int tlc_communicator_is_faster(tlc_communicator *communicator, const char *kernel,
                                       const tlc_tensor *tensors, int tensor_count, int *faster);

/// Waits until the stream, which is not captured, is done, so long at most as the communicator waits for
/// ranks. After that NCCL ends what it does there, and the communicator refuses all calls. A tlc_status.
TLC_API int tlc_communicator_synchronize(tlc_communicator *communicator, void *stream);

/// Its groups may live longer. Waits up to 5 seconds for the other ranks to release theirs. Null is allowed.
TLC_API void tlc_communicator_release(tlc_communicator *communicator);

/// Its launches must have finished, unless an error has said that they have not. Null is allowed.
TLC_API void tlc_group_release(tlc_group *group);

/// Unloads the program, unless one of an equal request shares it; its launches must have finished. Null is
/// allowed.
TLC_API void tlc_release(tlc_program *program);

#ifdef __cplusplus
}
#endif

#endif // TLC_TOOLS_LIBTLC_TLC_H
