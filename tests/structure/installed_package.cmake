# Installs the build into a folder of its own, then configures, builds and runs docs/examples against
# the installed package, as a program that embeds the scheduler does.
#
#   cmake -DBINARY_DIR=... -DSOURCE_DIR=... -P installed_package.cmake
cmake_policy(SET CMP0057 NEW)  # if(... IN_LIST ...)
string(RANDOM LENGTH 8 suffix)
set(work ${BINARY_DIR}/installed_package.${suffix})

function(step what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    file(REMOVE_RECURSE ${work})
    message(FATAL_ERROR "${what} failed:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect_file path)
  if(NOT EXISTS ${work}/prefix/${path})
    file(REMOVE_RECURSE ${work})
    message(FATAL_ERROR "not installed: ${path}")
  endif()
endfunction()

# These talk to an instance: one is started for each.
set(clients follow)
step("install" ${CMAKE_COMMAND} --install ${BINARY_DIR} --prefix ${work}/prefix)
expect_file(bin/holon)
expect_file(share/man/man1/holon.1)
# Who has built the program alone has neither man pages nor completions nor the helper, and installs it all the same.
file(READ ${BINARY_DIR}/cmake_install.cmake rules)
string(REGEX REPLACE "${BINARY_DIR}/(man|completion|helper)/" "${BINARY_DIR}/absent/" rules "${rules}")
file(WRITE ${work}/program_alone.cmake "${rules}")
step("installing the program alone" ${CMAKE_COMMAND} -DCMAKE_INSTALL_PREFIX=${work}/alone -P ${work}/program_alone.cmake)
if(NOT EXISTS ${work}/alone/bin/holon OR EXISTS ${work}/alone/share/man/man1/holon.1)
  message(FATAL_ERROR "installing the program alone did something else")
endif()
step("configuring docs/examples" ${CMAKE_COMMAND} -S ${SOURCE_DIR}/docs/examples -B ${work}/build
     -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH=${work}/prefix
     -DCMAKE_CXX_FLAGS=${CXX_FLAGS})
step("building docs/examples" ${CMAKE_COMMAND} --build ${work}/build)
file(GLOB sources ${SOURCE_DIR}/docs/examples/*.cpp)
foreach(source ${sources})
  get_filename_component(name ${source} NAME_WE)
  set(command ${work}/build/${name})
  if(name IN_LIST clients)
    set(command ${work}/prefix/bin/holon start --resources node=1/core=2 --state-dir ${work}/state.${name}
                ${command})
  endif()
  step("docs/examples/${name}" ${command})
  if(output STREQUAL "")
    message(FATAL_ERROR "docs/examples/${name} said nothing")
  endif()
endforeach()
file(REMOVE_RECURSE ${work})
