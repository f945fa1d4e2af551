#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The two-node experiment of `make demo`, run inside the virtual machine.

Two nodes (network namespaces) share one veth link, the underlay. Each path in
turn joins them: nothing, the kernel's own ipip and wireguard, and cmptun in
both modes. What a path costs and what it shows to a listener is measured and
left in OUT: results.json and the captures. Nothing here is a known answer.

A path that fails keeps its place in the results, with null and the reason,
and the others are still measured; the exit status is then 1.
"""

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

from pcap import WG_NAMES, read_pcap, text_lines, wg_type

NODES = ("a", "b")
PEER = {"a": "b", "b": "a"}
UNDERLAY = {"a": "172.21.0.2", "b": "172.21.0.3"}
UNDERLAY_MTU = 1500
INNER = {
    "none": UNDERLAY,
    "ipip": {"a": "10.100.0.1", "b": "10.100.0.2"},
    "wg": {"a": "10.200.0.1", "b": "10.200.0.2"},
}
PREFIX = {"none": 24, "ipip": 30, "wg": 24}
ALLOWED = "10.200.0.0/24"
PORT = 51820
TEXT = b"dotoryeee"

# name -> (form on the wire, driver)
PATHS = {
    "none": ("none", None),
    "ipip": ("ipip", "kernel"),
    "wireguard": ("wg", "kernel"),
    "cmptun-ipip": ("ipip", "cmptun"),
    "cmptun-wg": ("wg", "cmptun"),
}

# Under the instruction clock a run is sized in bytes: the clock jumps while the
# machine waits for its disk, which would cut a timed run short. Each size is
# about a second of guest time for the kernel's own driver; the smaller warm-up
# before it fetches programs and fills caches.
RUN_BYTES = {"none": "600M", "ipip": "600M", "wg": "40M"}
WARM_BYTES = {"none": "16M", "ipip": "16M", "wg": "4M"}

KEYDIR = "/dev/shm/cmptun-demo"
WORKDIR = "/dev/shm/cmptun-demo-work"

# Under the instruction clock a guest that waits, for the disk too, has its
# clock jump ahead: a day of it passes in seconds and is no sign of a hang.
PATIENCE = 86400 if os.environ.get("VM_ACCEL") == "icount" else 300

ICMP_OVERHEAD = 28          # IPv4 and ICMP headers of an echo request
WG_DATA_MIN = 32            # a WireGuard data message without content


class Failed(Exception):
    """A step did not give the figure it is there for."""


def say(text):
    print(text, flush=True)


def run(cmd, check=True, text=""):
    """Run a command to its end; its text on failure is the reason given."""
    try:
        done = subprocess.run(cmd, input=text, text=True, timeout=PATIENCE,
                              stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT)
    except FileNotFoundError as err:
        raise Failed(f"{cmd[0]}: not installed") from err
    except subprocess.TimeoutExpired as err:
        raise Failed(f"{' '.join(cmd)}: no end after {PATIENCE} s") from err
    if check and done.returncode:
        reason = done.stdout.strip() or f"exit status {done.returncode}"
        raise Failed(f"{' '.join(cmd)}: {reason}")
    return done


def at(node, *cmd):
    """The command line that runs cmd on a node."""
    return ["nsenter", f"--net=/run/netns/{node}", *cmd]


def ip(node, *args, check=True):
    return run(["ip", "-n", node, *args], check)


# -- the nodes and what joins them --------------------------------------------

def build_underlay():
    """Two namespaces, one veth pair. IPv6 is off: its own chatter would go
    through the tunnels and be counted as ours."""
    for node in NODES:
        run(["ip", "netns", "add", node])
        run(at(node, "sysctl", "-q", "-w",
               "net.ipv6.conf.all.disable_ipv6=1",
               "net.ipv6.conf.default.disable_ipv6=1"))
        ip(node, "link", "set", "lo", "up")
    run(["ip", "link", "add", "eth0", "netns", "a", "type", "veth",
         "peer", "name", "eth0", "netns", "b"])
    for node in NODES:
        ip(node, "addr", "add", f"{UNDERLAY[node]}/24", "dev", "eth0")
        ip(node, "link", "set", "eth0", "mtu", str(UNDERLAY_MTU), "up")
    run(at("a", "ping", "-c", "1", "-W", "2", UNDERLAY["b"]))


def make_keys():
    """Private keys stay in memory of this machine, readable by root alone."""
    # An empty random pool at boot gives the same keys twice.
    with open("/dev/random", "rb") as pool:
        pool.read(1)
    os.umask(0o077)
    os.makedirs(KEYDIR, exist_ok=True)
    public = {}
    for node in NODES:
        private = run(["wg", "genkey"]).stdout
        with open(key_file(node), "w", encoding="ascii") as file:
            file.write(private)
        public[node] = run(["wg", "pubkey"], text=private).stdout.strip()
    os.umask(0o022)
    return public


def key_file(node):
    return f"{KEYDIR}/{node}.key"


def kernel_tunnel(node, form, public):
    peer = PEER[node]
    if form == "ipip":
        ip(node, "link", "add", "tun0", "type", "ipip",
           "local", UNDERLAY[node], "remote", UNDERLAY[peer])
        return
    ip(node, "link", "add", "tun0", "type", "wireguard")
    run(at(node, "wg", "set", "tun0", "private-key", key_file(node),
           "listen-port", str(PORT), "peer", public[peer],
           "endpoint", f"{UNDERLAY[peer]}:{PORT}", "allowed-ips", ALLOWED))


def cmptun_tunnel(node, form, public):
    peer = PEER[node]
    if form == "ipip":
        ip(node, "link", "add", "tun0", "type", "cmptun", "mode", "ipip",
           "local", UNDERLAY[node], "remote", UNDERLAY[peer])
        return
    ip(node, "link", "add", "tun0", "type", "cmptun", "mode", "wg",
       "private-key", key_file(node), "listen-port", str(PORT),
       "peer", public[peer], "endpoint", f"{UNDERLAY[peer]}:{PORT}",
       "allowed-ips", ALLOWED)


def load_cmptun(module):
    """insmod takes one file only: what it depends on goes first."""
    if not module:
        raise Failed("no cmptun.ko was given")
    depends = run(["modinfo", "-F", "depends", module]).stdout.strip()
    for name in filter(None, depends.split(",")):
        run(["modprobe", name])
    run(["insmod", module])


class Path:
    """One way from node a to node b, set up for as long as `with` lasts."""

    def __init__(self, name, args, public):
        self.name = name
        self.form, self.driver = PATHS[name]
        self.inner = INNER[self.form]
        self.device = "tun0" if self.driver else "eth0"
        self.args = args
        self.public = public

    def __enter__(self):
        try:
            self.up()
        except BaseException:
            self.down()
            raise
        return self

    def __exit__(self, *exc):
        self.down()

    def up(self):
        if not self.driver:
            return
        make = kernel_tunnel
        if self.driver == "cmptun":
            load_cmptun(self.args.module)
            make = cmptun_tunnel
        for node in NODES:
            make(node, self.form, self.public)
            ip(node, "addr", "add",
               f"{self.inner[node]}/{PREFIX[self.form]}", "dev", "tun0")
        for node in NODES:
            ip(node, "link", "set", "tun0", "up")

    def down(self):
        if not self.driver:
            return
        for node in NODES:
            ip(node, "link", "del", "tun0", check=False)
        # cmptun hooks into the receive path of protocol 4 ahead of ipip: away
        # with it, or the kernel's own driver is measured with our look-up.
        if os.path.isdir("/sys/module/cmptun"):
            run(["rmmod", "cmptun"])

    def ping(self, *options, check=True):
        return run(at("a", "ping", "-n", *options, self.inner["b"]), check)


# -- captures ----------------------------------------------------------------

class Capture:
    """tcpdump on node a's end of the underlay; IPv4 only, so no ARP."""

    def __init__(self, name):
        self.file = f"{WORKDIR}/{name}.pcap"
        self.process = None

    def __enter__(self):
        cmd = at("a", "tcpdump", "-i", "eth0", "-n", "-U", "-Z", "root",
                 "--immediate-mode", "-w", self.file, "ip")
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(
            cmd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        if "listening" not in line:
            raise Failed(f"tcpdump: {line.strip()}")
        return self

    def __exit__(self, *exc):
        time.sleep(0.2)
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=PATIENCE)


def data_packets(packets, form):
    """Packets node a sent that carry one of its own packets."""
    sent = [p for p in packets if p["from"] == UNDERLAY["a"]]
    if form == "wg":
        return [p for p in sent if wg_type(p) == 4
                and len(p["payload"]) > WG_DATA_MIN]
    return sent


# -- what is measured once for each path ---------------------------------------

def first_packets(path, result):
    """Two pings with a known text through a fresh tunnel, and the listener's
    view of them; for wg kinds these are also what starts the handshake."""
    with Capture(path.name) as capture:
        time.sleep(3)
        idle = time.time()
        path.ping("-c", "2", "-W", "5", "-p", TEXT.hex())
    packets = read_pcap(capture.file)
    result["packets_before_data"] = sum(p["us"] < idle * 10**6
                                        for p in packets)
    sent = f"{WORKDIR}/{path.name}-sent.pcap"
    run(["tcpdump", "-n", "-r", capture.file, "-w", sent, "-Z", "root",
         "src", "host", UNDERLAY["a"]])
    result["plaintext_lines"] = text_lines(sent, TEXT)
    result["plaintext_lines_both_ways"] = text_lines(capture.file, TEXT)
    result["plaintext_packets"] = sum(TEXT in p["payload"] for p in packets)
    result["packets_captured"] = len(packets)
    note_small_packet(path, packets, result)
    if path.form == "wg":
        note_handshake(packets, result)


def note_small_packet(path, packets, result):
    data = data_packets(packets, path.form)
    if not data:
        raise Failed("no packet with data in the capture")
    inner = 56 + ICMP_OVERHEAD
    result["small_inner_bytes"] = inner
    result["small_outer_bytes"] = data[0]["bytes"]
    result["small_overhead_bytes"] = data[0]["bytes"] - inner
    if path.form == "wg":
        result["small_udp_payload_bytes"] = len(data[0]["payload"])
        result["data_first_bytes"] = data[0]["payload"][:4].hex(" ")


def note_handshake(packets, result):
    start = packets[0]["us"]
    result["handshake"] = [{
        "message": WG_NAMES.get(wg_type(p), "unknown"),
        "from": p["from"], "to": p["to"],
        "udp_payload_bytes": len(p["payload"]),
        "us_after_first": p["us"] - start,
    } for p in packets if wg_type(p) != 4]


def full_packet(path, result):
    """Bytes added to the largest packet, where no padding is in the way."""
    with Capture(f"{path.name}-full") as capture:
        path.ping("-c", "1", "-W", "5", "-M", "do", "-s",
                  str(result["ping_ok"]))
    inner = result["ping_ok"] + ICMP_OVERHEAD
    outer = max((p["bytes"] for p in data_packets(read_pcap(capture.file),
                                                  path.form)), default=0)
    if outer < inner:
        raise Failed("the full-size packet is not in the capture")
    result["full_inner_bytes"] = inner
    result["full_outer_bytes"] = outer
    result["overhead_bytes"] = outer - inner


def ping_limits(path, result):
    """Bisect for the largest ping that passes unfragmented."""
    good, bad, message = 56, 2 * UNDERLAY_MTU, None
    while bad - good > 1:
        size = (good + bad) // 2
        tried = path.ping("-c", "1", "-W", "2", "-M", "do", "-s", str(size),
                          check=False)
        if tried.returncode == 0:
            good = size
            continue
        bad = size
        found = re.search(r"^.*(?:error|needed|long).*$", tried.stdout, re.M)
        message = found.group(0) if found else "no answer"
    result["ping_ok"], result["ping_fail"] = good, bad
    result["ping_fail_message"] = message


def round_trip(path, result):
    """The mean of many pings, all of one ping process: to start one can make
    the clock jump, and a wg session is then old enough for a new handshake.
    That falls on the first few, which are not counted."""
    skip, count = 5, 100
    out = path.ping("-c", str(skip + count), "-i", "0.01").stdout
    times = [float(ms) * 1000 for ms in re.findall(r" time=([\d.]+) ms", out)]
    if len(times) != skip + count:
        raise Failed(f"ping lost packets: {out.strip()[-300:]}")
    times = times[skip:]
    result["rtt_us"] = round(statistics.mean(times), 1)
    result["rtt_min_us"] = round(min(times), 1)
    result["rtt_max_us"] = round(max(times), 1)
    result["rtt_pings"] = count


def device_facts(path, result):
    link = json.loads(ip("a", "-j", "link", "show", path.device).stdout)[0]
    result["device"], result["mtu"] = path.device, link["mtu"]
    result["offloads"] = offloads(path.device)


def offloads(device):
    """Offloads explain most of a gap between tunnels, so they are recorded."""
    try:
        out = run(at("a", "ethtool", "-k", device)).stdout
    except Failed:
        return "n/a"
    wanted = ("tcp-segmentation-offload", "generic-segmentation-offload",
              "generic-receive-offload", "tx-udp-segmentation",
              "tx-checksumming", "rx-checksumming", "scatter-gather")
    found = dict(re.findall(r"^\s*([\w-]+): (\w+)", out, re.MULTILINE))
    return {name: found[name] for name in wanted if name in found}


def examine(path, result):
    with path:
        device_facts(path, result)
        first_packets(path, result)
        round_trip(path, result)
        ping_limits(path, result)
        full_packet(path, result)


# -- throughput --------------------------------------------------------------

class Server:
    """An iperf3 server on node b for one client."""

    def __init__(self, address):
        cmd = at("b", "iperf3", "-s", "-1", "-B", address, "--forceflush")
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(
            cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)

    def __enter__(self):
        while line := self.process.stdout.readline():
            if "listening" in line:
                return self
        raise Failed("iperf3: the server did not start")

    def __exit__(self, *exc):
        if exc[0]:
            self.process.kill()
        try:
            self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


def iperf(path, *amount):
    """Mbit/s as the receiver counted them, and what had to be sent again."""
    address = path.inner["b"]
    with Server(address):
        out = run(at("a", "iperf3", "-c", address, "-J", *amount)).stdout
    try:
        end = json.loads(out)["end"]
        speed = end["sum_received"]["bits_per_second"] / 1e6
        again = end["sum_sent"]["retransmits"]
    except (ValueError, KeyError) as err:
        raise Failed(f"iperf3: {out.strip()[-300:]}") from err
    if speed <= 0:
        raise Failed("iperf3: nothing was received")
    return speed, again


def throughput(path, result):
    with path:
        if path.args.clock == "icount":
            iperf(path, "-n", WARM_BYTES[path.form])
            speed, again = iperf(path, "-n", RUN_BYTES[path.form])
        else:
            speed, again = iperf(path, "-t", str(path.args.seconds), "-O", "1")
    result["mbit_per_s"].append(round(speed, 2))
    result.setdefault("retransmits", []).append(again)
    return speed


def derive(results, clock):
    """Median, ratio to none, and the price of a byte."""
    plain = next((r["mbit_per_s"] for r in results if r["name"] == "none"), [])
    for result in filter(lambda result: result["mbit_per_s"], results):
        median = statistics.median(result["mbit_per_s"])
        result["median_mbit_per_s"] = round(median, 2)
        if plain:
            ratio = median / statistics.median(plain)
            result["ratio_to_none"] = round(ratio, 4)
        # One instruction is one nanosecond of guest time, so the time of a
        # byte is the instructions of a byte, both nodes together.
        if clock == "icount":
            result["instructions_per_byte"] = round(8000 / median, 3)


# -- the whole ---------------------------------------------------------------

def blank(name):
    return {"name": name, "mbit_per_s": [], "rtt_us": None, "mtu": None,
            "ping_ok": None, "ping_fail": None, "ping_fail_message": None,
            "overhead_bytes": None, "plaintext_lines": None,
            "instructions_per_byte": None}


class Experiment:
    """All paths, and the record of how far they came."""

    def __init__(self, args, public):
        self.args = args
        self.paths = [Path(name, args, public) for name in args.paths]
        self.document = {"environment": environment(args),
                         "paths": [blank(path.name) for path in self.paths]}

    def attempt(self, what, step, number):
        """Run one step; a failure is noted and ends this path only."""
        path, result = self.paths[number], self.document["paths"][number]
        if "error" in result:
            return
        # Should the machine die of this step, the record says so.
        result["error"] = f"{what}: did not come to an end"
        self.keep("results.part.json")
        try:
            outcome = step(path, result)
            del result["error"]
            say(f"{path.name}: {what}: "
                + (f"{outcome:.1f} Mbit/s" if outcome else "done"))
        except (Failed, OSError, ValueError, subprocess.SubprocessError) as err:
            result["error"] = f"{what}: {err}"
            say(f"{path.name}: {what}: FAILED: {err}")

    def measure(self):
        numbers = range(len(self.paths))
        for number in numbers:
            self.attempt("latency, sizes, captures", examine, number)
        # Run 1 of every path, then run 2: a drift hits all of them alike.
        for turn in range(1, self.args.runs + 1):
            for number in numbers:
                self.attempt(f"throughput run {turn} of {self.args.runs}",
                             throughput, number)
        self.document["environment"]["kernel_complaints"] = (
            kernel_complaints())
        self.keep("results.json")

    def keep(self, name):
        """The captures and the record; where it stands, all of it does."""
        derive(self.document["paths"], self.args.clock)
        for file in os.listdir(WORKDIR):
            shutil.copyfile(f"{WORKDIR}/{file}", f"{self.args.out}/{file}")
        part = f"{self.args.out}/.{name}"
        with open(part, "w", encoding="utf-8") as file:
            json.dump(self.document, file, indent=2)
            file.write("\n")
        os.rename(part, f"{self.args.out}/{name}")

    def failed(self):
        return (any("error" in path for path in self.document["paths"])
                or self.document["environment"]["kernel_complaints"])


def environment(args):
    with open("/proc/cpuinfo", encoding="ascii") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    found = dict(item.split("=", 1) for item in args.set)
    accelerators = {"kvm": "KVM", "tcg": "QEMU TCG",
                    "icount": "QEMU TCG, icount"}
    clock = "instructions as time (QEMU icount, 1 ns each)"
    found.update({
        "accelerator": accelerators.get(args.accelerator, args.accelerator),
        "kernel": os.uname().release,
        "kernel_build": os.uname().version,
        "cpu_model": model.group(1) if model else "n/a",
        "cpus": os.cpu_count(),
        "clock": clock if args.clock == "icount" else "wall clock",
        "iperf3": version("iperf3", "--version"),
        "ping": version("ping", "-V"),
        "iproute2": version("ip", "-V"),
        "runs": args.runs,
        "run_size": (RUN_BYTES if args.clock == "icount"
                     else f"{args.seconds} s, 1 s before it omitted"),
        "underlay": "veth, MTU 1500, two namespaces of one machine",
        "underlay_offloads": offloads("eth0"),
        "ipv6": "off in both nodes",
    })
    return found


def version(*cmd):
    try:
        return run(cmd).stdout.splitlines()[0].strip()
    except Failed:
        return "n/a"


def kernel_complaints():
    """What the kernel log has to say about the run, if anything."""
    log = run(["dmesg"], check=False).stdout
    return re.findall(r"^.*(?:WARNING:|BUG:|Oops|Call Trace|UBSAN|"
                      r"refcount_t|hung task|unregister_netdevice: waiting)"
                      r".*$", log, re.MULTILINE)


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="folder of the results")
    parser.add_argument("--module", help="cmptun.ko for this kernel")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5, help="of a wall-clock run")
    parser.add_argument("--paths", nargs="+", choices=PATHS,
                        default=list(PATHS), metavar="PATH")
    parser.add_argument("--set", action="append", default=[],
                        metavar="KEY=VALUE", help="add to the environment")
    args = parser.parse_args()
    args.accelerator = os.environ.get("VM_ACCEL", "unknown")
    args.clock = "icount" if args.accelerator == "icount" else "wall"
    return args


def main():
    args = options()
    os.makedirs(WORKDIR, exist_ok=True)
    say(f"guest is up: Linux {os.uname().release}, {os.cpu_count()} CPU, "
        f"clock: {args.clock}")
    try:
        public = make_keys()
        build_underlay()
        experiment = Experiment(args, public)
        experiment.measure()
    except Failed as err:
        say(f"the experiment could not be set up: {err}")
        return 2
    finally:
        shutil.rmtree(KEYDIR, ignore_errors=True)
    for line in experiment.document["environment"]["kernel_complaints"]:
        say(f"kernel log: {line}")
    return 1 if experiment.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
