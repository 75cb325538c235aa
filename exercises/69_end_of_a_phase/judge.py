"""One step earlier the phase lasts. If all have arrived by then, the bytes end it; otherwise the warp that took the step."""


def verdict(machine, answer):
    at = answer["position"]
    now, before = machine.at(at).barrier("full"), machine.at(at - 1).barrier("full")
    if now is None or now.phase < 3:
        return f"At position {at:,} phase 2 of `full` has not ended yet."
    if before.phase >= 3:
        return f"At position {at:,} phase 2 of `full` has ended, but so it has one step earlier."
    by = "copy" if before.missing == 0 else str(machine.at(at).warp())
    if str(answer["by"]) != by:
        left = f"{before.missing} of its arrivals and {before.bytes:,} of its bytes are missing"
        return f"Look at `full` one step before this position: {left}. What comes last?"
    return None
