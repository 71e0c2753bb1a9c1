"""An sshd on a host, with keys of its own in a folder: `host`, which is its, and `key`, which may log in as root; `stranger` may not."""
import pathlib
import subprocess

from leat_harness import Skip, require

SSHD = pathlib.Path("/usr/sbin/sshd")
KEYS = ("host", "key", "stranger")


def write(folder, host, options=""):
    """Keys and configuration; the command that runs it on that host. `options` are those of authorized_keys."""
    if not SSHD.exists():
        raise Skip("sshd is not installed (openssh-server)")
    pathlib.Path("/run/sshd").mkdir(exist_ok=True)  # sshd wants it
    for name in KEYS:
        subprocess.run([require("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    (folder / "known").write_text(f"{host.address} {(folder / 'host.pub').read_text()}")
    (folder / "other-host").write_text(f"{host.address} {(folder / 'stranger.pub').read_text()}")
    (folder / "authorized").write_text(f"{options} {(folder / 'key.pub').read_text()}")
    (folder / "sshd_config").write_text(f"""\
ListenAddress {host.address}
HostKey {folder / "host"}
AuthorizedKeysFile {folder / "authorized"}
PidFile none
StrictModes no
PasswordAuthentication no
Subsystem sftp internal-sftp
""")
    return host.command(SSHD, "-D", "-e", "-f", folder / "sshd_config")
