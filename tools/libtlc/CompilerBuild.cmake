# cmake -DREADELF=... -DLIBRARY=libtlc_compiler.so -DOUTPUT=CompilerBuild.cpp -P CompilerBuild.cmake: writes the build id
# of the library.
execute_process(COMMAND ${READELF} -n ${LIBRARY} OUTPUT_VARIABLE notes COMMAND_ERROR_IS_FATAL ANY)
if(NOT notes MATCHES "Build ID: ([0-9a-f]+)")
  message(FATAL_ERROR "expected a build id in '${LIBRARY}', but got: ${notes}")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#include "tools/libtlc/CompilerBuild.h"

const char *const tlc::calls::compilerBuild = "@CMAKE_MATCH_1@";
]] @ONLY)
