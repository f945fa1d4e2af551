#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Send captured WireGuard messages again, as they were or damaged.

usage: packets.py resend PCAP TYPE [TIMES]	all messages of that type
       packets.py garbage PCAP			damaged ones of every kind
       packets.py extract PCAP TYPE FILE	the payload of the last one

PCAP is what tcpdump wrote on an Ethernet device, IPv4 only. The packets go
out with the addresses and ports that they had, and without a UDP checksum,
as that of the capture may never have been filled in. The number of datagrams
sent is printed.
"""
import socket
import struct
import sys

INITIATION, RESPONSE, COOKIE, DATA = 1, 2, 3, 4


def datagrams(path):
    """Yield (source, destination, source port, destination port, payload)"""
    with open(path, "rb") as pcap:
        magic = pcap.read(24)[:4]
        order = "<" if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        while header := pcap.read(16):
            frame = pcap.read(struct.unpack(order + "IIII", header)[2])
            packet = frame[14:]
            if frame[12:14] != b"\x08\x00" or packet[9] != socket.IPPROTO_UDP:
                continue
            udp = packet[(packet[0] & 15) * 4:]
            sport, dport, length = struct.unpack("!HHH", udp[:6])
            yield (packet[12:16], packet[16:20], sport, dport, udp[8:length])


class Sender:
    """Sends with any source address"""

    def __init__(self):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_RAW,
                                  socket.IPPROTO_RAW)
        self.count = 0

    def send(self, like, payload):
        src, dst, sport, dport, _ = like
        udp = struct.pack("!HHHH", sport, dport, 8 + len(payload), 0) + payload
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64,
                         socket.IPPROTO_UDP, 0, src, dst)
        self.sock.sendto(ip + udp, (socket.inet_ntoa(dst), 0))
        self.count += 1


def flipped(payload, offset):
    damaged = bytearray(payload)
    damaged[offset] ^= 0x40
    return bytes(damaged)


def damages(payload):
    """Every way in which a message of its type is not right any more"""
    size = len(payload)
    for length in sorted({0, 1, 3, 4, 8, 15, 16, 31, size // 2, size - 1}):
        yield payload[:length]
    for offset in sorted({0, 1, 3, 4, 7, 8, 12, 15, 16, 40, 60, 87, size // 2,
                          size - 17, size - 16, size - 1}):
        if offset < size:
            yield flipped(payload, offset)
    yield payload + b"\0"
    yield payload + payload


def garbage(sender, messages):
    first = {}
    for like in messages:
        if like[4]:
            first.setdefault(like[4][0], like)
    for like in first.values():
        for payload in damages(like[4]):
            sender.send(like, payload)
    like = first[DATA]
    for kind in (0, COOKIE, 5, 255):
        for length in (4, 32, 64, 92, 148):
            sender.send(like, bytes([kind]) + bytes(length - 1))
    # What was never a message at all
    for payload in (b"", b"\0", b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 1400):
        sender.send(like, payload)


def main(command, path, kind="0", times="1"):
    messages = list(datagrams(path))
    if command == "extract":
        last = [m[4] for m in messages if m[4] and m[4][0] == int(kind)][-1]
        with open(times, "wb") as out:
            out.write(last)
        return

    sender = Sender()
    if command == "garbage":
        garbage(sender, messages)
    else:
        for _ in range(int(times)):
            for like in messages:
                if like[4] and like[4][0] == int(kind):
                    sender.send(like, like[4])
    print(sender.count)


if __name__ == "__main__":
    main(*sys.argv[1:])
