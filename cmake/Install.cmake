# Install rules and the exported CMake package: find_package(holon) gives holon::resource and so on.
include(CMakePackageConfigHelpers)
get_property(modules GLOBAL PROPERTY HOLON_MODULES)
list(REMOVE_ITEM modules holon_cli)  # the command line is for people
install(TARGETS ${modules} EXPORT holonTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS holon RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET holon_pmix)
  install(TARGETS holon_pmix RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}/../libexec/holon OPTIONAL)
endif()
install(FILES ${CMAKE_BINARY_DIR}/libexec/holon/slurm/srun DESTINATION ${CMAKE_INSTALL_BINDIR}/../libexec/holon/slurm)
foreach(folder base batch pmi resource qmanager policy holdings sim config starter transport launch msg client web instance)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION include/holon FILES_MATCHING PATTERN "*.hpp")
endforeach()
install(EXPORT holonTargets NAMESPACE holon:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/holon)
configure_package_config_file(cmake/holonConfig.cmake.in ${CMAKE_BINARY_DIR}/holonConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/holon)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/holonConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/holonConfig.cmake ${CMAKE_BINARY_DIR}/holonConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/holon)
