#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Hold a UDP port until killed.

usage: hold_port.py ADDRESS PORT

An IPv6 address is bound for IPv6 alone. "held" is printed once it is.
"""
import signal
import socket
import sys

address, port = sys.argv[1:]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
with socket.socket(family, socket.SOCK_DGRAM) as sock:
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.bind((address, int(port)))
    print("held", flush=True)
    signal.pause()
