"""The wheels of `./bootstrap wheels`, in root folders with nothing but a Python: the README's first example runs there.

A root folder is made by mmdebstrap, and kept in build/. What is in it runs in namespaces of its own, with an upper layer that goes
with the test. Programs of aarch64 run by qemu, which only these namespaces know (Linux 6.7). Debian 11, of glibc 2.31, has no
Python 3.11: it gets one that is compiled there, of Debian 12's source, in some minutes. This Python has no pyexpat, as its source needs
a newer expat, and so no pip: the wheel is unpacked there. Times are printed, and judged by nobody.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import documents
import pytest
from conftest import ROOT

import leat

README = ROOT / "README.md"
BUILD = ROOT / "build"
MAX_MB = 12
MAX_INSTALLED_MB = 100
GLIBC = (2, 28)
ARCHS = ("x86_64", "aarch64")
OF_GLIBC = re.compile(r"lib(c|m|dl|rt|pthread)\.so\.\d|ld-linux-(x86-64|aarch64)\.so\.\d")
TIMEOUT_S = 3000
# Files of aarch64's programs start so; F: qemu is opened now, outside of the root folder.
BINFMT = (r":leat:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00"
          r"\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64-static:FPC")
ENTER = """
if [ -n "$BINFMT" ]; then
    mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
    printf %s "$BINFMT" >/proc/sys/fs/binfmt_misc/register
fi
mkdir root layer
mount -t tmpfs tmpfs layer
mkdir layer/upper layer/work
mount -t overlay -o "lowerdir=$LOWER,upperdir=layer/upper,workdir=layer/work" overlay root
mkdir -p root/proc root/dev root/tmp root/share
mount -t proc proc root/proc
mount --rbind /dev root/dev
mount --bind share root/share
exec chroot root /bin/sh -euc "cd /tmp && . /share/script"
"""
# Installs the wheel and runs the example; in its last line the bytes that this took on the disk, and milliseconds.
SCRIPT = """
{python} -m venv {options} env
empty=$(du -sb env | cut -f1)
start=$(date +%s%N)
{install}
env/bin/python /share/example.py
end=$(date +%s%N)
{programs}/leatctl --version
{programs}/leatd --version
echo "$(($(du -sb env | cut -f1) - empty)) $(((end - start) / 1000000))"
"""
# After the example: all that it made, in one word.
DIGEST = """
import hashlib
rows = [[(name, tensor.shape, str(tensor.dtype), tensor.tolist()) for name, tensor in batch.items()] for batch in batches]
print(len(rows), hashlib.sha256(repr(rows).encode()).hexdigest())
"""
BY_PIP = {"python": "/usr/bin/python3", "options": "", "programs": "env/bin",
          "install": "env/bin/pip install --quiet --no-index --disable-pip-version-check /share/*.whl"}
PACKAGES = "env/lib/python3.11/site-packages"
UNPACKED = {"python": "/opt/python/bin/python3", "options": "--without-pip", "programs": f"{PACKAGES}/leat/bin",
            "install": f"env/bin/python -m zipfile -e /share/*.whl {PACKAGES} && chmod +x {PACKAGES}/leat/bin/*"}
COMPILE = ("(cd /source && ./configure --quiet --prefix=/opt/python --without-ensurepip --disable-test-modules && make -s -j2 && "
           "make -s install) >/log 2>&1 || { tail -n 30 /log >&2; false; }")


def require(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program}")


def find_wheel(arch: str) -> pathlib.Path:
    found = sorted((BUILD / "wheels").glob(f"leat-*_{arch}.whl"))
    if not found:
        pytest.skip(f"there is no wheel of {arch} in build/wheels: ./bootstrap wheels makes it")
    assert len(found) == 1, found
    return found[0]


def make_root(name: str, suite: str, *options: str) -> pathlib.Path:
    """A root folder by mmdebstrap in build/, unless there is one that was made with the same options."""
    for program in ("mmdebstrap", "unshare", "chroot"):
        require(program)
    folder, mark = BUILD / name, BUILD / f"{name}.made"
    if mark.exists() and mark.read_text() == repr(options):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run(["mmdebstrap", "--quiet", *options, suite, folder], capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != 0:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"mmdebstrap makes no {suite} here: {(done.stderr.strip() or 'no word').splitlines()[-1]}")
    mark.write_text(repr(options))
    return folder


def add_python(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """/opt/python in a root folder of Debian 11: Debian 12's source, compiled in another of them, which has a compiler."""
    if (folder / "opt" / "python" / "bin" / "python3").exists():
        return
    sys.path.insert(0, str(ROOT / "cmake" / "wheels"))
    from make import Sources

    _, dsc = Sources().fetch("python3.11")
    subprocess.run(["dpkg-source", "--no-check", "--no-copy", "--extract", dsc, tmp_path / "source"], check=True, capture_output=True)
    packages = "gcc,libc6-dev,make,zlib1g-dev,libffi-dev"
    done = subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={packages}", "--format=null", "--skip=cleanup/tmp",
         f"--customize-hook=copy-in {tmp_path / 'source'} /", f"--customize-hook=chroot \"$1\" /bin/sh -c '{COMPILE}'",
         f"--customize-hook=copy-out /opt/python {folder / 'opt'}", "bullseye", "-"], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr[-4000:]


def debian_12() -> pathlib.Path:
    return make_root("bare-debian-12", "bookworm", "--variant=minbase", "--architectures=amd64", "--include=python3,python3-venv")


def install(folder: pathlib.Path, arch: str, tmp_path: pathlib.Path, how: dict[str, str] = BY_PIP) -> None:
    """Installs the wheel in that root folder, and runs the README's first example there: it prints what it prints in this Python."""
    wheel = find_wheel(arch)
    (block,) = [block for block in documents.blocks(README) if block.language == "python" and block.runs]
    share = tmp_path / "share"
    share.mkdir()
    shutil.copy(wheel, share)
    (share / "example.py").write_text(block.text + DIGEST)
    (share / "script").write_text(SCRIPT.format(**how))
    here = subprocess.run([sys.executable, share / "example.py"], cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    assert here.stdout.startswith(block.printed)

    is_foreign = os.uname().machine != arch
    if is_foreign:
        require("qemu-aarch64-static")
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LOWER": str(folder), "BINFMT": BINFMT if is_foreign else "",
                   "LC_ALL": "C.UTF-8", "HOME": "/tmp"}
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", ENTER],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S)
    if is_foreign and "binfmt_misc" in done.stderr:
        pytest.skip("this kernel has no binfmt_misc in namespaces (Linux 6.7 has): " + done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr
    *lines, versions, figures = done.stdout.removeprefix(here.stdout).splitlines()
    assert done.stdout.startswith(here.stdout), done.stdout + here.stdout
    n_bytes, ms = map(int, figures.split())
    print(f"\n{folder.name}, {arch}: {n_bytes / 1e6:.1f} MB installed, {ms / 1e3:.1f} s for pip install and the example")
    assert n_bytes < MAX_INSTALLED_MB * 1e6
    assert leat.__version__ in versions and leat.__version__ in lines[0]


@pytest.mark.parametrize("arch", ARCHS)
def test_what_the_wheel_needs(arch: str, tmp_path: pathlib.Path) -> None:
    """Its size and tag, its licences, and no library but the C library of that age."""
    require("readelf")
    wheel = find_wheel(arch)
    assert wheel.name == f"leat-{leat.__version__}-cp311-abi3-manylinux_{GLIBC[0]}_{GLIBC[1]}_{arch}.whl"
    assert wheel.stat().st_size < MAX_MB * 1e6
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    for name in ("_leat.abi3.so", "bin/leatd", "bin/leatctl", "bin/leat-fetch"):
        command = ["readelf", "--wide", "--dynamic", "--version-info", tmp_path / "leat" / name]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert not [library for library in re.findall(r"\(NEEDED\).*\[(.*)\]", told) if not OF_GLIBC.match(library)]
        assert max(tuple(map(int, version.split("."))) for version in re.findall(r"Name: GLIBC_([\d.]+)", told)) <= GLIBC
    (licences,) = tmp_path.glob("*.dist-info/licenses/libraries")
    listed = re.findall(r"(?m)\| (\S+\.txt) \|$", (licences / "README.md").read_text())
    assert len(listed) > 15 and {path.name for path in licences.glob("*.txt")} == set(listed)


def test_debian_12(tmp_path: pathlib.Path) -> None:
    find_wheel("x86_64")
    install(debian_12(), "x86_64", tmp_path)


def test_debian_11(tmp_path: pathlib.Path) -> None:
    find_wheel("x86_64")
    folder = make_root("bare-debian-11", "bullseye", "--variant=minbase", "--architectures=amd64", "--include=libffi7")
    add_python(folder, tmp_path)
    install(folder, "x86_64", tmp_path, UNPACKED)


def test_aarch64_debian_12(tmp_path: pathlib.Path) -> None:
    find_wheel("aarch64")
    # dpkg's scripts of another architecture do not run, so the essential packages that the script uses are named
    folder = make_root("bare-debian-12-arm64", "bookworm", "--variant=extract", "--architectures=arm64",
                       "--include=python3,python3-venv,dash,coreutils")
    install(folder, "aarch64", tmp_path)
