# cmake --install <build> --prefix <folder>: tlc, its libraries, headers, and what find_package(tlc) reads. tlc finds
# its headers beside its libraries, wherever the folder is. docs/rationale/build.md says why these are the targets.
include(CMakePackageConfigHelpers)
set(libraries tlc_runtime tlc_runtime_static tlc_compiler_shared tlc_shared)
foreach(part dsl kernels) # what is in the target compiler, by what a program uses
  add_library(tlc_${part}_package INTERFACE)
  set_target_properties(tlc_${part}_package PROPERTIES EXPORT_NAME ${part})
  target_link_libraries(tlc_${part}_package INTERFACE tlc_compiler_shared)
  target_compile_features(tlc_${part}_package INTERFACE cxx_std_20)
  list(APPEND libraries tlc_${part}_package)
endforeach()
target_link_libraries(tlc_dsl_package INTERFACE tlc_shared) # programs of the language may use the C interface
install(TARGETS tlc RUNTIME DESTINATION bin)
install(TARGETS ${libraries} EXPORT tlcTargets LIBRARY DESTINATION lib ARCHIVE DESTINATION lib INCLUDES DESTINATION include include/tlc)
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/tlc DESTINATION include)
install(FILES ${PROJECT_SOURCE_DIR}/tools/libtlc/tlc.h DESTINATION include/tlc)
install(EXPORT tlcTargets NAMESPACE tlc:: DESTINATION lib/cmake/tlc)
set(config ${PROJECT_BINARY_DIR}/CMakeFiles/tlcConfig.cmake)
file(WRITE ${config} [[
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/tlcTargets.cmake)
get_filename_component(TLC_EXECUTABLE ${CMAKE_CURRENT_LIST_DIR}/../../../bin/tlc ABSOLUTE)
include(${CMAKE_CURRENT_LIST_DIR}/TlcKernels.cmake)
]])
write_basic_package_version_file(${PROJECT_BINARY_DIR}/CMakeFiles/tlcConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${config} ${PROJECT_SOURCE_DIR}/tools/cmake/TlcKernels.cmake ${PROJECT_BINARY_DIR}/CMakeFiles/tlcConfigVersion.cmake DESTINATION lib/cmake/tlc)
