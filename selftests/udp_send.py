#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Send UDP datagrams, many with one start of the interpreter.

usage: udp_send.py ADDRESS PORT SIZE:TOS...

The payload is zeroes; the TOS (or traffic class) is set for each.
"""
import socket
import sys


def main(addr, port, *specs):
    family = socket.AF_INET6 if ":" in addr else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        for spec in specs:
            size, tos = (int(part, 0) for part in spec.split(":"))
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, tos)
            else:
                sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
            sock.sendto(bytes(size), (addr, int(port)))


if __name__ == "__main__":
    main(*sys.argv[1:])
