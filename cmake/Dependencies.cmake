# Everything comes from Debian 12 packages; scripts/install-deps has the list. What a page draws with is npm's
# (NpmPackages.cmake).
if(HOLON_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(tl-expected REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
# Only its reader of GraphML is used. The shared library brings Boost.Regex and ICU along, which every start of the
# program would load: a quarter of the processor time of a small command. The definitions are the shared one's; they mean
# nothing on Linux, and objects in a compiler cache stay of use.
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.74 REQUIRED COMPONENTS graph)
target_compile_definitions(Boost::graph INTERFACE BOOST_ALL_NO_LIB BOOST_GRAPH_DYN_LINK BOOST_REGEX_DYN_LINK)
find_package(cppzmq REQUIRED)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(tomlplusplus REQUIRED IMPORTED_TARGET tomlplusplus)
pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(zlib REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(libedit REQUIRED IMPORTED_TARGET libedit)
# Its headers: the library is loaded where a job asks for it.
option(HOLON_PMIX "Serve jobs of Open MPI, where the headers of PMIx are found" ON)
if(HOLON_PMIX)
  pkg_check_modules(pmix QUIET pmix)
endif()
# Compiled as C++: its errors are exceptions, which unwind what they pass.
pkg_check_modules(lua REQUIRED IMPORTED_TARGET lua5.4-c++)
find_package(msgpack REQUIRED)
find_package(SQLiteCpp REQUIRED)

if(HOLON_STATIC)
  include(cmake/StaticProgram.cmake)
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What uses a precompiled header is kept too, if it may be: its macros are those of the compiler's command line.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
