# The relations between packages. cpack reads this file when it knows the version; `-D CPACK_DEBIAN_PACKAGE_RELEASE=2` sets another release.
set(version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

# The daemon serves without leatctl, which operators want all the same: it reloads and drains.
# libmicrohttpd is loaded, not linked: no tool finds it.
set(CPACK_DEBIAN_LEATD_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers, init-system-helpers (>= 1.54)")
if(CPACK_LEAT_HTTP)
    string(APPEND CPACK_DEBIAN_LEATD_PACKAGE_DEPENDS ", libmicrohttpd12 | libmicrohttpd12t64")
endif()
set(CPACK_DEBIAN_LEATD_PACKAGE_RECOMMENDS "leatctl")
set(CPACK_DEBIAN_LEATCTL_PACKAGE_RECOMMENDS "leatd")
set(CPACK_DEBIAN_LIBLEAT0_PACKAGE_SUGGESTS "leatd")
set(CPACK_DEBIAN_LIBLEAT-DEV_PACKAGE_DEPENDS "libleat0 (= ${version})")

# Its batches are those of a daemon, and what it knows of stages is what leatctl says.
set(CPACK_DEBIAN_PYTHON3-LEAT_PACKAGE_DEPENDS "leatd, leatctl, python3 (>= 3.11)")
set(CPACK_DEBIAN_PYTHON3-LEAT_PACKAGE_SUGGESTS "python3-numpy, python3-torch")

# Each has a summary of its own, before which CPack would put the project's.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
