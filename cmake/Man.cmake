# Man pages, rendered by the binary itself from the text of --help: build/PRESET/man/holon*.1
if(NOT CMAKE_CROSSCOMPILING)
  set(HOLON_MAN_DIR ${PROJECT_BINARY_DIR}/man)
  add_custom_command(OUTPUT ${HOLON_MAN_DIR}/holon.1
                     COMMAND holon man ${HOLON_MAN_DIR}
                     DEPENDS holon
                     COMMENT "Writing the man pages" VERBATIM)
  add_custom_target(holon_man ALL DEPENDS ${HOLON_MAN_DIR}/holon.1)
  install(DIRECTORY ${HOLON_MAN_DIR}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
endif()
