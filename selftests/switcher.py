#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Switch tunnels to and fro, note when, and judge a capture by that.

usage: switcher.py run NETNS,NETNS SCHEDULE ROUNDS HOLD [SEED]
       switcher.py judge PCAP LOG ADDRESS,ADDRESS PATTERN

run: switches device t0 in both namespaces to wg and back, ROUNDS times, and
holds each state for HOLD milliseconds, every fifth one ten times as long. A
SCHEDULE of "nested" has the first end enter wg first and leave it last; with
"random" each end goes when chance, started with SEED, wants it. For each
switch a line says which end, to what, and the time before and after:

	0 wg 1700000000.123456789 1700000000.234567890

judge: looks at each packet of PCAP (nanoseconds, Ethernet, IPv4 outside) that
an end has sent. From the moment an end's switch to wg has returned until its
switch to ipip is asked for it must not send IP in IP, nor the other way
round. The pattern must never be in a UDP packet. What was seen is counted;
the exit status is 1 if anything was wrong.
"""
import ctypes
import os
import random
import socket
import struct
import sys
import time

RTM_NEWLINK = 16
NLM_F_REQUEST, NLM_F_ACK = 1, 4
NLMSG_ERROR = 2
IFLA_LINKINFO, IFLA_INFO_KIND, IFLA_INFO_DATA = 18, 1, 2
IFLA_CMPTUN_MODE = 1
MODES = {"ipip": 1, "wg": 2}
NETNS_RUN = "/run/netns/"
CLONE_NEWNET = 0x40000000


def attr(kind, data):
    length = 4 + len(data)
    return struct.pack("=HH", length, kind) + data + bytes(-length % 4)


class End:
    """A netlink socket into a namespace, and the device there"""

    def __init__(self, number, netns):
        self.number = number
        self.mode = "ipip"
        libc = ctypes.CDLL(None, use_errno=True)
        with open(NETNS_RUN + netns, "rb") as there:
            if libc.setns(there.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.index = socket.if_nametoindex("t0")

    def switch(self, mode):
        data = attr(IFLA_CMPTUN_MODE, bytes([MODES[mode]]))
        info = attr(IFLA_INFO_KIND, b"cmptun\0") + attr(IFLA_INFO_DATA, data)
        body = struct.pack("=BxHiII", 0, 0, self.index, 0, 0)
        body += attr(IFLA_LINKINFO, info)
        header = struct.pack("=IHHII", 16 + len(body), RTM_NEWLINK,
                             NLM_F_REQUEST | NLM_F_ACK, 0, 0)
        before = time.time_ns()
        self.sock.send(header + body)
        reply = self.sock.recv(65536)
        after = time.time_ns()
        kind, error = struct.unpack_from("=4xH10xi", reply)
        if kind != NLMSG_ERROR or error:
            raise OSError(-error, f"switch of end {self.number} to {mode}")
        self.mode = mode
        print(self.number, mode, before, after)

    def toggle(self):
        self.switch("wg" if self.mode == "ipip" else "ipip")


def run(names, schedule, rounds, hold, seed="0"):
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    first, second = (End(n, name) for n, name in enumerate(names.split(",")))
    ctypes.CDLL(None).setns(own, CLONE_NEWNET)
    hold = int(hold) / 1000
    chance = random.Random(int(seed))

    for turn in range(int(rounds)):
        wait = hold * 10 if turn % 5 == 4 else hold
        if schedule == "nested":
            first.switch("wg")
            second.switch("wg")
            time.sleep(wait)
            second.switch("ipip")
            first.switch("ipip")
            time.sleep(hold)
        else:
            chance.choice((first, second)).toggle()
            time.sleep(chance.random() * 2 * wait)
    for end in (first, second):
        if end.mode != "ipip":
            end.switch("ipip")


def packets(path):
    """Yield (time in ns, IPv4 packet)"""
    with open(path, "rb") as pcap:
        if pcap.read(24)[:4] != b"\x4d\x3c\xb2\xa1":
            sys.exit("not a capture with nanoseconds")
        while header := pcap.read(16):
            sec, nsec, length, _ = struct.unpack("<IIII", header)
            frame = pcap.read(length)
            if frame[12:14] == b"\x08\x00":
                yield sec * 10**9 + nsec, frame[14:]


def forbidden_spans(log):
    """For each end, when it must not send IP in IP, and when not UDP"""
    spans = {}
    since = {}
    with open(log, encoding="ascii") as lines:
        for line in lines:
            end, mode, before, after = line.split()
            end = int(end)
            last = since.get(end)
            if last:
                spans.setdefault((end, last[0]), []).append(
                    (last[1], int(before)))
            since[end] = (mode, int(after))
    for end, (mode, start) in since.items():
        spans.setdefault((end, mode), []).append((start, 1 << 63))
    return spans


def inside(spans, moment):
    return any(start <= moment <= stop for start, stop in spans)


def judge(pcap, log, addresses, pattern):
    spans = forbidden_spans(log)
    ends = {socket.inet_aton(addr): n
            for n, addr in enumerate(addresses.split(","))}
    pattern = os.fsencode(pattern)
    seen = {"plain": 0, "plain with the pattern": 0, "data messages": 0}
    wrong = {"IP in IP by an end in wg": 0, "UDP by an end in ipip": 0,
             "the pattern in UDP": 0}

    for moment, packet in packets(pcap):
        end = ends.get(packet[12:16])
        if end is None:
            continue
        body = packet[20:]
        if packet[9] in (socket.IPPROTO_IPIP, socket.IPPROTO_IPV6):
            seen["plain"] += 1
            seen["plain with the pattern"] += pattern in body
            if inside(spans.get((end, "wg"), ()), moment):
                wrong["IP in IP by an end in wg"] += 1
        elif packet[9] == socket.IPPROTO_UDP:
            seen["data messages"] += body[8:12] == b"\4\0\0\0"
            wrong["the pattern in UDP"] += pattern in body
            if inside(spans.get((end, "ipip"), ()), moment):
                wrong["UDP by an end in ipip"] += 1

    for what, count in (seen | wrong).items():
        print(f"{what}: {count}")
    return any(wrong.values()) or not all(seen.values())


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(*sys.argv[2:])
    else:
        sys.exit(judge(*sys.argv[2:]))
