# Manual pages, where there is scdoc, and completion for shells: made by the programs themselves and from what they know.
find_program(LEAT_SCDOC scdoc)
set(completion ${CMAKE_BINARY_DIR}/completion)
add_custom_command(OUTPUT ${completion}/leatctl ${completion}/_leatctl DEPENDS leatctl VERBATIM
                   COMMAND ${CMAKE_COMMAND} -E make_directory ${completion}
                   COMMAND leatctl completion bash > ${completion}/leatctl
                   COMMAND leatctl completion zsh > ${completion}/_leatctl)
add_custom_target(completion ALL DEPENDS ${completion}/leatctl ${completion}/_leatctl)
install(FILES ${completion}/leatctl DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT leatctl)
install(FILES ${completion}/_leatctl DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT leatctl)

if(NOT LEAT_MAN OR NOT LEAT_SCDOC)
    message(STATUS "No manual pages: they take LEAT_MAN and scdoc")
    return()
endif()
file(GLOB generators CONFIGURE_DEPENDS cmake/man/*.py)
file(GLOB written CONFIGURE_DEPENDS client/man/*.scd daemon/man/*.scd)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/made VERBATIM
                   DEPENDS leatctl leatd ${generators} ${written} client/leat.h proto/leat.proto proto/control_verbs.def
                   COMMAND Python3::Interpreter -B ${CMAKE_SOURCE_DIR}/cmake/man/make.py --bin $<TARGET_FILE_DIR:leatctl>
                           --root ${CMAKE_SOURCE_DIR} --scdoc ${LEAT_SCDOC} --to ${CMAKE_BINARY_DIR}/man
                   COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/man/made)
add_custom_target(man ALL DEPENDS ${CMAKE_BINARY_DIR}/man/made)
foreach(package leatd leatctl libleat-dev)
    install(DIRECTORY ${CMAKE_BINARY_DIR}/man/${package}/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT ${package})
endforeach()
