"""What a file carries beside its pixels comes out again as it went in."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra web)")

from samples.photos import half_plane  # noqa: E402

from geoduel.pictures import open_photo, save_photo, turn  # noqa: E402
from geoduel.pictures.metadata import deep  # noqa: E402

IPTC = b"\x1c\x02\x78\x00\x0bsea at dusk"  # a caption
XMP = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'>sea</x:xmpmeta>"


def resource(number: int, data: bytes, name: bytes = b"") -> bytes:
    """A resource of Photoshop; its name and its data are of even lengths."""
    label = bytes([len(name)]) + name
    label += b"\0" * (len(label) % 2)
    return (
        struct.pack(">4sH", b"8BIM", number)
        + label
        + struct.pack(">I", len(data))
        + data
        + b"\0" * (len(data) % 2)
    )


def with_segments(path, *segments: tuple[int, bytes]) -> None:
    """Write a JPEG with these segments after its first two bytes."""
    half_plane((60, 40)).save(path)
    data = path.read_bytes()
    more = b"".join(struct.pack(">BBH", 0xFF, m, len(s) + 2) + s for m, s in segments)
    path.write_bytes(data[:2] + more + data[2:])


def photoshop(path) -> dict[int, bytes]:
    with Image.open(path) as image:
        return image.info.get("photoshop", {})


def test_iptc_of_a_jpeg_is_kept_and_its_old_thumbnail_is_not(tmp_path):
    whole = resource(0x0404, IPTC) + resource(0x040C, b"old picture") + resource(0x0406, b"x", b"a")
    with_segments(tmp_path / "a.jpg", (0xED, b"Photoshop 3.0\0" + whole))
    save_photo(turn(open_photo(tmp_path / "a.jpg"), 0.1), tmp_path / "b.jpg")
    assert set(photoshop(tmp_path / "a.jpg")) == {0x0404, 0x040C, 0x0406}
    assert photoshop(tmp_path / "b.jpg") == {0x0404: IPTC, 0x0406: b"x"}


def test_iptc_over_several_segments(tmp_path):
    """A resource that is longer than a segment goes on in the next one."""
    long = b"\x1c\x02\x78\x80\x04" + struct.pack(">I", 90_000) + b"w" * 90_000
    whole = resource(0x0404, long)
    parts = [whole[at : at + 60_000] for at in range(0, len(whole), 60_000)]
    with_segments(tmp_path / "a.jpg", *((0xED, b"Photoshop 3.0\0" + part) for part in parts))
    save_photo(open_photo(tmp_path / "a.jpg"), tmp_path / "b.jpg")
    with Image.open(tmp_path / "b.jpg") as image:
        found = [data for name, data in image.applist if name == "APP13"]
        image.load()
    assert b"".join(part.removeprefix(b"Photoshop 3.0\0") for part in found) == whole


@pytest.mark.parametrize("broken", [b"8BIM", b"8BIM\4\4\0\0\xff\xff\xff\xff", b"nothing known"])
def test_what_is_not_understood_is_kept_as_it_is(tmp_path, broken):
    with_segments(tmp_path / "a.jpg", (0xED, b"Photoshop 3.0\0" + broken))
    save_photo(open_photo(tmp_path / "a.jpg"), tmp_path / "b.jpg")
    assert broken in (tmp_path / "b.jpg").read_bytes()


def test_long_xmp_of_a_jpeg(tmp_path):
    more = b"http://ns.adobe.com/xmp/extension/\0" + b"0" * 32 + struct.pack(">II", 3, 0) + b"sea"
    with_segments(tmp_path / "a.jpg", (0xE1, more))
    save_photo(open_photo(tmp_path / "a.jpg"), tmp_path / "b.jpg")
    assert more in (tmp_path / "b.jpg").read_bytes()


def test_iptc_and_colours_of_a_png(tmp_path):
    from PIL.PngImagePlugin import PngInfo

    raw = f"\niptc\n{len(IPTC):8}\n{IPTC.hex()}\n"
    chunks = PngInfo()
    chunks.add_text("Raw profile type iptc", raw, zip=True)
    chunks.add(b"gAMA", struct.pack(">I", 100_000))
    half_plane((60, 40)).save(tmp_path / "a.png", pnginfo=chunks)
    save_photo(turn(open_photo(tmp_path / "a.png"), 0.1), tmp_path / "b.png")
    with Image.open(tmp_path / "b.png") as again:
        assert again.info["Raw profile type iptc"] == raw
        assert again.info["gamma"] == 1.0


@pytest.mark.parametrize("compression", ["tiff_lzw", "packbits", "tiff_adobe_deflate", "raw"])
def test_tags_of_a_tiff(tmp_path, compression):
    exif = Image.Exif()
    exif[315], exif[33723], exif[700], exif[34377], exif[0x0112] = "Ann", IPTC, XMP, b"8BIM", 6
    half_plane((60, 40)).save(
        tmp_path / "a.tif", exif=exif, dpi=(300, 300), compression=compression
    )
    photo = open_photo(tmp_path / "a.tif")
    assert photo.size == (40, 60)
    save_photo(turn(photo, 0.1), tmp_path / "b.tif")
    with Image.open(tmp_path / "b.tif") as again:
        again.load()
        assert again.info["compression"] == compression
        assert again.info["dpi"] == (300, 300)
        tags = again.getexif()
        assert [tags[n] for n in (315, 33723, 700, 34377)] == ["Ann", IPTC, XMP, b"8BIM"]


def test_nested_tags_of_a_tiff_are_worth_its_compression(tmp_path):
    exif, whole = Image.Exif(), Image.Exif()
    exif.get_ifd(0x8769)[0x9003] = "2024:05:06 07:08:09"
    whole.load(exif.tobytes())
    half_plane((60, 40)).save(tmp_path / "a.tif", exif=whole)
    save_photo(turn(open_photo(tmp_path / "a.tif"), 0.1), tmp_path / "b.tif")
    with Image.open(tmp_path / "b.tif") as again:
        assert again.getexif().get_ifd(0x8769)[0x9003] == "2024:05:06 07:08:09"


def test_bits_of_each_colour(tmp_path):
    Image.fromarray(np.zeros((6, 9), np.uint16)).save(tmp_path / "16.png")
    half_plane((9, 6)).save(tmp_path / "8.png")
    half_plane((9, 6)).convert("P").save(tmp_path / "p.png")
    Image.fromarray(np.zeros((6, 9), np.uint16)).save(tmp_path / "16.tif")
    half_plane((9, 6)).save(tmp_path / "8.tif")
    half_plane((9, 6)).save(tmp_path / "8.jpg")
    names = {"16.png": 16, "8.png": 8, "p.png": 8, "16.tif": 16, "8.tif": 8, "8.jpg": 8}
    Image.init()
    if "AVIF" in Image.SAVE:
        half_plane((9, 6)).save(tmp_path / "8.avif")
        names["8.avif"] = 8
    for name, bits in names.items():
        with Image.open(tmp_path / name) as image:
            assert deep(image, (tmp_path / name).read_bytes()) == bits, name


def test_bits_of_phones_are_in_a_box_of_the_file():
    box = b"\0\0\0\x10pixi\0\0\0\0\3"
    for kind in ("HEIF", "AVIF"):
        image = SimpleNamespace(format=kind)
        thumbnail_and_photo = b"..." + box + b"\x08\x08\x08..." + box + b"\x0a\x0a\x0a"
        assert deep(image, thumbnail_and_photo) == 10
        assert deep(image, box[:-1]) == 8  # cut short
