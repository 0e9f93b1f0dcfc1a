"""Examples of Yosys's netlists and nextpnr's reports, cut down from real ones."""

from extremum.host.fpga.critical_path import Hop


def net(*bits, src: str | None = "/x/hdl/admission.py:60"):
    return {"bits": list(bits), "attributes": {"src": src} if src else {}}


OUTPUTS = ("Q", "Z", "O", "DOA0", "S0", "COUT")


def cell(kind, src="", **connections):
    return {
        "type": kind,
        "connections": {name: [bit] for name, bit in connections.items()},
        "port_directions": {name: "output" if name in OUTPUTS else "input" for name in connections},
        "attributes": {"src": src},
    }


MAP = "/share/lattice/cells_map_trellis.v:83.170"
NETLIST_ECP5 = {
    "ports": {},
    "netnames": {
        "port_job__payload": net(2, 3, src="/x/hdl/harness.py:54"),
        "core.admission.job": net(2, 3),
        "core.admission.job.tail": net(3),
        "core.admission.credits": net(8, 9),
        "core.admission.credits_TRELLIS_FF_Q_DI": net(7, src=None),
        "core.width.line.data": net(12),
    },
    "cells": {
        "core.admission.job_TRELLIS_FF_Q_1": cell(
            "TRELLIS_FF", f"/x/hdl/harness.py:54|{MAP}", DI=1, Q=3
        ),
        "core.admission.credits_TRELLIS_FF_Q": cell(
            "TRELLIS_FF", f"/x/hdl/admission.py:94|{MAP}", DI=7, Q=9
        ),
        "core.admission.credits_LUT4_A": cell("LUT4", A=3, Z=7),
        "core.width.line.data.0.0": cell("DP16KD", DOA0=12),
    },
}


def step(kind, delay, start, end=None):
    return {"type": kind, "delay": delay, "from": {"cell": start}, "to": {"cell": end or start}}


def report(paths, block_ram="DP16KD", comb="TRELLIS_COMB", fmax=125.0):
    return {
        "utilization": {comb: {"used": 40, "available": 99}, block_ram: {"used": 1}},
        "fmax": {"clk": {"achieved": fmax, "constraint": 300}},
        "critical_paths": paths,
    }


def path(*steps, start="posedge clk", end="posedge clk"):
    return {"from": start, "to": end, "path": list(steps)}


START, END = "core.admission.job_TRELLIS_FF_Q_1", "core.admission.credits_TRELLIS_FF_Q"
CHAIN = "core.position.last_LUT4_C_Z_CCU2C_COUT_CIN_CCU2C_S0"
PATH_ECP5 = path(
    step("clk-to-q", 0.5, START),
    step("routing", 1.0, START, f"{CHAIN}$CCU2_COMB0"),
    step("logic", 0.4, f"{CHAIN}$CCU2_COMB0"),
    step("routing", 0.0, f"{CHAIN}$CCU2_COMB0", f"{CHAIN}$CCU2_COMB1"),
    step("logic", 0.1, f"{CHAIN}$CCU2_COMB1"),
    step("routing", 0.0, f"{CHAIN}$CCU2_COMB1", "$nextpnr_CCU2C_51$CCU2_COMB0"),
    step("logic", 0.4, "$nextpnr_CCU2C_51$CCU2_COMB0"),
    step("routing", 2.0, "$nextpnr_CCU2C_51$CCU2_COMB0", "core.admission.credits_LUT4_A"),
    step("logic", 0.2, "core.admission.credits_LUT4_A"),
    step("routing", 0.3, "core.admission.credits_LUT4_A", END),
    step("setup", 0.1, END),
)
HOPS_ECP5 = (
    Hop("core.admission.job.tail", 0.5, 0.0),
    Hop("core.position.last", 0.5, 1.0),
    Hop("carry chain", 0.4, 0.0),
    Hop("core.admission.credits", 0.2, 2.0),
    Hop("core.admission.credits[1] (admission.py:94)", 0.1, 0.3),
)

NETLIST_ICE40 = {
    "ports": {},
    "netnames": {"core.first": net(5, 6, src="/x/hdl/core.py:7")},
    "cells": {
        "core.first_SB_DFFESR_Q_3": cell("SB_DFFESR", "/x/hdl/core.py:9|/share/x.v:1", D=4, Q=6),
        "core.first_SB_DFFESR_Q_3_D_SB_LUT4_O": cell("SB_LUT4", I0=6, O=4),
        "port_o_SB_DFF_Q": cell("SB_DFF", "/x/hdl/harness.py:54", D=6, Q=9),
        "core.line.0": cell("SB_RAM40_4K"),
    },
}
