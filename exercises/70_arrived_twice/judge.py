"""Phase 0 has four arrivals; the machine is asked behind which step each of them counts, and which warp took the step."""


def verdict(machine, answer):
    arrivals = []  # (position, warp)
    for missing in (3, 2, 1, 0):
        first = machine.first(lambda: (b := machine.barrier("filled")) is not None and (b.phase > 0 or b.missing <= missing and b.expected == 4))
        arrivals.append((first, machine.at(first).warp()))
    warps = [warp for _, warp in arrivals]
    twice = next(warp for warp in warps if warps.count(warp) > 1)
    if answer["warp"] != twice:
        return f"Warp {answer['warp']} arrives {['never', 'once'][warps.count(answer['warp'])]} in phase 0."
    first, second = (position for position, warp in arrivals if warp == twice)
    at = answer["position"]
    if at == first:
        return f"At position {at:,} the first arrival of warp {twice} counts."
    if at < second:
        return f"At position {at:,} its second arrival does not count yet."
    return f"At position {at:,} its second arrival counts, but so it does one step earlier." if at > second else None
