#!/usr/bin/env python3
"""A trainer on another host, through stunnel with mutual TLS or through ssh, by the files in config/tunnel.

    test_tunnels.py BIN [PATTERN]
"""
import contextlib
import os
import pathlib
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import data
import hosts
import leat_harness
import sshd
from test_doctor import findings
from leat_harness import BIN, HANG_S, ROOT, require, wait_until

EXAMPLES = ROOT / "config" / "tunnel"
N_CUTS = 2
PIPE_BYTES = 4096
STREAM = {"batch_size": 8, "shuffle": 500}


def openssl(*words):
    subprocess.run([require("openssl"), *map(str, words)], check=True, capture_output=True)


def make_ca(folder, name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", 30, "-subj", f"/CN={name}",
            "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem")


def make_certificate(folder, ca, name, *more):
    """`more`: what openssl x509 is given besides."""
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
            "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.csr")
    (folder / "names").write_text(f"subjectAltName=DNS:{name}")
    openssl("x509", "-req", "-in", folder / f"{name}.csr", "-CA", folder / f"{ca}.pem", "-CAkey", folder / f"{ca}.key", "-CAcreateserial",
            "-extfile", folder / "names", "-out", folder / f"{name}.pem", *(more or ("-days", "30")))


class Tunnel:
    """A server and then a client, which can be ended and started again. The client's socket goes with it, as its unit's
    RuntimeDirectory does."""

    def __init__(self, pair, server, client):
        self.pair, self.commands, self.log, self.processes = pair, (server, client), pair.folder / "tunnel.log", []
        self.log.unlink(missing_ok=True)

    def start(self):
        with open(self.log, "ab") as log:
            for command in self.commands:
                self.processes.append(subprocess.Popen([require("setpriv"), "--pdeathsig", "KILL", *command], stdin=subprocess.DEVNULL,
                                                       stdout=log, stderr=log))
                wait_until(lambda: self.pair.far.listens(self.pair.port), "the server is there")

    def end(self):
        while self.processes:
            process = self.processes.pop()
            process.kill()
            process.wait()
        self.pair.socket.unlink(missing_ok=True)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.end()


class Pair:
    """A daemon on one host, a trainer on the other, and the steps as they are without a tunnel."""

    def __init__(self, folder, stack, port):
        self.folder, self.port = folder, port
        self.stream = data.titanic_stream(data.titanic(folder, 8 * 400), **STREAM)
        self.far, self.near = stack.enter_context(hosts.cluster(2))
        self.daemon = hosts.start_daemon(stack, folder, self.far, data.yaml_text({"s": self.stream}, workers=1))
        self.alone = hosts.steps_of(self.daemon.pull("s", "--format", "jsonl").stdout.splitlines())
        self.place = folder / "near"
        self.place.mkdir()
        self.socket = self.place / "copy.sock"

    def pull(self, *args, stderr=subprocess.PIPE):
        return self.near.popen(BIN / "leatctl", "pull", "s", "--format", "jsonl", "--delivery", "copy", "--reconnect", "20", *args, stdout=subprocess.PIPE,
                               stderr=stderr, env={**os.environ, "LEAT_SOCKET": str(self.place)}, pipesize=PIPE_BYTES)

    def check_cut(self, tunnel):
        """The tunnel ends in mid-epoch and is there again: the trainer gets what it would have."""
        with tunnel:
            wait_until(lambda: self.near.listens_at(self.socket), "the client is there")
            told = self.folder / "told"
            with open(told, "wb") as file:
                process, lines = self.pull(stderr=file), []
            for i in range(N_CUTS):
                n_least = len(lines) + 40
                while len(lines) < n_least or told.read_text().count("connected again") < i:
                    line = process.stdout.readline()
                    assert line, told.read_text() + tunnel.log.read_text()[-2000:]
                    lines.append(line)
                tunnel.end()
                tunnel.start()
            lines += process.stdout.readlines()
            assert process.wait(HANG_S) == 0, told.read_text()
            assert told.read_text().count("connected again") == N_CUTS, told.read_text()
            assert hosts.steps_of(lines) == self.alone

    def check_refused(self, tunnel, why):
        """The trainer ends with an error, the daemon has not seen it, and the tunnel has said why."""
        with tunnel:
            wait_until(lambda: self.near.listens_at(self.socket), "the client is there")
            process = self.pull("--batches", "1", "--reconnect", "0")
            out, err = process.communicate(timeout=HANG_S)
            assert process.returncode != 0 and b"closed the connection during the handshake" in err and b'"step"' not in out, (process.returncode, err.decode())
        assert self.daemon.status()["n_refused"] == 0 and self.daemon.sessions() == []
        told = tunnel.log.read_text()
        assert why in told, told


def stunnel_conf(folder, name, **values):
    """One of the examples, with these values in place of its own; None: without that line."""
    lines = ["output = /dev/stdout"]
    for line in (EXAMPLES / name).read_text().splitlines():
        key = line.split(" = ")[0]
        if key not in values:
            lines.append(line)
        elif values[key] is not None:
            lines.append(f"{key} = {values[key]}")
    assert all(f"\n{key} =" in (EXAMPLES / name).read_text() for key in values), values
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def test_stunnel(folder):
    program = require("stunnel4")
    with contextlib.ExitStack() as stack:
        pair, tls = Pair(folder, stack, 9465), folder / "tls"
        tls.mkdir()
        for ca in ("ca", "other-ca"):
            make_ca(tls, ca)
        for name, ca, more in (("n0", "ca", ()), ("n1", "ca", ()), ("stranger", "other-ca", ()), ("late", "ca", ("-days", "-1"))):
            make_certificate(tls, ca, name, *more)
        (far := folder / "far").mkdir()
        server = stunnel_conf(far, "stunnel.conf", connect=pair.daemon.sockets / "copy.sock", cert=tls / "n0.pem", key=tls / "n0.key",
                              CAfile=tls / "ca.pem")

        def tunnel(**values):
            client = stunnel_conf(pair.place, "stunnel-NAME.conf", **{
                "accept": pair.socket, "connect": f"{pair.far.address}:9465", "cert": tls / "n1.pem", "key": tls / "n1.key",
                "CAfile": tls / "ca.pem", "checkHost": "n0", **values})
            return Tunnel(pair, pair.far.command(program, server), pair.near.command(program, client))
        pair.check_cut(tunnel())
        for values, why in (
                ({"cert": None, "key": None}, "peer did not return a certificate"),
                ({"cert": tls / "stranger.pem", "key": tls / "stranger.key"}, "Rejected by CERT at depth=0: CN=stranger"),
                ({"cert": tls / "late.pem", "key": tls / "late.key"}, "certificate has expired"),
                ({"CAfile": tls / "other-ca.pem"}, "Rejected by CERT at depth=1: CN=ca"),
                ({"checkHost": "n7"}, "Subject checks failed")):
            pair.check_refused(tunnel(**values), why)



def test_doctor(folder):
    """Each fault of a tunnel is found, with its mend."""
    require("openssl")
    for ca in ("ca", "other-ca"):
        make_ca(folder, ca)
    for name, ca, days in (("good", "ca", 30), ("soon", "ca", 5), ("late", "ca", -1), ("stranger", "other-ca", 30)):
        make_certificate(folder, ca, name, "-days", days)
    (folder / "noise.pem").write_bytes(os.urandom(5000))
    (folder / "copy.sock.file").touch()
    well = {"accept": folder / "copy.sock", "cert": folder / "good.pem", "CAfile": folder / "ca.pem"}

    def states(example, **values):
        file = stunnel_conf(folder, example, **values)
        found = findings(leat_harness.ctl("doctor", file, "--json", check=False))
        assert {area for area, _ in found} == {"tunnels"}
        assert found.pop(("tunnels", "leat-stunnel@NAME.service" if "NAME" in example else "leat-stunnel.service"))["state"] != "ok"
        return {name: finding["state"] for (_, name), finding in found.items()}
    is_well = {"socket": "ok", "certificate": "ok", "verification": "ok"}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "copy.sock"))
        listener.listen()
        assert states("stunnel-NAME.conf", **well) == is_well
        for values, name, state in (
                ({"accept": folder / "none.sock"}, "socket", "fail"), ({"accept": folder / "copy.sock.file"}, "socket", "fail"),
                ({"cert": folder / "late.pem"}, "certificate", "fail"), ({"cert": folder / "soon.pem"}, "certificate", "warn"),
                ({"cert": folder / "stranger.pem"}, "certificate", "fail"), ({"cert": folder / "noise.pem"}, "certificate", "fail"),
                ({"cert": folder / "none.pem"}, "certificate", "fail"), ({"cert": None}, "certificate", "fail"),
                ({"cert": "/dev/zero"}, "certificate", "fail"),
                ({"verifyChain": "no"}, "verification", "fail"), ({"verifyChain": "yes\nrequireCert = no"}, "verification", "fail"),
                ({"CAfile": None}, "verification", "fail"), ({"checkHost": None}, "verification", "warn")):
            assert states("stunnel-NAME.conf", **{**well, **values}) == {**is_well, name: state}, values
        server = {"connect": well["accept"], "cert": well["cert"], "CAfile": well["CAfile"]}
        assert states("stunnel.conf", **server) == is_well
        assert states("stunnel.conf", **{**server, "verifyChain": None}) == {**is_well, "verification": "fail"}
    for noise in (b"", b"\0" * 100000, b"[" * 100000, b"=\n" * 100000, os.urandom(100000), b"cert = " + b"x" * 9000 + b"\n"):
        (folder / "noise.conf").write_bytes(noise)
        assert leat_harness.ctl("doctor", folder / "noise.conf", check=False).returncode == 1, noise[:9]
    (folder / "it's $(touch owned).conf").write_text("")
    leat_harness.ctl("doctor", folder / "it's $(touch owned).conf", check=False, cwd=folder)
    assert not (folder / "owned").exists()


def test_ssh(folder):
    ssh = require("ssh")
    with contextlib.ExitStack() as stack:
        pair = Pair(folder, stack, 22)
        may = next(line for line in (EXAMPLES / "ssh_config").read_text().splitlines() if "ssh-ed25519" in line).split()[1]
        server = sshd.write(folder, pair.far, may)

        def tunnel(key="key", known="known"):
            text = (EXAMPLES / "ssh_config").read_text()
            for old, new in (("HOST", pair.far.address), ("User leat-tunnel", "User root"), ("/run/leat-NAME", str(pair.place)),
                             ("/run/leat/copy.sock", str(pair.daemon.sockets / "copy.sock")), ("/etc/leat/ssh_known_hosts", str(folder / known))):
                assert old in text, old
                text = "\n".join(line if line.startswith("#") else line.replace(old, new) for line in text.split("\n"))
            (folder / "ssh_config").write_text(text)
            return Tunnel(pair, server, pair.near.command(ssh, "-N", "-F", folder / "ssh_config", "-i", folder / key, "NAME"))
        pair.check_cut(tunnel())
        for values, why in (({"key": "stranger"}, "Permission denied"), ({"known": "other-host"}, "Host key verification failed")):
            with tunnel(**values) as refused:
                wait_until(lambda: why in refused.log.read_text(), why)
                assert not pair.socket.exists()


if __name__ == "__main__":
    leat_harness.main(globals())
