# The licences of tlc and of what its libraries have linked in, in <build>/share/doc/tlc/licenses, a file each, as Debian's
# packages have them. `cmake --install` takes them along; packages and the wheel are not made without one.
# tools/scripts/check_linked.py says what is linked in.
set(licences ${PROJECT_BINARY_DIR}/share/doc/tlc/licenses)
set(packages llvm=llvm-22-dev fmt=libfmt-dev zstd=libzstd-dev zlib=zlib1g-dev libstdc++=libstdc++-12-dev)
configure_file(${PROJECT_SOURCE_DIR}/LICENSE ${licences}/tlc COPYONLY)
foreach(entry ${packages})
  string(REPLACE "=" ";" entry ${entry})
  list(GET entry 0 name)
  list(GET entry 1 package)
  set(text /usr/share/doc/${package}/copyright)
  if(EXISTS ${text})
    configure_file(${text} ${licences}/${name} COPYONLY)
  else()
    message(STATUS "No licence of ${name} in ${text}: no packages can be made")
  endif()
endforeach()
install(DIRECTORY ${licences} DESTINATION share/doc/tlc)
