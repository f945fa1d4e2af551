#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Send pages that belong to a file, by every way that does not copy them.

usage: zerocopy.py recv ADDRESS PORT COUNT
       zerocopy.py send ADDRESS PORT FILE METHOD...
       zerocopy.py splice ADDRESS PORT FILE

recv: takes COUNT TCP connections, one after the other, and prints the SHA-256
of what came by each.
send: sends FILE by a connection for each METHOD: zerocopy (MSG_ZEROCOPY of the
mapped file), sendfile, or splice (through a pipe).
splice: sends FILE as one UDP datagram, whose pages are those of the file.
"""
import hashlib
import mmap
import os
import socket
import sys

SO_ZEROCOPY, MSG_ZEROCOPY = 60, 0x4000000


def family(addr):
    return socket.AF_INET6 if ":" in addr else socket.AF_INET


def receive(addr, port, count):
    with socket.create_server((addr, int(port)), family=family(addr)) as server:
        print("listening", flush=True)
        for _ in range(int(count)):
            conn, _ = server.accept()
            digest = hashlib.sha256()
            with conn:
                while data := conn.recv(1 << 18):
                    digest.update(data)
            print(digest.hexdigest(), flush=True)


def by_zerocopy(sock, file):
    sock.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as pages, \
            memoryview(pages) as view:
        done = 0
        while done < len(view):
            # As few notifications as fit into the socket's own memory
            done += sock.send(view[done:done + (1 << 17)], MSG_ZEROCOPY)
        # The pages must stay mapped until they have been sent
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(1):
            pass


def by_sendfile(sock, file):
    done, size = 0, os.fstat(file.fileno()).st_size
    while done < size:
        done += os.sendfile(sock.fileno(), file.fileno(), done, size - done)


def through_pipe(sock, file, size):
    out, into = os.pipe()
    try:
        done = 0
        while done < size:
            count = splice(file.fileno(), into, min(size - done, 1 << 16))
            done += count
            while count:
                count -= splice(out, sock.fileno(), count)
    finally:
        os.close(out)
        os.close(into)


def splice(source, target, count):
    # os.splice() is in Python 3.10 and later
    if hasattr(os, "splice"):
        return os.splice(source, target, count)
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.splice(source, None, target, None, ctypes.c_size_t(count), 0)
    if done < 0:
        raise OSError(ctypes.get_errno(), "splice")
    return done


def by_splice(sock, file):
    through_pipe(sock, file, os.fstat(file.fileno()).st_size)


def send(addr, port, path, *methods):
    ways = {"zerocopy": by_zerocopy, "sendfile": by_sendfile,
            "splice": by_splice}
    for method in methods:
        with socket.create_connection((addr, int(port))) as sock, \
                open(path, "rb") as file:
            ways[method](sock, file)


def splice_datagram(addr, port, path):
    with socket.socket(family(addr), socket.SOCK_DGRAM) as sock, \
            open(path, "rb") as file:
        sock.connect((addr, int(port)))
        by_splice(sock, file)


if __name__ == "__main__":
    {"recv": receive, "send": send,
     "splice": splice_datagram}[sys.argv[1]](*sys.argv[2:])
