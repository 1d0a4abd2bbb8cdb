# LLVM and MLIR 22, shared or static, never both: two copies of LLVM in one
# process fail at run time. Defines tlc_llvm (headers, flags, libraries) and
# tlc_use_mlir(<target>), which adds the shared precompiled header.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(tlc_llvm INTERFACE)
target_include_directories(tlc_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(TLC_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(tlc_llvm INTERFACE ${TLC_LLVM_DEFINITIONS} -fno-exceptions)
if(TLC_STATIC_LLVM)
  file(GLOB TLC_LLVM_ARCHIVES "${LLVM_LIBRARY_DIR}/libMLIR*.a" "${LLVM_LIBRARY_DIR}/libLLVM*.a")
  target_link_libraries(tlc_llvm INTERFACE
    -Wl,--start-group ${TLC_LLVM_ARCHIVES} -Wl,--end-group
    libz.a libzstd.a Threads::Threads ${CMAKE_DL_LIBS})
  # Folding equal functions saves a fifth of the size; neither LLVM nor we compare their addresses.
  add_link_options(-static-libstdc++ -static-libgcc -s LINKER:--gc-sections LINKER:--icf=all)
else()
  target_link_libraries(tlc_llvm INTERFACE ${LLVM_LIBRARY_DIR}/libMLIR.so ${LLVM_LIBRARY_DIR}/libLLVM.so)
endif()

# One precompiled header for all that includes MLIR: 15 s once instead of per
# file. ccache judges its uses by the checksum file beside it, which depends on
# what the header includes and not on the folder it was built in; the header
# itself records absolute paths and is therefore compiled without ccache.
set(TLC_PCH_SOURCE ${PROJECT_SOURCE_DIR}/tools/cmake/pch.h)
# The suffix is that of the language enabled last: .gch where C is GCC's and a project around this one has had C++ before.
set(TLC_PCH ${PROJECT_BINARY_DIR}/CMakeFiles/tlc_mlir_pch.dir/cmake_pch.hxx${CMAKE_PCH_EXTENSION})
add_library(tlc_mlir_pch STATIC ${PROJECT_SOURCE_DIR}/tools/cmake/pch.cpp)
target_link_libraries(tlc_mlir_pch PUBLIC tlc_llvm)
target_compile_options(tlc_mlir_pch PRIVATE -Wall -Wextra)
target_precompile_headers(tlc_mlir_pch PRIVATE ${TLC_PCH_SOURCE})
set_target_properties(tlc_mlir_pch PROPERTIES CXX_COMPILER_LAUNCHER "")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TLC_PCH_SOURCE})
file(SHA256 ${TLC_PCH_SOURCE} pch_sum)
file(WRITE ${TLC_PCH}.sum "${pch_sum} LLVM ${LLVM_PACKAGE_VERSION}")

# Called after all sources are known: each object waits for the header. Not
# REUSE_FROM, whose command line names the build folder in a place that ccache
# does not look through. Other compilers than clang do without.
function(tlc_use_mlir name)
  target_link_libraries(${name} PRIVATE tlc_llvm)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -include-pch -Xclang ${TLC_PCH}")
    get_target_property(type ${name} TYPE)
    if(type STREQUAL "EXECUTABLE") # CMake would say -fPIE, which the header is not for
      set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${name} PRIVATE -fPIC)
    endif()
    get_target_property(sources ${name} SOURCES)
    set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${TLC_PCH})
  endif()
endfunction()
