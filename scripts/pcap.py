# SPDX-License-Identifier: GPL-2.0
"""Reads the captures tcpdump writes: Ethernet, IPv4, and in it UDP."""

import struct
import subprocess

WG_NAMES = {1: "initiation", 2: "response", 3: "cookie reply", 4: "data"}


def read_pcap(file):
    """The IPv4 packets of an Ethernet capture, as dictionaries."""
    with open(file, "rb") as stream:
        head = stream.read(24)
        magic, *_, link = struct.unpack("<IHHiIII", head)
        if magic != 0xa1b2c3d4 or link != 1:
            raise ValueError(f"{file}: not a capture this reader knows")
        found = []
        while len(record := stream.read(16)) == 16:
            sec, usec, length, _ = struct.unpack("<IIII", record)
            frame = stream.read(length)
            if frame[12:14] == b"\x08\x00":
                found.append(parse_ipv4(frame[14:], sec * 10**6 + usec))
    return found


def parse_ipv4(data, when):
    header = (data[0] & 15) * 4
    length = struct.unpack("!H", data[2:4])[0]
    packet = {
        "us": when, "bytes": length, "protocol": data[9],
        "from": ".".join(map(str, data[12:16])),
        "to": ".".join(map(str, data[16:20])),
        "payload": data[header:length],
    }
    if packet["protocol"] == 17:
        packet["payload"] = data[header + 8:length]
    return packet


def wg_type(packet):
    if packet["protocol"] == 17 and len(packet["payload"]) >= 4:
        return packet["payload"][0]
    return 0


def text_lines(file, text):
    """Lines of tcpdump's hex and text dump in which the text can be read."""
    dump = subprocess.run(["tcpdump", "-n", "-X", "-r", file], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          stdin=subprocess.DEVNULL).stdout
    return sum(text in line for line in dump.splitlines())
