"""The warp that is not resident when all wait, and the position behind which no phase ends any more."""
import re


def verdict(machine, answer):
    machine.at(machine.last)
    resident = set(map(int, re.findall(r"^CTA \(0,0,0\), warp (\d+)", machine.ask("show warps"), re.M)))

    def ended():
        return sum(b.phase for b in machine.barriers())

    all_ended = ended()
    last = machine.first(lambda: ended() == all_ended)
    if answer["left"] in resident:
        return f"Warp {answer['left']} is still there at the end: it waits like the others."
    if answer["left"] not in range(4):
        return f"There is no warp {answer['left']}: the kernel has warps 0 to 3."
    if answer["position"] < last:
        return f"Behind position {answer['position']:,} another phase ends."
    return f"At position {answer['position']:,} the last phase has ended, but so it has one step earlier." if answer["position"] > last else None
