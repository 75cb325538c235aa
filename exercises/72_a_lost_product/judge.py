"""The element falls behind the right step. The commits that are complete by then are counted, one a block."""
import struct


def verdict(machine, answer):
    def element(position):
        word = machine.at(position).cell(0, 0)
        return 0.0 if word is None else struct.unpack("<f", struct.pack("<I", word))[0]

    at = answer["position"]
    now, before = element(at), element(at - 1)
    if now >= before:
        return f"One step before position {at:,} the element is {before:g}, and there it is {now:g}: nothing is lost."
    machine.at(1)
    done = 0
    while machine.position < at:
        said = machine.ask("until complete")
        done += "tcgen05.commit of" in said and machine.position <= at
    return machine.differs(answer, {"block": done})
