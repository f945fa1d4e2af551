#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Raw rtnetlink messages that ip(8) would not send.

rtnl.py bad DEV        each wrong message is refused, says why, changes nothing
rtnl.py flags DEV      NLM_F_EXCL and NLM_F_REPLACE
rtnl.py dump DEV       the whole answer to RTM_GETLINK, in hexadecimal
rtnl.py listen SECONDS RTM_NEWLINK notices, in hexadecimal, a line each
"""
import os
import select
import socket
import struct
import sys
import time

NEWLINK, GETLINK = 16, 18
REQUEST, ACK, REPLACE, EXCL, CREATE = 1, 4, 0x100, 0x200, 0x400
LINKINFO, INFO_KIND, INFO_DATA, MTU, NESTED = 18, 1, 2, 4, 0x8000
MODE, LINK, LOCAL, REMOTE, LOCAL6, REMOTE6, TTL, TOS, PMTUDISC, FWMARK, \
    PRIVATE, PUBLIC, PORT, PEER = range(1, 15)
P_KEY, P_PSK, P_FLAGS, P_ENDPOINT, P_KEEPALIVE, P_LAST, P_RX, P_TX, \
    P_ALLOWED = range(1, 10)
KEY = bytes(range(1, 33))


def attr(kind, data):
    """One attribute, padded."""
    if isinstance(data, int):
        data = struct.pack('B', data)
    pad = -len(data) % 4
    return struct.pack('HH', len(data) + 4, kind) + data + b'\0' * pad


def nest(kind, *attrs):
    """A nested attribute."""
    return attr(kind | NESTED, b''.join(attrs))


def peer(*attrs, key=KEY):
    """IFLA_CMPTUN_PEER with a valid key and more."""
    return nest(PEER, attr(P_KEY, key), *attrs)


def allowed_ip(family, addr, cidr):
    """An allowed IP."""
    return nest(0, attr(1, struct.pack('H', family)), attr(2, addr),
                attr(3, cidr))


def allowed(family, addr, cidr):
    """A list of one allowed IP."""
    return peer(nest(P_ALLOWED, allowed_ip(family, addr, cidr)))


def sockaddr(family, port, addr):
    """A sockaddr_in."""
    return struct.pack('H', family) + struct.pack('!H', port) + addr + b'\0' * 8


class Rtnl:
    """A socket that asks for extended acknowledgements."""

    def __init__(self, groups=0):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        self.sock.setsockopt(270, 11, 1)    # NETLINK_EXT_ACK
        self.sock.bind((0, groups))

    def request(self, kind, flags, index, payload):
        """Send a message. Return the first one that answers it."""
        body = struct.pack('BxHiII', 0, 0, index, 0, 0) + payload
        self.sock.send(struct.pack('IHHII', len(body) + 16, kind,
                                   flags | REQUEST, 1, 0) + body)
        return self.sock.recv(1 << 18)

    def change(self, index, data, flags=0, more=b''):
        """RTM_NEWLINK with INFO_DATA. Return errno and message."""
        info = nest(LINKINFO, attr(INFO_KIND, b'cmptun\0'),
                    nest(INFO_DATA, data))
        answer = self.request(NEWLINK, flags | ACK, index, more + info)
        error, length = struct.unpack_from('iI', answer, 16)
        if not error:
            return 0, ''
        # The request stands in the answer, then the attributes
        at, text = 20 + (length + 3 & ~3), ''
        while at + 4 <= len(answer):
            size, kind = struct.unpack_from('HH', answer, at)
            if kind == 1:
                text = answer[at + 4:at + size].rstrip(b'\0').decode()
            at += max(size + 3 & ~3, 4)
        return -error, text

    def dump(self, index):
        """The answer to RTM_GETLINK."""
        return self.request(GETLINK, 0, index, b'')


def info_data(message):
    """INFO_DATA of a dumped link, which has the configuration."""
    def walk(data):
        at = 0
        while at + 4 <= len(data):
            size, kind = struct.unpack_from('HH', data, at)
            yield kind & 0x3fff, data[at + 4:at + size]
            at += max(size + 3 & ~3, 4)

    link = dict(walk(message[32:]))
    return dict(walk(link[LINKINFO]))[INFO_DATA], link[MTU]


def bad_messages():
    """Name and attributes of what must be refused."""
    sizes = {MODE: 1, LINK: 4, LOCAL: 4, REMOTE: 4, LOCAL6: 16, REMOTE6: 16,
             TTL: 1, TOS: 1, PMTUDISC: 1, FWMARK: 4, PRIVATE: 32, PORT: 2}
    for kind, size in sizes.items():
        for wrong in {0, size - 1, size + 1}:
            yield f'attribute {kind} of {wrong} bytes', attr(kind, b'\1' * wrong)
    for mode in 0, 3, 255:
        yield f'mode {mode}', attr(MODE, mode)
    v4, v6 = bytes([10, 9, 8, 7]), b'\xfd' + b'\0' * 14 + b'\7'
    any4, any6 = b'\0' * 4, b'\0' * 16
    yield 'pmtudisc 2', attr(PMTUDISC, 2)
    yield 'ttl without pmtudisc', attr(TTL, 64) + attr(PMTUDISC, 0)
    yield 'public key', attr(PUBLIC, KEY)
    yield 'no such device', attr(LINK, struct.pack('I', 0x7ffffff0))
    yield 'negative device', attr(LINK, b'\xff' * 4)
    yield 'two families of one end', attr(LOCAL, v4) + attr(LOCAL6, v6)
    yield 'families of both ends', attr(LOCAL, v4) + attr(REMOTE6, v6)
    yield 'multicast remote', attr(REMOTE, bytes([224, 0, 0, 1]))
    yield 'broadcast local', attr(LOCAL, b'\xff' * 4)
    yield 'IPv6 multicast', attr(LOCAL, any4) + attr(REMOTE6, b'\xff' * 16)
    yield 'peer not marked nested', attr(PEER, attr(P_KEY, KEY))
    yield 'peer without key', nest(PEER, attr(P_KEEPALIVE, b'\0\0'))
    yield 'peer with zero key', peer(key=b'\0' * 32)
    yield 'peer with short key', peer(key=KEY[1:])
    yield 'peer with long key', peer(key=KEY + b'\0')
    yield 'peer to remove, unknown', peer(attr(P_FLAGS, b'\1\0\0\0'))
    yield 'peer with unknown flag', peer(attr(P_FLAGS, b'\2\0\0\0'))
    yield 'peer with unknown attribute', peer(attr(20, b''))
    yield 'short preshared key', peer(attr(P_PSK, KEY[1:]))
    yield 'keepalive of a byte', peer(attr(P_KEEPALIVE, 1))
    for kind, size in (P_LAST, 16), (P_RX, 8), (P_TX, 8):
        yield f'read-only {kind} of a peer', peer(attr(kind, b'\0' * size))
    for name, addr in {
            'of no port': sockaddr(2, 0, v4), 'of no address':
            sockaddr(2, 1, any4), 'of family 7': sockaddr(7, 1, v4),
            'of a byte more': sockaddr(2, 1, v4) + b'\0',
            'of a byte less': sockaddr(2, 1, v4)[:-1],
            'that is multicast': sockaddr(2, 1, bytes([239, 0, 0, 1])),
            'of IPv6, too short': sockaddr(10, 1, v4)}.items():
        yield 'endpoint ' + name, peer(attr(P_ENDPOINT, addr))
    yield 'allowed ip /33', allowed(2, v4, 33)
    yield 'allowed ip /129', allowed(10, v6, 129)
    yield 'allowed ip of family 7', allowed(7, v4, 8)
    yield 'allowed ip, wrong length', allowed(10, v4, 8)
    yield 'allowed ip, short', allowed(2, v4[1:], 8)
    yield 'allowed ip, incomplete', peer(nest(P_ALLOWED, nest(0)))
    many = b''.join(allowed_ip(2, bytes([10, 0, i >> 8, i & 255]), 32)
                    for i in range(513))
    yield 'more allowed ips than there may be', peer(nest(P_ALLOWED, many))
    good = attr(MODE, 2) + attr(FWMARK, b'\7\0\0\0') + attr(PRIVATE, KEY[::-1])
    yield 'good and bad', good + attr(PMTUDISC, 2)
    yield 'good and a bad peer', good + peer(attr(P_ENDPOINT, b'\0' * 16))
    yield 'good and bad allowed ips', good + allowed(2, any6, 0)


def check_bad(dev):
    """Send them all. Return how many were not refused as they should."""
    rtnl, index, wrong = Rtnl(), socket.if_nametoindex(dev), 0
    before = info_data(rtnl.dump(index))
    messages = [(name, data, b'') for name, data in bad_messages()]
    messages.append(('good mode and bad MTU', attr(MODE, 2),
                     attr(MTU, struct.pack('I', 65535))))
    for name, data, more in messages:
        errno, text = rtnl.change(index, data, more=more)
        same = info_data(rtnl.dump(index)) == before
        if not errno or not text or not same:
            print(f'{name}: errno {errno}, "{text}", ' +
                  ('unchanged' if same else 'CHANGED'))
            wrong += 1
    print(f'{len(messages)} messages, {wrong} not refused as they should be')
    return wrong


def check_flags(dev):
    """EEXIST and EOPNOTSUPP, as the core has it."""
    rtnl, index = Rtnl(), socket.if_nametoindex(dev)
    data = attr(MODE, 2)
    results = [rtnl.change(index, data, flags)[0]
               for flags in (CREATE | EXCL, REPLACE)]
    print('errno:', *results)
    return results != [17, 95]


def listen(seconds):
    """Print what RTNLGRP_LINK hears."""
    sock, end = Rtnl(groups=1).sock, time.monotonic() + seconds
    print('listening', flush=True)
    while (left := end - time.monotonic()) > 0:
        if select.select([sock], [], [], left)[0]:
            print(sock.recv(1 << 18).hex(), flush=True)


def main():
    """As the usage says."""
    what, arg = sys.argv[1:3]
    if what == 'bad':
        sys.exit(check_bad(arg) != 0)
    if what == 'flags':
        sys.exit(check_flags(arg))
    if what == 'dump':
        print(Rtnl().dump(socket.if_nametoindex(arg)).hex())
    elif what == 'listen':
        listen(float(arg))


if __name__ == '__main__':
    if os.environ.get('AS_NOBODY'):
        os.setgid(65534)
        os.setuid(65534)
    main()
