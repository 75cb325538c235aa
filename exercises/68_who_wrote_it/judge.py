"""Behind the right step the word holds the wrong key, and before it another one."""


def verdict(machine, answer):
    word = machine.printed(r"the word at (0x\w+)")
    wrong = [machine.printed(r"holds a key of bin \d+: (\d+)")]
    at = answer["position"]
    if machine.at(at).words("global", word, 1) != wrong:
        return f"At position {at:,} the word at {word:#x} does not hold the wrong key yet."
    if machine.at(at - 1).words("global", word, 1) == wrong:
        return f"At position {at:,} the word at {word:#x} is wrong, but so it is one step earlier."
    who = machine.ask(f"until global written {word:#x} {word + 4:#x}")
    return machine.differs(answer, {"warp": machine.number(r"warp (\d+), lane", who), "lane": machine.number(r"lane (\d+)", who)})
