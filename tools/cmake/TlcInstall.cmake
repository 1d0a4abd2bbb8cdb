# cmake --install <build> --prefix <folder>: tlc, libtlc, the headers of files of kernels and of the C interface, and
# what find_package(tlc) reads. tlc finds its headers beside libtlc, wherever the folder is.
include(CMakePackageConfigHelpers)
install(TARGETS tlc RUNTIME DESTINATION bin)
install(TARGETS tlc_shared EXPORT tlcTargets LIBRARY DESTINATION lib INCLUDES DESTINATION include include/tlc)
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/tlc DESTINATION include)
install(FILES ${PROJECT_SOURCE_DIR}/tools/libtlc/tlc.h DESTINATION include/tlc)
install(EXPORT tlcTargets NAMESPACE tlc:: DESTINATION lib/cmake/tlc)
set(config ${PROJECT_BINARY_DIR}/CMakeFiles/tlcConfig.cmake)
file(WRITE ${config} "include(\${CMAKE_CURRENT_LIST_DIR}/tlcTargets.cmake)\n")
write_basic_package_version_file(${PROJECT_BINARY_DIR}/CMakeFiles/tlcConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${config} ${PROJECT_BINARY_DIR}/CMakeFiles/tlcConfigVersion.cmake DESTINATION lib/cmake/tlc)
