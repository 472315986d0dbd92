# holon_module(NAME USES <folders> LIBS <outside libraries> PRIVATE_LIBS <outside libraries>)
#
# Declares the library of one top-level folder as holon::NAME from all .cpp files below it. USES names
# the folders it may include; nothing else is linked, and tests/structure checks the includes.
add_library(holon_warnings INTERFACE)
target_compile_options(holon_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC bug 105651: `"x" + std::string` warns at -O2 about a copy that cannot happen.
  target_compile_options(holon_warnings INTERFACE -Wno-restrict)
  # It takes the value of a tl::expected that holds an error for one that is read, at -O2 and in large units.
  target_compile_options(holon_warnings INTERFACE -Wno-maybe-uninitialized)
endif()
if(HOLON_WERROR)
  target_compile_options(holon_warnings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The heap from which on GCC looks for garbage, in kB: with its own 128 MB it looks for 6 % of its time.
  add_compile_options("$<$<CONFIG:Release>:SHELL:--param ggc-min-heapsize=1000000>")
endif()
if(HOLON_SANITIZE)
  add_compile_options(-fsanitize=${HOLON_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HOLON_SANITIZE})
endif()

# A header is shown to compile alone by the .cpp of the same name, which includes it first (a test looks).
# The headers without such a .cpp are compiled by the target lone_headers, one translation unit each, which .ci/run builds.
add_custom_target(lone_headers)
function(holon_check_lone_headers name)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} *.hpp)
  set(units)
  foreach(header ${headers})
    string(REGEX REPLACE "\\.hpp$" ".cpp" twin ${header})
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${twin})
      set(unit ${PROJECT_BINARY_DIR}/lone_headers/${twin})
      file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${header}\"\n")
      list(APPEND units ${unit})
    endif()
  endforeach()
  if(units)
    add_library(holon_${name}_headers OBJECT EXCLUDE_FROM_ALL ${units})
    add_dependencies(lone_headers holon_${name}_headers)
    target_compile_options(holon_${name}_headers PRIVATE -O0 -g0)
    target_include_directories(holon_${name}_headers PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(holon_${name}_headers PRIVATE holon_${name} holon_warnings)
  endif()
endfunction()

# Most of the time of compiling goes into the headers that all sources of a folder share: a unit takes several
# sources. Names in unnamed namespaces must therefore differ within a folder (tests/structure looks). Large units
# make a whole build cheap and a change of one source dear: an optimised build takes HOLON_LARGE_UNIT sources at
# once, a debug build HOLON_SMALL_UNIT of them. Tests always take the small units, because their helpers' names
# repeat more often. With HOLON_UNITY=OFF each source is compiled alone, which shows a missing include; clang-tidy
# wants that, too.
set(holon_unit_size ${HOLON_SMALL_UNIT})
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(holon_unit_size ${HOLON_LARGE_UNIT})
endif()

# Compiles several sources of `target` at once, `size` of them.
function(holon_unity target size)
  if(HOLON_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # It tells a class of a header that has a member of an unnamed namespace, and takes each source of a unit for a header.
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
  endif()
endfunction()

# Folders that wait for the kernel, a disk or a person: -O3 makes them no faster than -O2, only slower to compile.
set(holon_folders_that_wait pmi transport msg launch client web instance)
# What runs once for a command that a person has typed, or once as an instance begins: -O1 takes three quarters of
# the time that -O2 takes to compile it.
set(holon_folders_that_run_once batch config starter cli)

function(holon_module name)
  cmake_parse_arguments(M "" "" "USES;LIBS;PRIVATE_LIBS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(sources)
    add_library(holon_${name} STATIC ${sources})
    target_include_directories(holon_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                    $<INSTALL_INTERFACE:include/holon>)
    foreach(used ${M_USES})
      target_link_libraries(holon_${name} PUBLIC holon::${used})
    endforeach()
    holon_unity(holon_${name} ${holon_unit_size})
    if(name IN_LIST holon_folders_that_wait)
      target_compile_options(holon_${name} PRIVATE $<$<CONFIG:Release>:-O2>)
    elseif(name IN_LIST holon_folders_that_run_once)
      target_compile_options(holon_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    target_link_libraries(holon_${name} PUBLIC ${M_LIBS} PRIVATE ${M_PRIVATE_LIBS}
                          $<BUILD_INTERFACE:holon_warnings>)
  else()
    add_library(holon_${name} INTERFACE)
    target_include_directories(holon_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                       $<INSTALL_INTERFACE:include/holon>)
    foreach(used ${M_USES})
      target_link_libraries(holon_${name} INTERFACE holon::${used})
    endforeach()
  endif()
  add_library(holon::${name} ALIAS holon_${name})
  set_target_properties(holon_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY HOLON_MODULES holon_${name})
  if(HOLON_BUILD_TESTS)
    holon_check_lone_headers(${name})
  endif()
endfunction()
