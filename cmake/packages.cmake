# Debian's packages: `cpack -G DEB`, or ./bootstrap package, which builds first. A package is the component of its name, see
# cmake/install.cmake; cmake/packages/ holds what only they have. Their files are those of `cmake --install --prefix /usr`, besides
# the configuration, copyright and changelog of each, and the Python package.
set(leat_packages leatd leatctl libleat0 libleat-dev)
if(TARGET leat_python)
    list(APPEND leat_packages python3-leat)
endif()

# /etc/leat/leatd.yaml: the example, of which no stream is declared, since that would name data which is not there.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS config/leatd.yaml)
file(READ config/leatd.yaml text)
string(FIND "${text}" "\nstreams:\n" start)
if(start EQUAL -1)
    message(FATAL_ERROR "config/leatd.yaml declares no streams, which its package would comment out")
endif()
string(SUBSTRING "${text}" ${start} -1 streams)
string(SUBSTRING "${text}" 0 ${start} text)
string(REGEX REPLACE "\n([^\n])" "\n# \\1" streams "${streams}")
file(CONFIGURE OUTPUT packages/leatd.yaml CONTENT "${text}${streams}" @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/packages/leatd.yaml DESTINATION /etc/leat COMPONENT leatd EXCLUDE_FROM_ALL)
install(DIRECTORY DESTINATION /etc/leat/streams.d COMPONENT leatd EXCLUDE_FROM_ALL)

foreach(package IN LISTS leat_packages)
    set(doc ${CMAKE_INSTALL_DATADIR}/doc/${package})
    install(FILES cmake/packages/copyright DESTINATION ${doc} COMPONENT ${package} EXCLUDE_FROM_ALL)
    install(FILES cmake/packages/changelog DESTINATION ${doc} RENAME changelog.Debian COMPONENT ${package} EXCLUDE_FROM_ALL)
    if(EXISTS ${CMAKE_SOURCE_DIR}/cmake/packages/${package}/lintian-overrides)
        install(FILES cmake/packages/${package}/lintian-overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
                RENAME ${package} COMPONENT ${package} EXCLUDE_FROM_ALL)
    endif()
endforeach()

# Settings of all packages.
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL ${leat_packages})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGE_NAME leat)
set(CPACK_PACKAGE_VENDOR leat)
set(CPACK_PACKAGE_CONTACT "leat maintainers <maintainers@leat.invalid>" CACHE STRING "Who stands for the packages: NAME <MAIL>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_LEAT_HTTP ${LEAT_HTTP}) # for:
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/cmake/package_relations.cmake)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/package_files.cmake)

# leat_package(NAME SECTION SUMMARY TEXT): what one package says of itself; what it has for dpkg lies in cmake/packages/NAME.
function(leat_package name section summary text)
    string(TOUPPER ${name} upper)
    set(control "")
    foreach(file conffiles preinst postinst prerm postrm shlibs triggers)
        if(EXISTS ${CMAKE_SOURCE_DIR}/cmake/packages/${name}/${file})
            list(APPEND control ${CMAKE_SOURCE_DIR}/cmake/packages/${name}/${file})
        elseif(EXISTS ${CMAKE_SOURCE_DIR}/cmake/packages/${name}/${file}.in)
            configure_file(cmake/packages/${name}/${file}.in packages/${name}/${file} @ONLY)
            list(APPEND control ${CMAKE_BINARY_DIR}/packages/${name}/${file})
        endif()
    endforeach()
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
    set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
    set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
    set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${control}" PARENT_SCOPE)
endfunction()

leat_package(leatd science "makes batches for trainers: the daemon"
    "leatd reads CSV, JSONL, Arrow, Parquet and plain text. Its worker threads make
batches, and trainers read these batches in shared memory. The batches depend
only on the description of the stream, the data, the seed and the epoch.
.
This package installs the service. /etc/leat/leatd.yaml is its configuration.
Members of the group leat-clients may train, and members of leat-admin may
operate the daemon.")
leat_package(leatctl science "makes batches for trainers: the operator's tool"
    "leatctl shows the streams and trainers of the daemon leatd, and stops or
reloads the daemon. It also checks, explains and measures streams before you
train, and can run a stream with a private daemon.")
leat_package(libleat0 libs "makes batches for trainers: the libraries"
    "With libleat, a trainer in C reads batches from the daemon leatd.
libleat-tokenizer turns texts into token ids. It reads the files of Hugging
Face tokenizers, and gives the same ids.")
leat_package(libleat-dev libdevel "makes batches for trainers: headers and files for compiling"
    "This package contains the headers leat.h and leat_tokenizer.h, and the files
with which the linker, pkg-config and CMake find libleat and libleat-tokenizer.")
leat_package(python3-leat python "makes batches for trainers: the Python package"
    "With the Python package leat, you build pipelines in Python, and get batches as
tensors of PyTorch, JAX, MLX or NumPy. The package requires none of these. It
reads batches from the daemon of the machine, or starts a private daemon.")
include(CPack)
