# The installed files. COMPONENT names the Debian package of each (cmake/packages.cmake); without one it is
# leatd's (CMAKE_INSTALL_DEFAULT_COMPONENT_NAME).
install(TARGETS leatd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT leatd)
if(LEAT_FETCH)
    install(TARGETS leat-fetch RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT leatd)
endif()
install(TARGETS leatctl RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT leatctl)

# libleat: the library, its one header, and what pkg-config and find_package(leat) need.
include(CMakePackageConfigHelpers)
set(leat_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/leat)
install(TARGETS leat EXPORT leatTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libleat0 NAMELINK_COMPONENT libleat-dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES client/leat.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libleat-dev)

# libleat-tokenizer, in the same way.
install(TARGETS leat-tokenizer EXPORT leatTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libleat0 NAMELINK_COMPONENT libleat-dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_BINARY_DIR}/leat_tokenizer.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libleat-dev)
install(EXPORT leatTargets NAMESPACE leat:: DESTINATION ${leat_package_dir} COMPONENT libleat-dev)
# Relative to the .pc file, so that it is right wherever --prefix puts it.
file(RELATIVE_PATH leat_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/leat.pc.in leat.pc @ONLY)
configure_file(cmake/leat-tokenizer.pc.in leat-tokenizer.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/leat.pc ${CMAKE_BINARY_DIR}/leat-tokenizer.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT libleat-dev)
configure_package_config_file(cmake/leatConfig.cmake.in leatConfig.cmake INSTALL_DESTINATION ${leat_package_dir})
write_basic_package_version_file(leatConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/leatConfig.cmake ${CMAKE_BINARY_DIR}/leatConfigVersion.cmake
        DESTINATION ${leat_package_dir} COMPONENT libleat-dev)

# The units of systemd, the groups they name, and examples: an /etc/leat/leatd.yaml and the files it
# names. systemd looks for units of packages below /usr/lib and /usr/local/lib, never in the multiarch
# directory. The service names the daemon by its full path, which `cmake --install --prefix` decides.
install(CODE "
    set(CMAKE_INSTALL_BINDIR ${CMAKE_INSTALL_BINDIR})
    cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_BINDIR BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\"
               OUTPUT_VARIABLE CMAKE_INSTALL_FULL_BINDIR)
    foreach(unit leatd.service leat-fetch.service user/leatd.service drain-on-stop.conf)
        configure_file(${CMAKE_SOURCE_DIR}/systemd/\${unit}.in ${CMAKE_BINARY_DIR}/systemd/\${unit} @ONLY)
    endforeach()")
install(FILES ${CMAKE_BINARY_DIR}/systemd/leatd.service systemd/leatd.socket systemd/leatd-copy.socket
        systemd/leatd-control.socket systemd/leatd-http.socket systemd/leatd-failed.target systemd/leat-stunnel.service
        DESTINATION lib/systemd/system)
if(LEAT_FETCH)
    install(FILES ${CMAKE_BINARY_DIR}/systemd/leat-fetch.service systemd/leat-fetch.socket DESTINATION lib/systemd/system)
endif()
# Tunnels end on machines that have no daemon, where leatctl examines them.
install(FILES systemd/leat-stunnel@.service systemd/leat-ssh@.service DESTINATION lib/systemd/system COMPONENT leatctl)
install(DIRECTORY config/tunnel DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/leatctl/examples COMPONENT leatctl)
# The same without root: units of a user's own service manager.
install(FILES ${CMAKE_BINARY_DIR}/systemd/user/leatd.service systemd/user/leatd.socket systemd/user/leatd-copy.socket
        systemd/user/leatd-control.socket systemd/leatd-failed.target DESTINATION lib/systemd/user)
install(FILES ${CMAKE_BINARY_DIR}/systemd/drain-on-stop.conf DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/leatd)
install(FILES systemd/leatd.sysusers.conf RENAME leat.conf DESTINATION lib/sysusers.d)
install(FILES ${CMAKE_BINARY_DIR}/leatd.catalog DESTINATION lib/systemd/catalog)
install(FILES ${CMAKE_BINARY_DIR}/log-events.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/leatd)
install(DIRECTORY config/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/leatd/examples)
