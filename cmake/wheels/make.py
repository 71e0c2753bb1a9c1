#!/usr/bin/env python3
"""Makes wheels of leat, and its source distribution, in build/wheels. A wheel holds all libraries and runs with glibc 2.28 and later.

    make.py [x86_64] [aarch64]            without arguments: both

The libraries are Debian's sources, with Debian's patches, which apt verifies. zig compiles them, statically, in build/static. What
is compiled stays there until its row below, its version or the compiler changes.
"""

import dataclasses
import functools
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import venv

GLIBC = "2.28"
MAX_MB = 12
ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "cmake" / "wheels"
WORK = ROOT / "build" / "static"
WHEELS = ROOT / "build" / "wheels"
TOOLS = WORK / "tools" / "bin"
JOBS = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count()))
FLAGS = "-O2 -fPIC -g0"


@dataclasses.dataclass
class Library:
    """One of Debian's source packages, built by cmake with `options`, unless it has commands of its own: by these."""

    source: str
    licence: str
    options: str = ""
    commands: tuple[str, ...] = ()
    folder: str = "."  # of the source, where it is built
    pc: str = ""  # the .pc file to write where the library brings none: its name and what -l takes


CONFIGURE = "./configure --prefix=$PREFIX --host=$ARCH-linux-gnu --enable-static --disable-shared"
MAKE = (f"make -j{JOBS}", "make install")


def files(library, sources, header):
    """The commands for a library of these C files alone."""
    return (f"$CC $CFLAGS -D_FILE_OFFSET_BITS=64 -c {sources}", f"$AR rcs $PREFIX/lib/lib{library}.a *.o", f"cp {header} $PREFIX/include")


# In the order in which they need each other.
LIBRARIES = [
    Library("zlib", "Zlib", commands=("./configure --prefix=$PREFIX --static", *MAKE)),
    Library("bzip2", "bzip2-1.0.6", commands=files("bz2", "blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c bzlib.c", "bzlib.h")),
    Library("xz-utils", "public domain", commands=(
        f"{CONFIGURE} --disable-xz --disable-xzdec --disable-lzmadec --disable-lzmainfo --disable-scripts --disable-doc --disable-nls", *MAKE)),
    Library("lz4", "BSD-2-Clause", "-DLZ4_BUILD_CLI=OFF -DLZ4_BUILD_LEGACY_LZ4C=OFF -DBUILD_STATIC_LIBS=ON -DCMAKE_C_FLAGS=-DXXH_NAMESPACE=LZ4_",
            folder="build/cmake"),  # it has an xxHash of its own
    Library("libzstd", "BSD-3-Clause", "-DZSTD_BUILD_SHARED=OFF -DZSTD_BUILD_PROGRAMS=OFF", folder="build/cmake"),
    Library("brotli", "MIT", "-DBROTLI_DISABLE_TESTS=ON"),
    Library("snappy", "BSD-3-Clause", "-DBUILD_SHARED_LIBS=ON -DSNAPPY_BUILD_TESTS=OFF -DSNAPPY_BUILD_BENCHMARKS=OFF"),
    Library("xxhash", "BSD-2-Clause", "-DXXHASH_BUILD_XXHSUM=OFF", folder="cmake_unofficial"),
    Library("libcsv", "LGPL-2.1-or-later", commands=files("csv", "libcsv.c", "csv.h")),
    Library("libyaml", "MIT", "-DBUILD_TESTING=OFF", pc="yaml-0.1 yaml"),
    Library("simdjson", "Apache-2.0", "-DSIMDJSON_DEVELOPER_MODE=OFF"),
    Library("pcre2", "BSD-3-Clause", "-DPCRE2_SUPPORT_JIT=ON -DPCRE2_BUILD_TESTS=OFF -DPCRE2_BUILD_PCRE2GREP=OFF"),
    Library("kissfft", "BSD-3-Clause", "-DKISSFFT_DATATYPE=float -DKISSFFT_STATIC=ON -DKISSFFT_TEST=OFF -DKISSFFT_TOOLS=OFF"),
    Library("protobuf-c", "BSD-2-Clause", commands=(f"{CONFIGURE} --disable-protoc", *MAKE)),
    Library("libuv1", "MIT", "-DLIBUV_BUILD_TESTS=OFF -DBUILD_TESTING=OFF"),
    Library("libmicrohttpd", "LGPL-2.1-or-later", commands=(
        f"{CONFIGURE} --disable-https --disable-doc --disable-examples --disable-tools --disable-curl", *MAKE)),
    Library("expat", "MIT", "-DEXPAT_BUILD_TOOLS=OFF -DEXPAT_BUILD_EXAMPLES=OFF -DEXPAT_BUILD_TESTS=OFF -DEXPAT_BUILD_DOCS=OFF "
            "-DEXPAT_SHARED_LIBS=OFF -DEXPAT_DTD=OFF", folder="expat"),
    Library("openssl", "Apache-2.0", commands=(
        "perl Configure linux-$ARCH no-shared no-tests no-engine no-dso no-legacy no-weak-ssl-ciphers --prefix=$PREFIX --libdir=lib "
        "--openssldir=/etc/ssl $CFLAGS", f"make -j{JOBS} build_libs", "make install_dev")),
    Library("curl", "curl", "-DBUILD_CURL_EXE=OFF -DHTTP_ONLY=ON -DCURL_USE_LIBSSH2=OFF -DCURL_USE_LIBPSL=OFF -DUSE_LIBIDN2=OFF "
            "-DUSE_NGHTTP2=OFF -DCURL_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt -DCURL_CA_PATH=none -DCURL_DISABLE_LDAP=ON"),
]


def say(text):
    print(f"== {text}", flush=True)


def run(command, cwd=ROOT, **environment):
    """Its output, of a list of words or a line of the shell; the program ends, and shows all of that, if it fails."""
    words = [str(word) for word in command] if isinstance(command, list) else command
    done = subprocess.run(words, cwd=cwd, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          shell=isinstance(command, str), text=True, errors="replace")
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nmake.py: this failed in {cwd}: {command if isinstance(command, str) else ' '.join(words)}")
    return done.stdout


def make_once(mark, made_of, make):
    """Calls make() unless it was done with the same before, which the file `mark` tells."""
    wanted = hashlib.sha256(repr(made_of).encode()).hexdigest()
    if not mark.exists() or mark.read_text() != wanted:
        mark.parent.mkdir(parents=True, exist_ok=True)
        make()
        mark.write_text(wanted)


def make_tools():
    """A virtual environment with zig, auditwheel and scikit-build-core."""
    def make():
        say("installing zig, auditwheel and scikit-build-core into build/static/tools (PyPI)")
        venv.create(WORK / "tools", with_pip=True, clear=True)
        run([TOOLS / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", HERE / "requirements.txt"])

    make_once(WORK / "tools.made", (HERE / "requirements.txt").read_text(), make)


class Sources:
    """Debian's sources. apt has folders of its own here, so the lists and sources of the machine stay as they are."""

    def __init__(self):
        self.folder = WORK / "sources"
        apt = self.folder / "apt"
        for name in ("parts", "lists/partial", "cache/archives/partial"):
            (apt / name).mkdir(parents=True, exist_ok=True)
        for path in [pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*.[ls]*")]:
            if path.suffix in (".list", ".sources") and path.exists():
                text = re.sub(r"(?m)^Types:.*", "Types: deb-src", re.sub(r"(?m)^deb\s", "deb-src ", path.read_text()))
                (apt / "parts" / path.name).write_text(text)
        (apt / "apt.conf").write_text(f'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "{apt}/parts";\n'
                                      f'Dir::State::lists "{apt}/lists";\nDir::Cache "{apt}/cache";\nAPT::Sandbox::User "";\n')
        self.environment = {"APT_CONFIG": str(apt / "apt.conf")}
        run(["apt-get", "update", "-q"], **self.environment)

    def fetch(self, name):
        """Version and .dsc file of the newest that the mirror has; where that is not the newest of all, says so."""
        told = run(["apt-cache", "showsrc", "--only-source", name], **self.environment)
        versions = sorted(set(re.findall(r"(?m)^Version: (.*)", told)), key=functools.cmp_to_key(compare), reverse=True)
        for version in versions:
            dsc = self.folder / f"{name}_{version.partition(':')[2] or version}.dsc"
            got = subprocess.run(["apt-get", "source", "--download-only", "-q", f"{name}={version}"], cwd=self.folder,
                                 env={**os.environ, **self.environment}, capture_output=True, check=False)
            if got.returncode == 0 and dsc.exists():
                if version != versions[0]:
                    say(f"{name} {version} is taken: the mirror lacks the source of {versions[0]}")
                return version, dsc
        sys.exit(f"make.py: apt finds no source of {name}. Look at `deb` lines and `Types: deb` in /etc/apt: is it Debian's?")


def compare(left, right):
    return -1 if subprocess.run(["dpkg", "--compare-versions", left, "lt", right], check=False).returncode == 0 else 1


class Wheel:
    """The wheel of one architecture: x86_64 or aarch64."""

    def __init__(self, arch):
        self.arch = arch
        self.folder = WORK / arch
        self.prefix = self.folder / "prefix"
        self.bin = self.folder / "bin"
        self.licences = self.folder / "licences"
        self.environment = {"LEAT_WHEEL_ARCH": arch, "LEAT_WHEEL_TOOLS": str(self.bin), "LEAT_WHEEL_PREFIX": str(self.prefix),
                            "PREFIX": str(self.prefix), "ARCH": arch, "CFLAGS": FLAGS, "CXXFLAGS": FLAGS, "CC": f"{self.bin}/cc",
                            "CXX": f"{self.bin}/c++", "AR": f"{self.bin}/ar", "RANLIB": f"{self.bin}/ranlib",
                            "PKG_CONFIG_LIBDIR": f"{self.prefix}/lib/pkgconfig", "CMAKE_TOOLCHAIN_FILE": str(HERE / "zig.cmake"),
                            "CMAKE_GENERATOR": "Ninja", "CMAKE_BUILD_PARALLEL_LEVEL": JOBS, "PATH": f"/usr/bin:{os.environ['PATH']}"}

    def make_compiler(self):
        """Programs cc, c++, ar and ranlib, since build systems want one word for each."""
        self.bin.mkdir(parents=True, exist_ok=True)
        for folder in ("lib/pkgconfig", "include"):
            (self.prefix / folder).mkdir(parents=True, exist_ok=True)
        (zig,) = (WORK / "tools").glob("lib/*/site-packages/ziglang/zig")
        target = f" -target {self.arch}-linux-gnu.{GLIBC}"
        for name in ("cc", "c++", "ar", "ranlib"):
            path = self.bin / name
            path.write_text(f'#!/bin/sh\nexec "{zig}" {name}{target if name in ("cc", "c++") else ""} "$@"\n')
            path.chmod(0o755)

    def make_library(self, library, version, dsc):
        def make():
            say(f"{self.arch}: {library.source} {version}")
            tree = self.folder / "tree"
            shutil.rmtree(tree, ignore_errors=True)
            run(["dpkg-source", "--no-check", "--no-copy", "--extract", dsc, tree])  # apt has checked it
            cmake = (f"cmake -B of-leat -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=$PREFIX -DCMAKE_INSTALL_LIBDIR=lib "
                     f"-DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF {library.options}", "cmake --build of-leat",
                     "cmake --install of-leat")
            for command in library.commands or cmake:
                run(command, cwd=tree / library.folder, **self.environment)
            self.settle(library, version)
            (self.licences / library.source).parent.mkdir(exist_ok=True)
            shutil.copy(tree / "debian" / "copyright", self.licences / f"{library.source}.txt")
            shutil.rmtree(tree)

        make_once(self.folder / f"{library.source}.made", [library, version, FLAGS, (HERE / "requirements.txt").read_text()], make)

    def settle(self, library, version):
        """Static libraries have the names that pkg-config files tell, and there are no others."""
        for path in (self.prefix / "lib").glob("*"):
            plain = re.sub(r"(-static|_a)\.a$", ".a", path.name)
            if ".so" in path.name:
                path.unlink()
            elif plain != path.name:
                path.rename(path.with_name(plain))
        if library.pc:
            name, link = library.pc.split()
            (self.prefix / "lib" / "pkgconfig" / f"{name}.pc").write_text(
                f"Name: {name}\nDescription: {name}\nVersion: {version.partition('-')[0]}\n"
                f"Libs: -L{self.prefix}/lib -l{link}\nCflags: -I{self.prefix}/include\n")

    def make(self, sources, sdist):
        """The wheel in build/wheels, of that source distribution; auditwheel agrees with its tag."""
        self.make_compiler()
        for library in LIBRARIES:
            self.make_library(library, *sources[library.source])
        self.list_licences(sources)
        say(f"{self.arch}: leat")
        plain = self.folder / "plain"
        shutil.rmtree(plain, ignore_errors=True)

        def unpack():
            for name in ("leat", "leat-source"):
                shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / "leat-source").mkdir()
            run(["tar", "--strip-components=1", "-xf", sdist, "-C", self.folder / "leat-source"])

        make_once(self.folder / "leat.made", sdist.read_bytes(), unpack)
        defines = {"LEAT_HTTP": "ON", "LEAT_HTTP_LINKED": "ON", "LEAT_MAN": "OFF", "LEAT_LICENCES": self.licences,
                   "Python3_INCLUDE_DIR": copy_python_headers()}
        settings = ["install.strip=false", f"build-dir={self.folder / 'leat'}", *(f"cmake.define.{name}={value}" for name, value in defines.items())]
        run([TOOLS / "python", "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check",
             "--wheel-dir", plain, *(f"--config-settings={setting}" for setting in settings), self.folder / "leat-source"], **self.environment,
            _PYTHON_HOST_PLATFORM=f"linux-{self.arch}")
        (made,) = plain.glob("*.whl")
        tag = f"manylinux_{GLIBC.replace('.', '_')}_{self.arch}"
        path = f"{TOOLS}:{os.environ['PATH']}"
        # `auto`: it knows only the tags of this machine by name
        told = run([TOOLS / "auditwheel", "repair", "--plat", "auto", "--only-plat", "--wheel-dir", WHEELS, made], PATH=path)
        (wheel,) = WHEELS.glob(f"*{self.arch}.whl")
        if not wheel.name.endswith(f"-{tag}.whl"):
            sys.exit(f"{told}\nmake.py: auditwheel gave {wheel.name} a tag other than {tag}")
        megabytes = wheel.stat().st_size / 1e6
        say(f"{wheel.relative_to(ROOT)}: {megabytes:.1f} MB")
        if megabytes > MAX_MB:
            sys.exit(f"make.py: this is more than {MAX_MB} MB")

    def list_licences(self, sources):
        """licences/README.md: what is in the wheel beside leat; and what Debian knows of the rights in each of them."""
        (zig,) = (WORK / "tools").glob("lib/*/site-packages/ziglang")
        shutil.copy(zig / "lib" / "libcxx" / "LICENSE.TXT", self.licences / "llvm.txt")
        for name in ("Apache-2.0", "LGPL-2.1"):  # which the texts of Debian name as files of that folder
            shutil.copy(pathlib.Path("/usr/share/common-licenses") / name, self.licences)
        rows = [f"| {library.source} | {sources[library.source][0]} | {library.licence} | {library.source}.txt |" for library in LIBRARIES]
        (self.licences / "README.md").write_text(
            "leat's programs and its extension of Python have these libraries inside. They are Debian's sources with Debian's patches.\n"
            "`./bootstrap wheels` in leat's source makes the same wheel, also with libraries that you changed.\n\n"
            "| library | version | licence | text |\n| --- | --- | --- | --- |\n" + "\n".join(rows) +
            "\n| libc++, libunwind, compiler-rt | of zig | Apache-2.0 WITH LLVM-exception | llvm.txt |\n")


def copy_python_headers():
    """A folder of the headers of Python alone: /usr/include has those of another libc beside them."""
    folder, version = WORK / "python", f"python{sys.version_info.major}.{sys.version_info.minor}"
    shutil.copytree(sysconfig.get_path("include"), folder, dirs_exist_ok=True)
    for path in pathlib.Path("/usr/include").glob(f"*-linux-gnu/{version}/pyconfig.h"):  # Debian has one for each architecture, of one sense
        shutil.copy(path, folder)
    return folder


def make_sdist():
    (WHEELS).mkdir(parents=True, exist_ok=True)
    for path in WHEELS.glob("*"):
        path.unlink()
    run([TOOLS / "python", "-m", "build", "--sdist", "--no-isolation", "--outdir", WHEELS, ROOT])
    (sdist,) = WHEELS.glob("*.tar.gz")
    say(f"{sdist.relative_to(ROOT)}: {sdist.stat().st_size / 1e6:.1f} MB")
    return sdist


def main():
    archs = sys.argv[1:] or ["x86_64", "aarch64"]
    if not set(archs) <= {"x86_64", "aarch64"}:
        sys.exit(__doc__)
    make_tools()
    sdist = make_sdist()
    apt = Sources()
    sources = {library.source: apt.fetch(library.source) for library in LIBRARIES}
    for arch in archs:
        Wheel(arch).make(sources, sdist)


if __name__ == "__main__":
    main()
