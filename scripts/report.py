#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Tables from the results.json that `make demo` leaves.

Prints them for a terminal; with --markdown FILE writes the same as Markdown.
A figure that was not measured is n/a, never 0.
"""

import argparse
import json
import statistics
import sys
import textwrap

TWINS = (("cmptun-ipip", "ipip"), ("cmptun-wg", "wireguard"))

GSO_NOTE = (
    "The underlay is a veth link inside one machine, not a wire: with the "
    "offloads above, TCP data crosses none and the ipip kinds in packets of "
    "up to 64 kB. Both nodes share the processors, so a speed is the price of "
    "sending and receiving together. MTU and MSS are what each path sets by "
    "itself.")
CLOCK_NOTE = (
    "One instruction is one nanosecond of guest time, so speeds, times and "
    "instructions per byte are instruction counts, sender and receiver "
    "together; they do not depend on how busy this machine is, and are not "
    "what a processor of today would reach.")
WALL_NOTE = (
    "Times are wall-clock times and change with the load of this machine; "
    "instructions per byte need the instruction clock.")
TEXT_NOTE = (
    "lines: lines with the text `dotoryeee` in `tcpdump -n -X -r "
    "PATH-sent.pcap`, that is the two echo requests on their way out of node "
    "a; both ways: the same with the replies, in PATH.pcap; packets: packets "
    "of PATH.pcap that hold the text anywhere.")
SIZE_NOTE = (
    "IP total length on the underlay, counted in the captures PATH.pcap and "
    "PATH-full.pcap, less that of the packet inside. The full-size packet "
    "has no padding, the small one may.")


class Text:
    """Tables for a terminal."""

    def __init__(self):
        self.lines = []

    def title(self, text):
        self.lines += [text, "=" * len(text), ""]

    def section(self, text):
        self.lines += [text, "-" * len(text)]

    def note(self, text):
        self.lines += [*textwrap.wrap(text, 79, break_on_hyphens=False), ""]

    def facts(self, rows):
        for name, text in rows:
            self.lines += textwrap.wrap(
                f"{name:10}{text}", 79, subsequent_indent=" " * 10,
                break_on_hyphens=False)
        self.lines.append("")

    def table(self, head, rows):
        rows = [[str(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(head, *rows)]
        right = [figures(rows, i) for i in range(len(head))]
        for row in [head, *rows]:
            self.lines.append("  ".join(
                map(pad, row, widths, right)).rstrip())
        self.lines.append("")


class Markdown(Text):
    """The same for report.md."""

    def title(self, text):
        self.lines += [f"# {text}", ""]

    def section(self, text):
        self.lines += [f"## {text}", ""]

    def facts(self, rows):
        self.table(["what", "how it was"], rows)

    def table(self, head, rows):
        rule = ["---:" if figures(rows, i) else "---"
                for i in range(len(head))]
        for row in [head, rule, *rows]:
            self.lines.append("| " + " | ".join(map(str, row)) + " |")
        self.lines.append("")


def pad(cell, width, right):
    return cell.rjust(width) if right else cell.ljust(width)


def figures(rows, column):
    """Whether a column holds figures, which stand to the right."""
    cells = [str(row[column]) for row in rows]
    return all(cell[:1].isdigit() or cell == "n/a" for cell in cells)


def shown(value, form="{}"):
    return "n/a" if value is None else form.format(value)


def fixed(value):
    """Four figures are more than the method gives; small speeds need them."""
    if value is None:
        return "n/a"
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}"


def median(path):
    return statistics.median(path["mbit_per_s"]) if path["mbit_per_s"] else None


def ratio(value, base):
    return value / base if value is not None and base else None


def spread(path):
    speeds = path["mbit_per_s"]
    if len(speeds) < 2:
        return None
    return 100 * (max(speeds) - min(speeds)) / statistics.median(speeds)


def retransmits(path):
    """Segments sent again in each run: a slow run may be one that lost some."""
    return " ".join(map(str, path.get("retransmits", []))) or "n/a"


def offload_words(offloads):
    if not isinstance(offloads, dict):
        return str(offloads)
    on = [name for name, state in offloads.items() if state == "on"]
    off = [name for name, state in offloads.items() if state != "on"]
    return f"on: {', '.join(on) or '-'}; off: {', '.join(off) or '-'}"


def environment(doc, env):
    size = env.get("run_size")
    if isinstance(size, dict):
        size = ", ".join(f"{kind} {amount}" for kind, amount in size.items())
    rows = [
        ("cmptun", f"{env.get('cmptun_version', 'n/a')}, "
                   f"commit {env.get('cmptun_commit', 'n/a')}"),
        ("kernel", f"{env.get('kernel')} {env.get('kernel_build', '')}"),
        ("machine", f"{env.get('accelerator', 'n/a')}, {env.get('cpus')} CPU, "
                    f"{env.get('cpu_model')}"),
        ("host", f"{env.get('host_cpu_model', 'n/a')}; "
                 f"{env.get('qemu', 'n/a')}"),
        ("clock", env.get("clock")),
        ("tools", f"{env.get('iperf3')}; {env.get('iproute2')}; "
                  f"{env.get('ping')}"),
        ("runs", f"{env.get('runs')} of every path in turn, of {size}"),
        ("underlay", env.get("underlay")),
        ("offloads", offload_words(env.get("underlay_offloads"))),
        ("date", env.get("date", "n/a")),
    ]
    doc.section("Environment")
    doc.facts(rows)
    doc.note(CLOCK_NOTE if env.get("clock", "").startswith("instr")
             else WALL_NOTE)


def throughput(doc, paths):
    runs = max((len(p["mbit_per_s"]) for p in paths), default=0)
    plain = next((median(p) for p in paths if p["name"] == "none"), None)
    rows = []
    for path in paths:
        speeds = path["mbit_per_s"] + [None] * (runs - len(path["mbit_per_s"]))
        rows.append([path["name"], *map(fixed, speeds), fixed(median(path)),
                     shown(spread(path), "{:.1f} %"),
                     shown(ratio(median(path), plain), "{:.3f}"),
                     shown(path["instructions_per_byte"], "{:.2f}"),
                     retransmits(path)])
    doc.section("Throughput, Mbit/s at the receiver (one TCP flow, iperf3)")
    doc.table(["path", *(f"run {i + 1}" for i in range(runs)), "median",
               "spread", "to none", "instr/byte", "sent again"], rows)
    doc.note(GSO_NOTE)


def sizes(doc, paths):
    doc.section("Latency, MTU and the largest ping (ping -M do -s SIZE)")
    doc.table(
        ["path", "RTT us", "MTU", "passes", "fails", "message of the first "
         "that fails"],
        [[p["name"], shown(p["rtt_us"], "{:.1f}"), shown(p["mtu"]),
          shown(p["ping_ok"]), shown(p["ping_fail"]),
          shown(p.get("ping_fail_message"))] for p in paths])
    doc.section("Bytes added to a packet")
    doc.table(
        ["path", "small: inside", "on the wire", "added", "full: inside",
         "on the wire", "added"],
        [[p["name"], *(shown(p.get(key)) for key in (
            "small_inner_bytes", "small_outer_bytes", "small_overhead_bytes",
            "full_inner_bytes", "full_outer_bytes", "overhead_bytes"))]
         for p in paths])
    doc.note(SIZE_NOTE)


def listener(doc, paths):
    doc.section("What a listener on the underlay reads "
                "(ping -c 2 -p 646f746f7279656565)")
    doc.table(
        ["path", "lines", "both ways", "packets", "of captured"],
        [[p["name"], *(shown(p.get(key)) for key in (
            "plaintext_lines", "plaintext_lines_both_ways",
            "plaintext_packets", "packets_captured"))] for p in paths])
    doc.note(TEXT_NOTE)


def handshakes(doc, paths):
    kinds = [p for p in paths if "handshake" in p]
    if not kinds:
        return
    doc.section("Handshake")
    doc.table(
        ["path", "no.", "message", "from", "to", "UDP payload", "after us"],
        [[p["name"], number, m["message"], m["from"], m["to"],
          m["udp_payload_bytes"], m["us_after_first"]]
         for p in kinds for number, m in enumerate(p["handshake"], 1)])
    doc.table(
        ["path", "packets before data", "handshake packets",
         "data: inside", "UDP payload", "first bytes"],
        [[p["name"], shown(p.get("packets_before_data")), len(p["handshake"]),
          shown(p.get("small_inner_bytes")),
          shown(p.get("small_udp_payload_bytes")),
          shown(p.get("data_first_bytes"))] for p in kinds])
    doc.note("Packets before data: seen on the underlay in the three seconds "
             "after both ends were up and before the first ping was sent.")


def twins(doc, paths):
    by_name = {p["name"]: p for p in paths}
    rows = []
    for ours, theirs in TWINS:
        if ours not in by_name or theirs not in by_name:
            continue
        one, two = by_name[ours], by_name[theirs]
        rows.append([f"{ours} / {theirs}",
                     shown(ratio(median(one), median(two)), "{:.3f}"),
                     shown(ratio(one["rtt_us"], two["rtt_us"]), "{:.3f}"),
                     shown(ratio(one["instructions_per_byte"],
                                 two["instructions_per_byte"]), "{:.3f}"),
                     f"{shown(one['overhead_bytes'])} / "
                     f"{shown(two['overhead_bytes'])}",
                     f"{shown(one['mtu'])} / {shown(two['mtu'])}"])
    if rows:
        doc.section("cmptun beside the kernel's own driver")
        doc.table(["pair", "throughput", "RTT", "instr/byte", "bytes added",
                   "MTU"], rows)


def failures(doc, document):
    failed = [p for p in document["paths"] if "error" in p]
    complaints = document["environment"].get("kernel_complaints", [])
    if not failed and not complaints:
        return
    doc.section("NOT COMPLETE")
    for path in failed:
        doc.note(f"{path['name']}: {path['error']}")
    for line in complaints:
        doc.note(f"kernel log: {line}")


def render(doc, document):
    paths = document["paths"]
    doc.title("cmptun: what encapsulation costs")
    environment(doc, document["environment"])
    throughput(doc, paths)
    sizes(doc, paths)
    listener(doc, paths)
    handshakes(doc, paths)
    twins(doc, paths)
    failures(doc, document)
    return "\n".join(doc.lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", help="results.json")
    parser.add_argument("--markdown", metavar="FILE",
                        help="write Markdown to FILE, print nothing")
    args = parser.parse_args()
    with open(args.results, encoding="utf-8") as file:
        document = json.load(file)
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as file:
            file.write(render(Markdown(), document))
    else:
        sys.stdout.write(render(Text(), document))


if __name__ == "__main__":
    main()
