"""Bugs in client (libleat, leatctl and the Python package): see run.py."""

MUTANTS = {
    "client/stream/stream.c": ("client.test_stream client.test_lies client.test_reconnect", [
        ("a batch that is not the next is taken", "    if (leat_cursor_expects(cursor, packet->batch.epoch, packet->batch.step))\n        return 0;", "    return 0;"),
        ("an end of another epoch is taken", "if (packet->end.epoch != cursor->epoch)", "if (false)"),
        ("a window too wide", "if (stream->n_held >= window)", "if (stream->n_held > window)"),
        ("a stream that failed goes on", "    stream->failure = stream->error.code;\n", ""),
        ("a code to go on after ends the stream", "        stream->error.code = -ECONNRESET;\n", "        ;\n"),
        ("a packet of an unknown kind is passed over", "if (kind & 0x8000)\n            return 0;", "return 0;"),
        ("another process goes on", "if (leat_connection_is_own(&stream->connection))\n        return 0;", "return 0;"),
        ("a released batch counts as held", "    stream->n_held--;\n", ""),
        ("releases wait for the next call for ever", "        if (leat_connection_tell_releases(&stream->connection, &stream->error) < 0)\n            return leat_stream_fail(stream);\n", ""),
        ("a release at the end is not told", "stream->is_closed || stream->failure < 0, &stream->error) < 0)", "false, &stream->error) < 0)"),
        ("a batch is freed twice", "if (!batch || !batch->is_held)", "if (!batch)"),
        ("n_steps batches are not the end", "if (packet->end.is_last &&\n        leat_request_is_done", "if (false &&\n        leat_request_is_done"),
        ("no notice is told", "    if (request->on_notice)\n", "    if (false)\n"),
        ("an open batch dies with its stream", "if (!stream->is_closed || stream->n_held > 0)", "if (!stream->is_closed)"),
        ("an epoch is not told", "if (packet->batch.epoch > connection->reached)", "if (false)"),
    ]),
    "client/transport/wire.c": ("client.test_lies client.test_stream fuzz.client_packet e2e.hostile", [
        ("a frame of another size than its packet", "|| size - sizeof(wire->packet) != wire->packet.payload_bytes)", ")"),
        ("a frame too large", "if (wire->packet.payload_bytes >\n        (wire", "if (false &&\n        (wire"),
        ("a payload in two parts is one", "    if (r > 0)\n        wire->n_read = 0;\n", "    wire->n_read = 0;\n"),
        ("no timeout", "    if (timeout_ms < 0)\n        return UINT64_MAX;\n    return leat_now_ns() + (uint64_t)timeout_ms * 1000000U;", "    (void)timeout_ms;\n    return UINT64_MAX;"),
        ("a wake is not taken", "    (void)eventfd_read(wake_fd, &n);\n", "    (void)wake_fd, (void)n;\n"),
    ]),
    "client/connection/outage.c": ("client.test_reconnect client.test_patience e2e.restart", [
        ("each loss has the patience of the first", "    if (outage->is_on) {\n", "    if (false) {\n"),
        ("patience never ends", "    if (now_ns < outage->limit_ns)\n        return false;\n    leat_error_set", "    if (true)\n        return false;\n    leat_error_set"),
        ("a daemon that answers and goes has all patience anew", "    outage->left_ns = outage->limit_ns > now_ns ? outage->limit_ns - now_ns : 0;\n", ""),
        ("nobody hears of a loss", "    outage->is_told = true;\n    send_event(outage, request, LEAT_RECONNECT_LOST, now_ns);\n}\n\nvoid leat_outage_begin_reopening",
         "    outage->is_told = true;\n}\n\nvoid leat_outage_begin_reopening"),
        ("nobody hears of the return", "    send_event(outage, request, LEAT_RECONNECT_BACK, leat_now_ns());", "    (void)outage, (void)request;"),
    ]),
}
