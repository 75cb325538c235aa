"""The word changes behind the right step; one step earlier the copy that changes it is in flight."""
import re


def verdict(machine, answer):
    stage, word = machine.printed(r"stage 0 begins at shared (0x\w+)"), machine.printed(r"first word of chunk 0 is (0x\w+)")
    at = answer["position"]
    if machine.at(at).words("shared", stage, 1) == [word]:
        return f"At position {at:,} the first word of stage 0 is chunk 0's."
    if machine.at(at - 1).words("shared", stage, 1) != [word]:
        return f"At position {at:,} the first word of stage 0 is not chunk 0's, but one step earlier it is not, either."
    issued = re.search(rf"issued at ([\d,]+)[^\n]*\n[^\n]*\n *writes shared {stage:#x} ", machine.ask("show inflight"))
    return machine.differs(answer, {"issued": int(issued[1].replace(",", ""))})
