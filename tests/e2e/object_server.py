"""A web server with objects, as a thread: ranges, ETags, lists of an object store, and faults on demand."""
import hashlib
import http.server
import itertools
import re
import socket
import ssl
import struct
import threading
import urllib.parse
from xml.sax.saxutils import escape, unescape

PAGE = 1000  # keys of a page, as S3 has it


class ObjectServer(http.server.ThreadingHTTPServer):
    """objects: path -> bytes. `requests` is what came: (method, path, query, headers). faults: path -> a function of the
    handler, or a list of them, each for one request (None: no fault); it returns True if it has answered. Paths of objects in
    buckets begin with the bucket. PUT stores, also in parts; `uploads` are those that are under way."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, objects=None, certificate=None, address="127.0.0.1"):
        super().__init__((address, 0), Handler)
        self.objects = {path.lstrip("/"): bytes_ for path, bytes_ in (objects or {}).items()}
        self.requests = []
        self.faults = {}
        self.on_list = None
        self.uploads = {}
        self.numbers = itertools.count()
        self.scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"

    def bodies(self):
        """How many requests asked for bytes of objects."""
        return sum(method == "GET" and "list-type" not in query for method, _, query, _ in self.requests)

    def handle_error(self, request, client_address):
        """Clients may go at any time."""

    def __enter__(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def etag(body):
    return f'"{hashlib.md5(body).hexdigest()}"'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=(), length=None):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def error(self, status, code, headers=()):
        self.answer(status, f"<Error><Code>{code}</Code><Message>this is {code}</Message></Error>".encode(), headers)

    def reset(self):
        """Ends the connection as a machine does that has lost it."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()
        return True

    def list_page(self, bucket, query):
        if self.server.on_list:
            return self.answer(200, self.server.on_list(query).encode())
        prefix = query.get("prefix", "")
        keys = sorted(path[len(bucket) + 1:] for path in self.server.objects if path.startswith(f"{bucket}/{prefix}"))
        start = int(query.get("continuation-token", "0"))
        page, more = keys[start:start + PAGE], len(keys) > start + PAGE
        items = "".join(f"<Contents><Key>{escape(key)}</Key><ETag>{escape(etag(body))}</ETag><Size>{len(body)}</Size></Contents>"
                        for key in page for body in [self.server.objects[f"{bucket}/{key}"]])
        token = f"<NextContinuationToken>{start + PAGE}</NextContinuationToken>" if more else ""
        return self.answer(200, f'<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                           f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{items}</ListBucketResult>".encode())

    def put(self, path, query):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if "uploadId" in query:
            self.server.uploads[query["uploadId"]][int(query["partNumber"])] = body
        elif self.headers.get("If-None-Match") == "*" and path in self.server.objects:
            return self.error(412, "PreconditionFailed")
        else:
            self.server.objects[path] = body
        return self.answer(200, headers={"ETag": etag(body)})

    def post(self, path, query):
        """Begins an upload in parts, or joins them."""
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if "uploads" in query:
            name = f"upload&{next(self.server.numbers)}"
            self.server.uploads[name] = {}
            return self.answer(200, f"<InitiateMultipartUploadResult><UploadId>{escape(name)}</UploadId></InitiateMultipartUploadResult>".encode())
        if self.headers.get("If-None-Match") == "*" and path in self.server.objects:
            return self.error(412, "PreconditionFailed")
        parts = self.server.uploads.pop(query["uploadId"])
        told = re.findall("<PartNumber>(.*?)</PartNumber><ETag>(.*?)</ETag>", text)
        assert [(int(number), unescape(tag, {"&quot;": '"'})) for number, tag in told] == [(k, etag(parts[k])) for k in sorted(parts)], text
        self.server.objects[path] = b"".join(parts[k] for k in sorted(parts))
        return self.answer(200, b"\n \n<?xml version='1.0'?><CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")

    def serve(self):
        parts = urllib.parse.urlsplit(self.path)
        path, query = urllib.parse.unquote(parts.path).lstrip("/"), dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        self.server.requests.append((self.command, path, query, dict(self.headers)))
        fault = self.server.faults.get(path)
        if isinstance(fault, list):
            fault = fault.pop(0) if fault else None
        if fault and fault(self):
            return None
        if "list-type" in query:
            return self.list_page(path.strip("/"), query)
        if self.command == "PUT":
            return self.put(path, query)
        if self.command == "POST":
            return self.post(path, query)
        if self.command == "DELETE":
            self.server.uploads.pop(query["uploadId"])
            return self.answer(204)
        body = self.server.objects.get(path)
        if body is None:
            return self.error(404, "NoSuchKey")
        headers = {"ETag": etag(body)}
        if self.headers.get("If-Match", headers["ETag"]) != headers["ETag"]:
            return self.error(412, "PreconditionFailed")
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not found:
            return self.answer(200, body, headers)
        first, last = int(found[1]), min(int(found[2]), len(body) - 1)
        return self.answer(206, body[first:last + 1], {**headers, "Content-Range": f"bytes {first}-{last}/{len(body)}"})

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve
