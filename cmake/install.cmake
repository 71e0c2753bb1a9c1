install(TARGETS leatd leatctl RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# libleat: the library, its one header, and what pkg-config and find_package(leat) need.
include(CMakePackageConfigHelpers)
set(leat_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/leat)
install(TARGETS leat EXPORT leatTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES client/leat.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT leatTargets NAMESPACE leat:: DESTINATION ${leat_package_dir})
configure_file(cmake/leat.pc.in leat.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/leat.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
configure_package_config_file(cmake/leatConfig.cmake.in leatConfig.cmake INSTALL_DESTINATION ${leat_package_dir})
write_basic_package_version_file(leatConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/leatConfig.cmake ${CMAKE_BINARY_DIR}/leatConfigVersion.cmake
        DESTINATION ${leat_package_dir})
