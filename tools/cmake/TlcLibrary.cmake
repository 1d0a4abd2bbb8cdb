# The libraries of the folder runtime.
set(TLC_RUNTIME_PARTS tlc_aot tlc_artifact tlc_cache tlc_cuda tlc_device tlc_emulator tlc_emulator_math tlc_nccl tlc_nvrtc tlc_support tlc_target)

# tlc_libraries(<variable> <library>...): as they are to be linked. What has the property TLC_SHARED_RUNTIME and
# what it links take the runtime from libtlc_runtime.
function(tlc_libraries variable)
  set(libraries)
  foreach(library ${ARGN})
    if(library IN_LIST TLC_RUNTIME_PARTS)
      set(library $<IF:$<BOOL:$<TARGET_PROPERTY:TLC_SHARED_RUNTIME>>,tlc_runtime,${library}>)
    endif()
    list(APPEND libraries ${library})
  endforeach()
  set(${variable} ${libraries} PARENT_SCOPE)
endfunction()

# tlc_library(<name> SOURCES ... [LINK ...] [MLIR]): a static library of ours.
# MLIR: it includes MLIR's headers, and shares one precompiled header.
function(tlc_library name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_include_directories(${name} SYSTEM PUBLIC ${PROJECT_BINARY_DIR}) # generated: not ours to warn about
  target_compile_options(${name} PRIVATE -Wall -Wextra)
  tlc_libraries(libraries ${ARG_LINK})
  target_link_libraries(${name} PUBLIC ${libraries})
  if(ARG_MLIR)
    tlc_use_mlir(${name})
  endif()
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# tlc_executable(<name> SOURCES ... [LINK ...] [MLIR])
function(tlc_executable name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(${name} SYSTEM PRIVATE ${PROJECT_BINARY_DIR})
  target_compile_options(${name} PRIVATE -Wall -Wextra)
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  if(ARG_MLIR)
    tlc_use_mlir(${name})
  endif()
endfunction()
