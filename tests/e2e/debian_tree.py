"""A Debian 12 that nothing was installed into, to install packages in and boot: made by mmdebstrap, kept between runs.

The tree has systemd and apt, and in apt's cache what the packages need from Debian, so that what boots it needs no
network: it is made again when they need something else.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess

from leat_harness import Skip, require

MAKE_S = 600
KEPT = ["cleanup/apt/lists", "cleanup/apt/cache"]  # what mmdebstrap would clear away


def mirrors():
    """Where this machine's apt has its Debian 12 from, as lines for a sources.list."""
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(SITE)|$(RELEASE)|$(COMPONENT)",
                           "Identifier: Packages"], capture_output=True, text=True, check=True)
    targets = [line.split("|") for line in done.stdout.splitlines()]
    lines = {f"deb {site} {release} {component}" for origin, site, release, component in targets
             if origin == "Debian" and release.startswith("bookworm") and component == "main"}
    if not any(" bookworm main" in line for line in lines):
        raise Skip("apt knows no mirror of Debian 12 (apt-get update)")
    return sorted(lines)


def needs(packages):
    """What these files of packages need besides each other, in one word."""
    fields = [subprocess.run(["dpkg-deb", "--field", package, "Package", "Depends"], capture_output=True, text=True,
                             check=True).stdout for package in packages]
    return hashlib.sha256("\n".join(fields).encode()).hexdigest()


def make(folder, packages):
    """The tree in `folder`, with what `packages` need in apt's cache."""
    require("mmdebstrap")
    folder.parent.mkdir(parents=True, exist_ok=True)
    names = " ".join(f"/run/packages/{package.name}" for package in packages)
    fetch = f'chroot "$1" apt-get clean; chroot "$1" apt-get install --download-only --yes --no-install-recommends {names}'
    done = subprocess.run(
        ["mmdebstrap", "--quiet", "--mode=root", "--variant=apt", "--include=systemd,systemd-sysv",
         *(f"--skip={what}" for what in KEPT), '--customize-hook=mkdir -p "$1/run/packages"',
         f"--customize-hook=copy-in {' '.join(map(str, packages))} /run/packages", f"--customize-hook={fetch}",
         "bookworm", folder, "-"],
        input="\n".join(mirrors()), capture_output=True, text=True, timeout=MAKE_S)
    if done.returncode != 0:
        shutil.rmtree(folder, ignore_errors=True)
        raise Skip("mmdebstrap makes no Debian 12 here: " + done.stderr.strip().split("\n")[-1])


def find(folder, packages):
    """The tree in `folder` (pathlib.Path), with what the files `packages` need; made if there is none that has it."""
    mark = folder / ".needs"
    wanted = needs(packages)
    if mark.exists() and mark.read_text() == wanted:
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    beside = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        make(beside, packages)
        (beside / ".needs").write_text(wanted)
        beside.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return pathlib.Path(folder)
