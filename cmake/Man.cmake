# Man pages, rendered by the binary itself from the text of --help: build/PRESET/man/holon*.1; and what
# shells need to complete its words: build/PRESET/completion/. An installation of the program alone goes without.
if(NOT CMAKE_CROSSCOMPILING)
  set(HOLON_MAN_DIR ${PROJECT_BINARY_DIR}/man)
  add_custom_command(OUTPUT ${HOLON_MAN_DIR}/holon.1
                     COMMAND holon man ${HOLON_MAN_DIR}
                     DEPENDS holon
                     COMMENT "Writing the man pages" VERBATIM)
  add_custom_target(holon_man ALL DEPENDS ${HOLON_MAN_DIR}/holon.1)
  install(DIRECTORY ${HOLON_MAN_DIR}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL FILES_MATCHING PATTERN "*.1")
  set(HOLON_COMPLETION_DIR ${PROJECT_BINARY_DIR}/completion)
  add_custom_command(OUTPUT ${HOLON_COMPLETION_DIR}/holon
                     COMMAND ${CMAKE_COMMAND} -E make_directory ${HOLON_COMPLETION_DIR}
                     COMMAND holon completion zsh ${HOLON_COMPLETION_DIR}/_holon
                     COMMAND holon completion fish ${HOLON_COMPLETION_DIR}/holon.fish
                     COMMAND holon completion bash ${HOLON_COMPLETION_DIR}/holon
                     DEPENDS holon
                     COMMENT "Writing the completions" VERBATIM)
  add_custom_target(holon_completion ALL DEPENDS ${HOLON_COMPLETION_DIR}/holon)
  install(FILES ${HOLON_COMPLETION_DIR}/holon DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions OPTIONAL)
  install(FILES ${HOLON_COMPLETION_DIR}/_holon DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions OPTIONAL)
  install(FILES ${HOLON_COMPLETION_DIR}/holon.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
endif()
