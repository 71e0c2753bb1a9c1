# The preset aarch64: Debian's cross compiler. build/aarch64-root is the root folder of an aarch64 Debian 12 with the libraries:
#   mmdebstrap --variant=extract --architectures=arm64 --include=PACKAGES bookworm build/aarch64-root
# PACKAGES are those of bootstrap's `packages`, and libcmocka-dev, joined by commas.
# Programs that the build and the tests start run under qemu-user-static.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(LEAT_AARCH64_ROOT ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root CACHE PATH "Root folder of an aarch64 Debian 12")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LEAT_AARCH64_ROOT)
get_filename_component(CMAKE_SYSROOT ${LEAT_AARCH64_ROOT} ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})
