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
/// Programs are compiled for and launched on the CUDA device whose context is
/// current on the calling thread, or device 0's primary context where none is.
/// No function throws or aborts on bad arguments: each says what is wrong
/// through its result and `tlc_last_error`. A program is immutable: any number
/// of threads may use it at once, until it is released.
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
#define TLC_INTERFACE_VERSION 7

/// What a call came to.
typedef enum tlc_status {
  TLC_OK = 0,
  TLC_INVALID_ARGUMENT = 1, ///< the caller passed something wrong
  TLC_ENVIRONMENT = 2,      ///< something is missing or too old: driver, device
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

/// Compiles the kernel `kernel`, registered or of the cookbook, with parameters names[i] =
/// values[i], `count` of them, as `tlc compile <kernel> -D name=value` does:
/// parameters left out have their default, and sizes (m, n, k) guide the choice
/// of the configuration while the program accepts any. A `gemm` whose rows are no
/// multiples of 16 bytes takes tensors aligned as contiguous ones of these sizes;
/// with unaligned=abc it takes any. `target` is e.g.
/// "sm_90a"; null means the current device's. Null on failure. Takes a fraction
/// of a second; equal requests are answered from a cache of the last 256 programs.
TLC_API tlc_program *tlc_compile(const char *kernel, const char *const *names, const char *const *values,
                                 int count, const char *target);

/// What a compilation is asked for beside the kernel's parameters. What is 0 is as of `tlc_compile`. Since
/// version 6.
typedef struct tlc_compile_options {
  size_t size; ///< sizeof(tlc_compile_options)
  const char *target;
  /// Seconds, from 0.001 to 86400, after which a wait for a count of another block or rank ends as a failed
  /// check, which synchronising a group tells; 0: waits last for ever.
  double wait_limit;
} tlc_compile_options;

/// `tlc_compile` with these options. Since version 6.
TLC_API tlc_program *tlc_compile_with(const char *kernel, const char *const *names, const char *const *values,
                                      int count, const tlc_compile_options *options);

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
/// from the tensors and from each other, with any content (what must be cleared, the launch clears). Neither
/// allocates nor synchronises; can be captured in a CUDA graph. A tlc_status.
TLC_API int tlc_launch(const tlc_program *program, const tlc_tensor *tensors, int tensor_count,
                       const tlc_scalar *scalars, int scalar_count, void *const *workspaces,
                       int workspace_count, void *stream);

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

/// Unloads the program; its launches must have finished. Null is allowed.
TLC_API void tlc_release(tlc_program *program);

#ifdef __cplusplus
}
#endif

#endif // TLC_TOOLS_LIBTLC_TLC_H
