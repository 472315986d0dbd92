# One static program, which runs on every Linux of its processor (HOLON_STATIC): each library is taken from its archive, and
# standalone/ has what there is no archive of, or what a static program has to do by itself. Objects are compiled as for any
# other build, so that a compiler cache serves both.
if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR HOLON_SANITIZE)
  message(FATAL_ERROR "HOLON_STATIC is for Linux, without sanitizers")
endif()

# The imported target is linked from `archive`.
function(holon_take_archive target archive)
  set(places IMPORTED_LOCATION ${archive})
  foreach(config NONE RELEASE NOCONFIG DEBUG)
    list(APPEND places IMPORTED_LOCATION_${config} ${archive})
  endforeach()
  set_target_properties(${target} PROPERTIES ${places})
endfunction()

# Sets `out` to the archive of the library `name`.
function(holon_find_archive out name)
  find_library(HOLON_ARCHIVE_${name} lib${name}.a REQUIRED DOC "For the static program")
  set(${out} ${HOLON_ARCHIVE_${name}} PARENT_SCOPE)
endfunction()

holon_find_archive(archive yaml-cpp)
holon_take_archive(yaml-cpp ${archive})
holon_find_archive(archive zmq)
holon_take_archive(libzmq ${archive})
# What these archives want: a shared library brings it along by itself.
holon_find_archive(archive sodium)
set_property(TARGET libzmq APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${archive})
foreach(name tinfo bsd md)
  holon_find_archive(archive ${name})
  set_property(TARGET PkgConfig::libedit APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${archive})
endforeach()
# Debian has no archives of these.
holon_take_archive(fmt::fmt ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libholon_own_fmt.a)
holon_take_archive(spdlog::spdlog ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libholon_own_spdlog.a)
set_target_properties(PkgConfig::tomlplusplus PROPERTIES INTERFACE_LINK_LIBRARIES ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libholon_own_toml.a)
