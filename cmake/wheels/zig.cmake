# The toolchain of wheels: zig's clang, for an old glibc, and the static libraries that cmake/wheels/make.py
# built into the prefix. Environment: LEAT_WHEEL_ARCH, LEAT_WHEEL_TOOLS (its wrappers of zig), LEAT_WHEEL_PREFIX.
if(NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL "$ENV{LEAT_WHEEL_ARCH}")
    set(CMAKE_SYSTEM_NAME Linux)
    set(CMAKE_SYSTEM_PROCESSOR $ENV{LEAT_WHEEL_ARCH})
    # leatd and leatctl write a part of what is installed
    set(CMAKE_CROSSCOMPILING_EMULATOR qemu-$ENV{LEAT_WHEEL_ARCH}-static -L /usr/$ENV{LEAT_WHEEL_ARCH}-linux-gnu)
endif()
set(CMAKE_LIBRARY_ARCHITECTURE $ENV{LEAT_WHEEL_ARCH}-linux-gnu)
foreach(tool C_COMPILER:cc CXX_COMPILER:c++ AR:ar RANLIB:ranlib)
    string(REPLACE ":" ";" tool ${tool})
    list(GET tool 0 variable)
    list(GET tool 1 name)
    set(CMAKE_${variable} $ENV{LEAT_WHEEL_TOOLS}/${name})
endforeach()
foreach(kind EXE SHARED MODULE)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT -s)
endforeach()

set(CMAKE_FIND_ROOT_PATH $ENV{LEAT_WHEEL_PREFIX})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} $ENV{LEAT_WHEEL_PREFIX}/lib/pkgconfig)
set(PKG_CONFIG_ARGN --static) # with what the libraries themselves need
