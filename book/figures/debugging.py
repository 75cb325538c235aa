"""A session of gen5 debug: each command leads to a position, forward or back."""
import re

from .svg import COLOURS, Svg

STORY = ("01_mbarrier", "--mistake", "early_arrive", "--kernel", "wrong")
COMMANDS = ("diagnosis data-race", "diagnosis data-race 2", "back-until phase", "until complete")


def moves(printed):
    """(command, position, what happens there) of each command of the session."""
    arguments = [word for command in COMMANDS for word in ("-x", command)]
    text = printed("gen5", "debug", "--batch", *arguments, str(printed.build / "bin" / STORY[0]), *STORY[1:])
    out = []
    for command, answer in re.findall(r"^\(gen5\) (.*)\n((?:(?!\(gen5\)).*\n)*)", text, re.M):
        place = re.search(r"CTA \(0,0,0\), (warp \d+), .* at cycle ([\d,]+) \(position ([\d,]+)\)", answer)
        if not place:
            raise SystemExit(f"figures: {command} leads to no position:\n{answer}")
        out.append((command, int(place[3].replace(",", "")), f"{place[1]}, cycle {place[2]}"))
    if [m[0] for m in out] != list(COMMANDS):
        raise SystemExit(f"figures: no answers to all commands:\n{text}")
    return out


def session(printed):
    svg = Svg("A session: four commands, each with the position that it leads to; the second and the third go back")
    steps = moves(printed)
    last = max(position for _, position, _ in steps)
    at, y = 0, 14
    left, width = 8, svg.width - 24
    for number, (command, position, what) in enumerate(steps):
        svg.text(left, y, f"(gen5) {command}")
        begin, end = (left + width * p / last for p in (at, position))
        svg.line(left, y + 14, left + width, y + 14)
        svg.way(begin, y + 10, end, y + 10)
        svg.box(min(end, left + width - 2) - 2, y + 6, 4, 12, COLOURS[number])
        says = f"position {position}: {what}"
        svg.text(min(max(end, left + len(says) * 3.1), left + width - len(says) * 3.1), y + 29, says, "small", "middle")
        at, y = position, y + 52
    svg.text(left, y - 8, f"positions from 0 on the left to {last} on the right", "small")
    return svg


ALL = {"session": session}
