# The headers that users include, in one folder, laid out as they are installed: include/tlc/kernel.h, and what it
# includes under include/tlc. They are plain C++: a test compiles them without anything else of ours.
set(TLC_HEADERS
  # files of kernels: <tlc/kernel.h>
  compiler/dsl/At.h
  compiler/dsl/Cluster.h
  compiler/dsl/Counts.h
  compiler/dsl/Cuda.h
  compiler/dsl/Diagnostic.h
  compiler/dsl/Handles.h
  compiler/dsl/Ops.h
  compiler/dsl/Program.h
  compiler/dsl/Reports.h
  compiler/dsl/Scope.h
  compiler/dsl/TileExtents.h
  compiler/dsl/Transfer.h
  compiler/dsl/Window.h
  compiler/dsl/dsl.h
  dialects/layout/WarpPolicy.h
  kernels/Parameter.h
  kernels/Tolerance.h
  runtime/support/ElementType.h
  runtime/support/ElementTypes.def
  runtime/support/Enum.h
  runtime/support/NearestName.h
  # launching: <tlc/runtime/device/Device.h>, both devices, artifacts
  runtime/artifact/Artifact.h
  runtime/artifact/ProgramCode.h
  runtime/artifact/Serialize.h
  runtime/artifact/TensorWindow.h
  runtime/cuda/CudaDevice.h
  runtime/device/Device.h
  runtime/device/LaunchPlan.h
  runtime/emulator/EmulatorDevice.h
  runtime/emulator/check/RaceCheck.h
  runtime/emulator/report/Finding.h
  runtime/emulator/trace/Trace.h
  runtime/emulator/trace/TraceRequest.h
  runtime/support/Result.h
  runtime/support/Swizzle.h
  # compiling: <tlc/kernels/library/Compile.h>
  compiler/pipeline/Options.h
  compiler/pipeline/Phases.h
  kernels/library/Compile.h
  kernels/library/call/ArtifactCache.h
  runtime/cache/CacheOptions.h
  runtime/cache/DiskCache.h
  runtime/cache/EntryFile.h
  runtime/cache/EntryStore.h
  runtime/cache/Key.h
  runtime/cache/MemoryCache.h
  runtime/cache/ProgramCache.h
  runtime/cache/ProgramName.h
  runtime/support/Hash.h
  # calls of kernels: <tlc/kernels/library/Gemm.h> and the others of that folder
  kernels/Describe.h
  kernels/Parameters.h
  kernels/attention/backward/Backward.h
  kernels/attention/decode/Decode.h
  kernels/attention/dispatch/ForwardChoice.h
  kernels/attention/forward/Forward.h
  kernels/attention/intervals/PositionSet.h
  kernels/attention/mask/Mask.h
  kernels/attention/problem/ColumnParts.h
  kernels/attention/problem/Options.h
  kernels/attention/problem/Sequences.h
  kernels/attention/schedule/TileOrder.h
  kernels/gemm/Gemm.h
  kernels/library/Attention.h
  kernels/library/Backward.h
  kernels/library/Decode.h
  kernels/library/Gemm.h
  kernels/library/Softmax.h
  kernels/library/call/Programs.h
  kernels/library/call/Schema.h
  kernels/reference/Reference.h
  runtime/support/Math.h
  runtime/target/Hardware.h
  runtime/target/Target.h)
# By short names.
set(TLC_SHORT_HEADERS kernels/file/kernel.h:kernel.h kernels/library/Jit.h:jit.h)
set(staged)
foreach(header ${TLC_SHORT_HEADERS})
  string(REPLACE ":" ";" names ${header})
  list(GET names 0 source)
  list(GET names 1 name)
  set(copy ${PROJECT_BINARY_DIR}/include/tlc/${name})
  add_custom_command(OUTPUT ${copy} DEPENDS ${PROJECT_SOURCE_DIR}/${source}
    COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/${source} ${copy})
  list(APPEND staged ${copy})
endforeach()
foreach(header ${TLC_HEADERS})
  set(copy ${PROJECT_BINARY_DIR}/include/tlc/${header})
  add_custom_command(OUTPUT ${copy} DEPENDS ${PROJECT_SOURCE_DIR}/${header}
    COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/${header} ${copy})
  list(APPEND staged ${copy})
endforeach()
add_custom_target(tlc_headers ALL DEPENDS ${staged})
