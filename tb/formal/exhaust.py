"""Looks at all cases of one exhaustion, in a process of its own, so that a fault may be planted.

Run as ``python -m extremum.tb.formal.exhaust``, with a JSON object on the command line: the name of
the ``proof``, and the ``fault`` or null. It prints what came of it as a JSON object.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

from extremum.tb.formal.fault import Fault


def exhaust(order: dict[str, Any]) -> dict[str, Any]:
    """Look at the cases that the order asks for."""
    fault = Fault(**order["fault"]) if order["fault"] else None
    if fault is not None and not fault.is_in_c:
        fault.plant()
    # Whatever may be faulty is imported only now.
    proofs = importlib.import_module(order["proofs"])
    checked = proofs.proof_named(order["proof"]).check(fault)
    return {"cases": checked.cases, "seen": dict(checked.seen), "broken": checked.broken}


if __name__ == "__main__":
    print(json.dumps(exhaust(json.loads(sys.argv[1]))))
