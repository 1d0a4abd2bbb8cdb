# Compiles through ccache where there is one and the caller named no other
# launcher. The settings make a clone in another folder hit what this one
# compiled, uses of the precompiled header included (see TlcLlvm.cmake).
find_program(TLC_CCACHE ccache)
mark_as_advanced(TLC_CCACHE)
if(TLC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    ${TLC_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
