"""How many answers a photo takes on the page for photos, and how level it is then.

    python benchmarks/level.py [--full] [--save] [--photos FOLDER] [--people 3] [--jnd 1.0]
                               [--first-seed 6000]

Simulated people answer what `geoduel level` asks until it ends by itself, and leave the slider
alone. FOLDER holds `truth.csv` with columns `file` and `tilt_deg`, and the photos in `images/`.
Without it, photos are painted seascapes. People tell a difference of `--jnd` degrees right three
times out of four, and err now and then (2 % lapses), unless `--lapse` says otherwise.

Printed: the median and the 90 % quantile of the answers; the median, the 90 % quantile and the
largest of the errors, and the share of photos within 1.5 degrees; how far the first guess was off;
the time of an answer, ask and tell. With `--each`, a line for each photo.
"""

from __future__ import annotations

# ruff: noqa: I001 - the threads must be set before NumPy loads
import csv
import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _results import Results
from _results import parser as results_parser

import numpy as np

import geoduel as gd
from geoduel.level import Leveller
from geoduel.oracles.people import DEGREE, Person
from geoduel.pictures import save_photo, seascape

PLANE = gd.Rotations(2)


def photos(folder: Path | None, painted: int) -> Iterator[tuple[Path, float]]:
    """Photos and their tilts in degrees."""
    if folder is not None:
        with (folder / "truth.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                yield folder / "images" / row["file"], float(row["tilt_deg"])
        return
    with tempfile.TemporaryDirectory() as place:
        for seed in range(painted):
            rng = np.random.default_rng(seed)
            tilt = float(rng.laplace(0, 4))
            picture = seascape(rng, tilt * DEGREE, (600, 400))
            yield save_photo(picture, Path(place) / f"sea{seed}.png"), tilt


def off(angle: float, tilt: float) -> float:
    """By how many degrees the photo is not level once it is turned."""
    return abs((math.degrees(angle) + tilt + 180) % 360 - 180)


def levelled(photo: Path, tilt: float, seed: int, **person: float) -> dict[str, float]:
    """What one person makes of one photo."""
    leveller = Leveller(photo, rng=seed)
    guess = leveller.outcome(leveller.board)["angle"], leveller.board.ask("you")
    middle = np.mean([guess[1][side]["angle"] for side in ("left", "right")])
    # The same seed for all photos would make them one person's luck.
    noise = np.random.default_rng([seed, *photo.name.encode()])
    someone = Person(PLANE, PLANE.from_angle(-tilt * DEGREE), rng=noise, **person)
    spent: list[float] = []
    while True:
        began = time.perf_counter()
        question = leveller.board.ask("you")
        if question["state"] != "question":
            break
        duel = leveller.board.duel(question["id"])
        leveller.board.tell(duel.id, someone.rate(duel), "you")
        spent.append(time.perf_counter() - began)
    return {
        "answers": len(spent),
        "error": off(leveller.angle, tilt),
        "guess": off(float(middle), tilt),
        "ms": 1000 * float(np.median(spent)),
    }


def main() -> None:
    parser = results_parser(__doc__)
    parser.add_argument("--photos", type=Path, help="folder with truth.csv and images/")
    parser.add_argument("--people", type=int, help="a photo; by default 1, in full 5")
    parser.add_argument("--jnd", type=float, nargs="+", default=[1.0], help="degrees")
    parser.add_argument("--lapse", type=float, default=0.02)
    parser.add_argument("--first-seed", type=int, default=6000)
    parser.add_argument("--each", action="store_true", help="a line for each photo")
    options = parser.parse_args()
    people = options.people or (5 if options.full else 1)
    seeds = [options.first_seed, options.first_seed + people - 1]
    results = Results(__file__, options.save, seeds=seeds, people=people, lapse=options.lapse)
    what = "painted seascapes" if options.photos is None else "photos"
    for jnd in options.jnd:
        rows: list[dict[str, Any]] = []
        for photo, tilt in photos(options.photos, 20 if options.full else 4):
            for seed in range(seeds[0], seeds[1] + 1):
                person = {"jnd": jnd * DEGREE, "lapse": options.lapse}
                rows.append(levelled(photo, tilt, seed, **person))
                if options.each:
                    values = ", ".join(f"{k} {v:.2f}" for k, v in rows[-1].items())
                    print(f"{photo.name:20} {tilt:7.2f}: {values}", flush=True)
        answers, error, guess, ms = (
            np.array([row[name] for row in rows]) for name in ("answers", "error", "guess", "ms")
        )
        print(
            f"JND {jnd:g}°, {len(rows) // people} {what}, {people} people each: answers "
            f"{np.median(answers):g} (90 %: {np.quantile(answers, 0.9):g}), error "
            f"{np.median(error):.2f}° (90 %: {np.quantile(error, 0.9):.2f}°, most "
            f"{error.max():.2f}°, within 1.5°: {np.mean(error <= 1.5):.1%}); the guess is off by "
            f"{np.median(guess):.2f}° (90 %: {np.quantile(guess, 0.9):.2f}°); "
            f"{np.median(ms):.0f} ms an answer",
            flush=True,
        )
        results.add(
            f"JND {jnd:g}, {what}",
            photos=len(rows) // people,
            answers=[np.median(answers), np.quantile(answers, 0.9)],
            error=[np.median(error), np.quantile(error, 0.9), error.max()],
            within=np.mean(error <= 1.5),
            guess=[np.median(guess), np.quantile(guess, 0.9)],
            ms=np.median(ms),
        )


if __name__ == "__main__":
    main()
