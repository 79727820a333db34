# SPDX-License-Identifier: MIT
"""A landscape that looks enough like a photograph to be measured as one: smooth sky, textured hills, grain."""


def noise_at(x, y, seed):
    """A fixed random number in [0, 1) for a lattice point."""
    h = (x * 374761393 + y * 668265263 + seed * 974634777) & 0xFFFFFFFF
    h = ((h ^ h >> 13) * 1274126177) & 0xFFFFFFFF
    return (h ^ h >> 16) / 4294967296


def smooth(x, y, seed):
    """Lattice noise, interpolated."""
    x0, y0 = int(x // 1), int(y // 1)
    fx, fy = x - x0, y - y0
    fx, fy = fx * fx * (3 - 2 * fx), fy * fy * (3 - 2 * fy)
    top = noise_at(x0, y0, seed) * (1 - fx) + noise_at(x0 + 1, y0, seed) * fx
    low = noise_at(x0, y0 + 1, seed) * (1 - fx) + noise_at(x0 + 1, y0 + 1, seed) * fx
    return top * (1 - fy) + low * fy


def fractal(x, y, seed, octaves):
    total, weight = 0.0, 0.5
    for octave in range(octaves):
        total += weight * smooth(x, y, seed + octave)
        x, y, weight = 2 * x + 17.3, 2 * y + 5.1, weight / 2
    return total / (1 - 2 * weight)


def mix(a, b, t):
    t = min(max(t, 0.0), 1.0)
    return tuple(p + (q - p) * t for p, q in zip(a, b))


# Far to near: base height and relief as shares of the picture's height, wave length in pixels, colour.
RIDGES = [(0.50, 0.16, 210, (126, 146, 176)), (0.60, 0.20, 170, (84, 112, 124)), (0.72, 0.22, 230, (62, 96, 62)),
          (0.88, 0.20, 300, (38, 62, 30))]
SUN = (0.72, 0.24)


def sky(x, y, width, height):
    color = mix((58, 108, 186), (236, 214, 186), (y / (0.62 * height)) ** 2 * 0.9 + 0.1 * y / height)
    cloud = fractal(x / 130, y / 42, 40, 5)
    color = mix(color, (250, 246, 240), (cloud - 0.52) * 4.2 * (1 - y / (0.7 * height)))
    d2 = ((x - SUN[0] * width) ** 2 + (y - SUN[1] * height) ** 2) / (0.052 * height) ** 2
    return mix(color, (255, 250, 222), 1.25 / (1 + d2 * d2 * 0.6) + 0.55 / (1 + d2 * 0.25))


def landscape(width, height):
    lines = [[(base - relief * (fractal(x / wave, 3.7, 10 * k, 6) - 0.2)) * height for x in range(width)]
             for k, (base, relief, wave, _) in enumerate(RIDGES)]
    image = []
    for y in range(height):
        row = []
        for x in range(width):
            ridge = max((k for k in range(len(RIDGES)) if y >= lines[k][x]), default=None)
            if ridge is None:
                color = sky(x, y, width, height)
            else:
                depth = y - lines[ridge][x]
                near = (ridge + 1) / len(RIDGES)
                texture = fractal(x / (4 + 9 * near), y / (3 + 5 * near), 70 + ridge, 3) - 0.5
                light = 1 + 1.5 * near * texture + 0.3 * smooth(x / 60, depth / 18, 90 + ridge) - 0.1
                color = tuple(c * light for c in RIDGES[ridge][3])
                color = mix(color, (214, 206, 196), (0.28 - depth / (0.5 * height)) * (1.15 - near))
            grain = (noise_at(x, y, 7) + noise_at(x, y, 8) - 1) * 7
            row.append(tuple(min(max(int(c + grain + 0.5), 0), 255) for c in color))
        image.append(row)
    return image
