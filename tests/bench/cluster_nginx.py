"""A prepared set in a store that nginx plays: how many bytes go out to all nodes of a cluster in one epoch."""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from object_store import NO_AWS

PORT = 8937
CONFIG = """daemon off; user root; pid {folder}/pid; worker_processes 1; error_log {folder}/errors;
events {{ }} http {{ log_format bytes "$request_method $body_bytes_sent $request_uri"; access_log {folder}/log bytes; sendfile on;
client_body_temp_path {folder}/1; proxy_temp_path {folder}/2; fastcgi_temp_path {folder}/3; uwsgi_temp_path {folder}/4;
scgi_temp_path {folder}/5; server {{ listen 127.0.0.1:{port}; root {folder}/root;
location ~ ^/b/?$ {{ default_type application/xml; try_files /list.xml =404; }} }} }}"""


def write_list(folder):
    """What the store answers that is asked for its objects; nginx makes such ETags."""
    items = ""
    for path in sorted((folder / "root" / "b" / "set").iterdir()):
        state = path.stat()
        items += (f"<Contents><Key>set/{urllib.parse.quote(path.name)}</Key><ETag>&quot;{int(state.st_mtime):x}-{state.st_size:x}&quot;</ETag>"
                  f"<Size>{state.st_size}</Size></Contents>")
    (folder / "root" / "list.xml").write_text('<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                                              f"<IsTruncated>false</IsTruncated>{items}</ListBucketResult>")


def run_node(options, folder, config, rank, world):
    """A node has a cache of its own, and no block is in it. Its steps."""
    settings = folder / f"fetch-{rank}.yaml"
    settings.write_text(json.dumps({"fetch": {"path": str(folder / f"blocks-{rank}")}}))
    env = {**NO_AWS, "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_REGION": "us-east-1",
           "AWS_ENDPOINT_URL": f"http://127.0.0.1:{PORT}", "LEAT_FETCH_CONFIG": str(settings)}
    command = [options.bin / "leatctl", "run", config, "--no-daemon", "--rank", str(rank), "--world-size", str(world), "--format", "jsonl"]
    lines = map(json.loads, subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines())
    return {line["step"]: line["digest"] for line in lines if "step" in line and "digest" in line}


def measure(options, folder, stream, world):
    """The set lies in folder/root/b/set. Bytes of it, those that went out, and requests for them."""
    write_list(folder)
    config = folder / "set.yaml"
    config.write_text("streams:\n  s: " + json.dumps({**stream, "cache": {"prepared": "s3://b/set/"}}) + "\n")
    (folder / "nginx.conf").write_text(CONFIG.format(folder=folder, port=PORT))
    nginx = subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-e", folder / "errors"])
    try:
        while socket.socket().connect_ex(("127.0.0.1", PORT)):
            time.sleep(0.02)
        steps = {}
        for rank in range(world):
            steps.update(run_node(options, folder, config, rank, world))
    finally:
        nginx.terminate()
        nginx.wait()
    sent = [int(n) for method, n in re.findall(r"^(\w+) (\d+) \S*\.leat$", (folder / "log").read_text(), re.M) if method == "GET"]
    n_bytes = sum(path.stat().st_size for path in (folder / "root" / "b" / "set").glob("*.leat"))
    n_out = sum(int(n) for _, n in re.findall(r"^(GET) (\d+) ", (folder / "log").read_text(), re.M))
    return steps, {"set_bytes": n_bytes, "bytes_of_blocks": round(sum(sent) / n_bytes, 3), "bytes_of_all": round(n_out / n_bytes, 3),
                   "requests": len(sent)}
