# tlc_add_kernels(<name> [<file.cpp>] KERNELS <kernel> [-D <name=value>]... [<kernel>...]
#                 TARGETS <target>... [EMULATOR] [DEPENDS <file>...])
#
# A static library of kernels that `tlc build` compiles, with the C header <name>.h: each function in it is
# <name>_<kernel>. Kernels are those of the file, or where none is given, those of `tlc list`; NAME=KERNEL names a
# function. Programs link <name>, which links tlc's runtime and no other library of tlc. They are compiled again
# when the file, one of DEPENDS or tlc changes.
function(tlc_add_kernels name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "EMULATOR" "" "KERNELS;TARGETS;DEPENDS")
  list(LENGTH ARG_UNPARSED_ARGUMENTS files)
  if(files GREATER 1)
    list(JOIN ARG_UNPARSED_ARGUMENTS ", " files)
    message(FATAL_ERROR "tlc_add_kernels(${name}): expected one file of kernels, but got ${files}")
  endif()
  if(NOT ARG_KERNELS OR NOT ARG_TARGETS)
    message(FATAL_ERROR "tlc_add_kernels(${name}): expected KERNELS and TARGETS, of which one has no value")
  endif()
  set(file "")
  set(words ${ARG_KERNELS})
  if(files EQUAL 1)
    get_filename_component(file ${ARG_UNPARSED_ARGUMENTS} ABSOLUTE)
    set(words "")
    set(isValue FALSE) # of the option before it
    foreach(word ${ARG_KERNELS})
      if(NOT isValue AND NOT word MATCHES "^-")
        if(word MATCHES "^([A-Za-z_][A-Za-z_0-9]*=)(.*)$")
          set(word "${CMAKE_MATCH_1}${file}:${CMAKE_MATCH_2}")
        else()
          set(word "${file}:${word}")
        endif()
      endif()
      set(isValue FALSE)
      if(word STREQUAL "-D" OR word STREQUAL "--static")
        set(isValue TRUE)
      endif()
      list(APPEND words ${word})
    endforeach()
  endif()
  list(JOIN ARG_TARGETS "," targets)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}_kernels)
  file(MAKE_DIRECTORY ${folder})
  set(outputs ${folder}/lib${name}.a ${folder}/${name}.h)
  add_custom_command(OUTPUT ${outputs}
    COMMAND ${TLC_EXECUTABLE} build --out ${folder}/lib${name}.a --header ${folder}/${name}.h --targets=${targets}
      $<$<BOOL:${ARG_EMULATOR}>:--emulator> ${words}
    DEPENDS ${file} ${ARG_DEPENDS} ${TLC_EXECUTABLE} COMMAND_EXPAND_LISTS VERBATIM
    COMMENT "Compiling the kernels of ${name}")
  add_custom_target(${name}_kernels DEPENDS ${outputs})
  add_library(${name} STATIC IMPORTED GLOBAL)
  add_dependencies(${name} ${name}_kernels)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${folder}/lib${name}.a)
  target_include_directories(${name} INTERFACE ${folder})
  target_link_libraries(${name} INTERFACE tlc::runtime_static)
endfunction()
