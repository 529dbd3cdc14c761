"""Predicted against measured times as an SVG, both axes logarithmic."""
import math

SIZE, MARGIN = 560, 60
COLOURS = {"fit": "#999999", "held out": "#1f77b4"}


def svg(points, device):
    """points: (measured_us, predicted_us, set). One dot each; the diagonal is a perfect prediction, the band is 25% around it."""
    values = [v for m, p, _ in points for v in (m, p)]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def at(value):
        return MARGIN + (math.log10(value) - low) / (high - low) * (SIZE - 2 * MARGIN)

    def x(value):
        return f"{at(value):.1f}"

    def y(value):
        return f"{SIZE - at(value):.1f}"

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIZE}" height="{SIZE}" font-family="sans-serif" font-size="12" fill="#222">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{MARGIN}" y="24" font-size="15">Predicted against measured time, {device}</text>',
           f'<text x="{MARGIN}" y="42" fill="#555">microseconds; the band is 25% either way</text>']
    a, b = 10.0**low, 10.0**high
    corners = [(a, a * 1.25), (b / 1.25, b), (b, b), (b, b / 1.25), (a * 1.25, a), (a, a)]
    out.append('<polygon fill="#e8f0f8" points="' + " ".join(f"{x(p)},{y(q)}" for p, q in corners) + '"/>')
    for e in range(low, high + 1):
        v = 10.0**e
        out.append(f'<line x1="{x(v)}" x2="{x(v)}" y1="{y(a)}" y2="{y(b)}" stroke="#ddd"/><line x1="{x(a)}" x2="{x(b)}" y1="{y(v)}" y2="{y(v)}" stroke="#ddd"/>')
        out.append(f'<text x="{x(v)}" y="{SIZE - MARGIN + 18}" text-anchor="middle">{v:g}</text><text x="{MARGIN - 8}" y="{y(v)}" text-anchor="end">{v:g}</text>')
    out.append(f'<line x1="{x(a)}" y1="{y(a)}" x2="{x(b)}" y2="{y(b)}" stroke="#888"/>')
    for measured, predicted, kind in sorted(points, key=lambda p: p[2]):
        out.append(f'<circle cx="{x(measured)}" cy="{y(predicted)}" r="3.2" fill="{COLOURS[kind]}" fill-opacity="0.75"/>')
    for i, (kind, colour) in enumerate(COLOURS.items()):
        out.append(f'<circle cx="{MARGIN + 12}" cy="{MARGIN + 14 + 18 * i}" r="4" fill="{colour}"/><text x="{MARGIN + 22}" y="{MARGIN + 18 + 18 * i}">{kind}</text>')
    out.append(f'<text x="{SIZE / 2}" y="{SIZE - 16}" text-anchor="middle">measured</text>')
    out.append(f'<text x="18" y="{SIZE / 2}" text-anchor="middle" transform="rotate(-90 18 {SIZE / 2})">predicted</text></svg>')
    return "\n".join(out) + "\n"
