"""A line chart as SVG; for one picture, a plotting library is not worth it."""

import math
from collections.abc import Sequence
from html import escape

from msgspec import Struct

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 50, 60
COLOURS = ("#1b6ca8", "#4fa3d9", "#a9d0ec", "#b0561d", "#e08d4f", "#f2c9a8")


class Line(Struct, frozen=True):
    """One line of the chart: its name and its points."""

    name: str
    points: Sequence[tuple[float, float]]


def chart(title: str, x_title: str, y_title: str, lines: Sequence[Line], marks: Sequence[float] = ()) -> str:
    """The chart with a logarithmic y axis; `marks` are x values with a dashed line. Raises ValueError if empty."""
    points = [point for line in lines for point in line.points]
    x_max = max(x for x, _ in points) * 1.02
    low = 10 ** math.floor(math.log10(min(y for _, y in points)))
    high = 10 ** math.ceil(math.log10(max(y for _, y in points)))

    def at(x: float, y: float) -> tuple[float, float]:
        share = (math.log10(y) - math.log10(low)) / max(1e-9, math.log10(high) - math.log10(low))
        return (
            round(LEFT + (WIDTH - LEFT - RIGHT) * x / x_max, 1),
            round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share, 1),
        )

    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" font-size="12" fill="#333">'
        ),
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="24" font-size="15">{escape(title)}</text>',
    ]
    for y in _decades(low, high):
        left, right = at(0, y), at(x_max, y)
        parts.append(_stroke(left, right, "#ddd"))
        parts.append(f'<text x="{LEFT - 8}" y="{left[1] + 4}" text-anchor="end">{y:g}</text>')
    for x in _steps(x_max):
        foot = at(x, low)
        parts.append(_stroke(foot, (foot[0], foot[1] + 5), "#333"))
        parts.append(f'<text x="{foot[0]}" y="{foot[1] + 20}" text-anchor="middle">{x:,.0f}</text>')
    parts += [_stroke(at(x, low), at(x, high), "#999", dashes="4 4") for x in marks]
    middle_x, middle_y = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    turned = f"translate(18 {middle_y}) rotate(-90)"
    parts.append(f'<text x="{middle_x}" y="{HEIGHT - 14}" text-anchor="middle">{escape(x_title)}</text>')
    parts.append(f'<text transform="{turned}" text-anchor="middle">{escape(y_title)}</text>')
    for number, line in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        places = [at(x, y) for x, y in line.points]
        path = " ".join(f"{x},{y}" for x, y in places)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in places]
        level = TOP + 10 + 20 * number
        parts.append(_stroke((WIDTH - RIGHT + 12, level), (WIDTH - RIGHT + 32, level), colour))
        parts.append(f'<text x="{WIDTH - RIGHT + 38}" y="{level + 4}">{escape(line.name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _decades(low: float, high: float) -> list[float]:
    return [low * 10**step for step in range(round(math.log10(high / low)) + 1)]


def _steps(x_max: float) -> list[float]:
    step = 10 ** math.floor(math.log10(x_max))
    if x_max / step < 3:
        step /= 5 if x_max / step < 1.5 else 2
    return [step * number for number in range(int(x_max / step) + 1)]


def _stroke(start: tuple[float, float], end: tuple[float, float], colour: str, dashes: str = "") -> str:
    extra = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line x1="{start[0]}" y1="{start[1]}" x2="{end[0]}" y2="{end[1]}" stroke="{colour}"{extra}/>'
