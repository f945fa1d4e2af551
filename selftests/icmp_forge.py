#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Send "fragmentation needed" about a packet that was never sent.

usage: icmp_forge.py FROM TO MTU QUOTED_SOURCE QUOTED_DESTINATION PROTOCOL

The ICMP message goes from FROM to TO and quotes an IPv4 header of PROTOCOL
(a number) between the two quoted addresses.
"""
import socket
import struct
import sys


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def header(src, dst, protocol, length):
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length, 1, 0x4000, 64, protocol,
                     0, socket.inet_aton(src), socket.inet_aton(dst))
    return ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]


def main(src, dst, mtu, quoted_src, quoted_dst, protocol):
    quoted = header(quoted_src, quoted_dst, int(protocol), 1400)
    quoted += header("10.100.0.1", "10.100.0.2", 1, 1380) + bytes(8)
    icmp = struct.pack("!BBHHH", 3, 4, 0, 0, int(mtu)) + quoted
    icmp = icmp[:2] + struct.pack("!H", checksum(icmp)) + icmp[4:]
    with socket.socket(socket.AF_INET, socket.SOCK_RAW,
                       socket.IPPROTO_RAW) as sock:
        sock.sendto(header(src, dst, socket.IPPROTO_ICMP, 20 + len(icmp)) +
                    icmp, (dst, 0))


if __name__ == "__main__":
    main(*sys.argv[1:])
