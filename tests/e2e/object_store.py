"""moto_server (PyPI): an object store that verifies signatures."""
import os
import socket
import subprocess

import leat_harness
from leat_harness import BIN, ROOT, Skip

VENV = ROOT / "build/venv/bin"
NO_AWS = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_CONFIG_FILE": "/nonexistent"}


def need_fetch():
    if not (BIN / "leat-fetch").exists():
        raise Skip("leat-fetch is not built: libcurl or expat is missing")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Moto:
    """moto_server with a bucket `data` and a user of its own; signatures are verified from the fourth request on."""

    SETUP = """
import boto3, json, pathlib, sys
url, folder = sys.argv[1:]
name = {"endpoint_url": url, "region_name": "us-east-1"}
iam = boto3.client("iam", aws_access_key_id="none", aws_secret_access_key="none", **name)
iam.create_user(UserName="u")
everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
iam.put_user_policy(UserName="u", PolicyName="p", PolicyDocument=json.dumps(everything))
key = iam.create_access_key(UserName="u")["AccessKey"]
s3 = boto3.client("s3", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"], **name)
s3.create_bucket(Bucket="data")
for path in sorted(pathlib.Path(folder).rglob("*")):
    if path.is_file():
        s3.put_object(Bucket="data", Key=str(path.relative_to(folder)), Body=path.read_bytes())
print(key["AccessKeyId"], key["SecretAccessKey"])
"""

    def __init__(self, folder):
        if not (VENV / "moto_server").exists():
            raise Skip("moto[server] of PyPI is not installed")
        self.folder, port = folder, free_port()
        self.url = f"http://127.0.0.1:{port}"
        with open(folder.parent / f"{folder.name}.moto.log", "wb") as log:
            self.process = subprocess.Popen([VENV / "moto_server", "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=log,
                                            env={**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": "3"})

    def __enter__(self):
        leat_harness.wait_until(self.is_there, "moto_server listens")
        done = subprocess.run([VENV / "python", "-c", self.SETUP, self.url, self.folder], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        self.key, self.secret = done.stdout.decode().split()
        return self

    def is_there(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", int(self.url.rpartition(":")[2]))) == 0

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def env(self, secret=None):
        return {**NO_AWS, "AWS_ACCESS_KEY_ID": self.key, "AWS_SECRET_ACCESS_KEY": secret or self.secret,
                "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": self.url}
