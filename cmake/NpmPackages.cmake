# Packages of npm that a page has in itself: fetched as the build is configured, pinned by the package-lock.json beside
# the page (version and hash), and never in the tree. HOLON_NPM_MODULES names a node_modules folder that holds them
# already, for a build without a network.
set(HOLON_NPM_MODULES "" CACHE PATH "A node_modules folder with the packages of web/page and tests/web/browser; empty: npm fetches them")

# Sets `out` to a node_modules folder that has what package-lock.json in `folder` asks for. With OPTIONAL it is "" where
# npm is missing or fails.
function(holon_npm_packages out folder)
  cmake_parse_arguments(N "OPTIONAL" "" "" ${ARGN})
  if(HOLON_NPM_MODULES)
    set(${out} ${HOLON_NPM_MODULES} PARENT_SCOPE)
    return()
  endif()
  set(lock ${folder}/package-lock.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${lock})
  set(here ${CMAKE_CURRENT_BINARY_DIR}/npm)
  set(${out} ${here}/node_modules PARENT_SCOPE)

  file(SHA256 ${lock} wanted)
  set(present "")
  if(EXISTS ${here}/node_modules/.fetched)
    file(READ ${here}/node_modules/.fetched present)
  endif()
  if(present STREQUAL wanted)
    return()
  endif()
  find_program(HOLON_NPM npm)
  if(NOT HOLON_NPM AND N_OPTIONAL)
    set(${out} "" PARENT_SCOPE)
    return()
  endif()
  if(NOT HOLON_NPM)
    message(FATAL_ERROR "npm is missing; it fetches what ${lock} pins. scripts/install-deps installs it; "
                        "-DHOLON_NPM_MODULES=DIR takes a node_modules folder that is there")
  endif()
  file(COPY ${folder}/package.json ${lock} DESTINATION ${here})
  # Node.js has certificates of its own; those that the machine trusts count, too: a proxy may stand between.
  set(certificates $ENV{NODE_EXTRA_CA_CERTS})
  if(NOT certificates AND EXISTS /etc/ssl/certs/ca-certificates.crt)
    set(certificates /etc/ssl/certs/ca-certificates.crt)
  endif()
  # No script of a package runs. What npm's cache has is not asked for again.
  execute_process(COMMAND ${CMAKE_COMMAND} -E env NODE_EXTRA_CA_CERTS=${certificates}
                          ${HOLON_NPM} ci --ignore-scripts --no-audit --no-fund --prefer-offline
                  WORKING_DIRECTORY ${here} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed AND N_OPTIONAL)
    message(STATUS "npm could not fetch what ${lock} pins:\n${said}")
    set(${out} "" PARENT_SCOPE)
    return()
  endif()
  if(failed)
    message(FATAL_ERROR "npm could not fetch what ${lock} pins:\n${said}\n"
                        "-DHOLON_NPM_MODULES=DIR takes a node_modules folder that is there")
  endif()
  file(WRITE ${here}/node_modules/.fetched ${wanted})
endfunction()
