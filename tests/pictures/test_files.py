"""Photos keep what they carried; what is no picture is refused; nothing is half written."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from geoduel.errors import ArgumentError, MissingExtraError, PictureError

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed (extra web)")

from PIL import (  # noqa: E402
    ExifTags,
    ImageCms,
    ImageDraw,
)
from samples.photos import half_plane  # noqa: E402

from geoduel.pictures import (  # noqa: E402
    open_photo,
    picture_format,
    save_name,
    save_photo,
    seascape,
    shrink,
    turn,
)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_honoured_and_reset(tmp_path, orientation):
    upright = Image.new("RGB", (60, 40), "white")
    ImageDraw.Draw(upright).rectangle((0, 0, 20, 10), fill="black")  # top left
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # Pillow's transpositions
    stored = upright.transpose(undo[orientation]) if orientation > 1 else upright
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = orientation, "a camera"
    stored.save(tmp_path / "a.png", exif=exif)
    photo = open_photo(tmp_path / "a.png")
    assert photo.size == (60, 40)
    assert photo.getpixel((5, 5)) == (0, 0, 0)
    assert photo.getpixel((55, 35)) == (255, 255, 255)
    save_photo(photo, tmp_path / "b.png")
    with Image.open(tmp_path / "b.png") as again:
        assert again.getexif()[0x0112] == 1
        assert again.getexif()[0x010F] == "a camera"


def can(suffix: str) -> bool:
    """Whether files of this ending can be written here; Pillow has HEIF from pillow-heif."""
    if suffix == ".heic":
        pillow_heif = pytest.importorskip("pillow_heif", reason="needs the extra photos")
        pillow_heif.register_heif_opener()
    Image.init()
    if suffix == ".avif" and "AVIF" not in Image.SAVE:
        pytest.skip("Pillow without AVIF")
    return True


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".avif", ".heic"])
def test_metadata_survive_turning_and_saving(tmp_path, suffix):
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "a camera"
    details = exif.get_ifd(ExifTags.IFD.Exif)
    details[0xA002], details[0xA003], details[0x9003] = 90, 60, "2024:05:06 07:08:09"
    exif.get_ifd(ExifTags.IFD.GPSInfo)[1] = "N"
    profile = b"\0\0\0\x80" + b"profile" * 20
    xmp = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'>sea</x:xmpmeta>"
    assert can(suffix)
    if suffix in (".avif", ".heic"):  # whose decoders look at it
        profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    more = {".jpg": {"xmp": xmp, "dpi": (300, 300), "comment": b"words"}}
    more |= {kind: {"xmp": xmp} for kind in (".webp", ".avif", ".heic")}
    half_plane((90, 60)).save(
        tmp_path / f"a{suffix}", exif=exif.tobytes(), icc_profile=profile, **more.get(suffix, {})
    )
    photo = open_photo(tmp_path / f"a{suffix}")
    assert photo.size == (60, 90)
    saved = save_photo(turn(photo, 0.3), tmp_path / f"b{suffix}")
    with Image.open(saved) as again:
        assert again.format == photo.format == picture_format(saved)
        assert again.info["icc_profile"] == profile
        tags = again.getexif()
        assert tags.get(0x0112, 1) == 1
        assert tags[0x010F] == "a camera"
        assert tags.get_ifd(ExifTags.IFD.Exif)[0x9003] == "2024:05:06 07:08:09"
        assert tags.get_ifd(ExifTags.IFD.Exif)[0xA002] == again.width
        assert tags.get_ifd(ExifTags.IFD.GPSInfo)[1] == "N"
        for key, value in more.get(suffix, {}).items():
            assert again.info[key] == value


def test_png_texts_survive(tmp_path):
    from PIL.PngImagePlugin import PngInfo

    texts = PngInfo()
    texts.add_text("Title", "the sea")
    half_plane((9, 6)).save(tmp_path / "a.png", pnginfo=texts)
    save_photo(open_photo(tmp_path / "a.png"), tmp_path / "b.png")
    with Image.open(tmp_path / "b.png") as again:
        assert again.text["Title"] == "the sea"


NONE = "not a JPEG, PNG, WebP, TIFF, HEIF or AVIF"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (
            "text.jpg",
            b"Dear reader, this is no photo. " * 40,
            NONE,
        ),
        ("empty.jpg", b"", "empty"),
        (
            "page.png",
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            NONE,
        ),
        ("head.jpg", b"\xff\xd8\xff\xe0\x00\x10JFIF", NONE),
    ],
)
def test_files_that_are_no_pictures(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PictureError, match=f"{name}.*{says}"):
        open_photo(tmp_path / name)


@pytest.mark.parametrize("kind", ["jpg", "png", "webp"])
def test_a_picture_cut_short(tmp_path, kind):
    whole = io.BytesIO()
    seascape(0, size=(120, 80)).save(whole, {"jpg": "JPEG"}.get(kind, kind))
    for share in (0.5, 0.9):
        file = tmp_path / f"{share}.{kind}"
        file.write_bytes(whole.getvalue()[: int(share * len(whole.getvalue()))])
        with pytest.raises(PictureError, match=r"cut short|is not a"):
            open_photo(file)


def test_a_preview_is_decoded_small(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    seascape(0, size=(1200, 800)).save(tmp_path / "a.jpg", exif=exif)
    small = open_photo(tmp_path / "a.jpg", preview=250)
    assert small.size == (200, 300)  # a quarter, upright
    whole = shrink(open_photo(tmp_path / "a.jpg"), 300)
    assert np.abs(np.asarray(small, float) - np.asarray(whole, float)).mean() < 4
    assert open_photo(tmp_path / "a.jpg", preview=5000).size == (800, 1200)
    (tmp_path / "a.jpg").write_bytes((tmp_path / "a.jpg").read_bytes()[:-2000])
    with pytest.raises(PictureError, match="cut short"):
        open_photo(tmp_path / "a.jpg", preview=250)


def bomb(width: int, height: int, bits: int = 8, colour: int = 2) -> bytes:
    """A PNG of a few bytes that says it is large, or has many bits."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [(13_000, 12_000), (60_000, 60_000), (2_000_000, 100)])
def test_a_decompression_bomb_is_refused_before_it_goes_off(tmp_path, size):
    (tmp_path / "bomb.png").write_bytes(bomb(*size))
    with pytest.raises(PictureError, match=r"bomb.png.*megapixels"):
        open_photo(tmp_path / "bomb.png")


def test_limits_and_animations(tmp_path):
    half_plane((90, 60)).save(tmp_path / "a.png")
    with pytest.raises(PictureError, match="megapixels"):
        open_photo(tmp_path / "a.png", max_pixels=5000)
    with pytest.raises(PictureError, match="MB"):
        open_photo(tmp_path / "a.png", max_bytes=10)
    with pytest.raises(FileNotFoundError):
        open_photo(tmp_path / "none.png")
    half_plane((9, 6)).save(
        tmp_path / "b.webp", save_all=True, append_images=[half_plane((9, 6), 1.0)]
    )
    with pytest.raises(PictureError, match="animated"):
        open_photo(tmp_path / "b.webp")


def test_palettes_and_transparent_colours_become_turnable(tmp_path):
    picture = half_plane((60, 40)).convert("P")
    picture.save(tmp_path / "p.png")
    picture.save(tmp_path / "t.png", transparency=0)
    half_plane((60, 40)).convert("1").save(tmp_path / "1.png")
    Image.fromarray(np.full((40, 60), 40_000, np.uint16)).save(tmp_path / "16.png")
    modes = {name: open_photo(tmp_path / f"{name}.png").mode for name in ("p", "t", "1", "16")}
    assert modes == {"p": "RGB", "t": "RGBA", "1": "L", "16": "I;16"}
    turned = turn(open_photo(tmp_path / "16.png"), 0.2)
    assert np.asarray(turned).min() == 40_000
    assert shrink(turned, 30).mode == "L"
    with pytest.raises(PictureError, match="16"):
        save_photo(turned, tmp_path / "16.jpg")
    with Image.open(save_photo(turned, tmp_path / "17.png")) as again:
        assert np.asarray(again).max() == 40_000


def test_nothing_is_overwritten_unasked_and_no_part_is_left(tmp_path, monkeypatch):
    image = half_plane((9, 6))
    file = save_photo(image, tmp_path / "a.png")
    before = file.read_bytes()
    with pytest.raises(FileExistsError, match=r"a\.png"):
        save_photo(image, file)
    save_photo(half_plane((9, 6), 1.0), file, overwrite=True)
    assert file.read_bytes() != before
    with pytest.raises(PictureError, match="gif"):
        save_photo(image, tmp_path / "a.gif")
    with pytest.raises(PictureError, match="CMYK"):
        save_photo(image.convert("CMYK"), tmp_path / "c.png")

    def fails(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(type(image), "save", fails)
    with pytest.raises(OSError, match="disk full"):
        save_photo(image, tmp_path / "b.png")
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]


def test_quality_formats_and_endings(tmp_path):
    image = seascape(0, size=(240, 160))
    for suffix, worst in ((".jpg", 2.0), (".png", 0.0), (".webp", 3.0)):
        again = open_photo(save_photo(image, tmp_path / f"a{suffix}"))
        difference = np.asarray(again, float) - np.asarray(image, float)
        assert np.sqrt(np.mean(difference**2)) <= worst
    exact = open_photo(save_photo(image, tmp_path / "exact.webp", lossless=True))
    assert np.array_equal(np.asarray(exact), np.asarray(image))
    clear = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    assert open_photo(save_photo(clear, tmp_path / "clear.jpg")).getpixel((4, 4)) == (255,) * 3
    Path(tmp_path / "a.png").rename(tmp_path / "wrong.jpg")
    photo = open_photo(tmp_path / "wrong.jpg")
    assert photo.format == "PNG"
    assert save_name(photo, tmp_path / "wrong-level.jpg") == tmp_path / "wrong-level.png"


def test_shrink_keeps_small_pictures_and_the_shape():
    assert shrink(half_plane((300, 200)), 400).size == (300, 200)
    assert shrink(half_plane((3000, 20)), 100).size == (100, 1)
    assert shrink(half_plane((30, 20)).convert("CMYK"), 10).mode == "RGB"
    with pytest.raises(ArgumentError, match="longest"):
        shrink(half_plane(), 0)


@pytest.mark.parametrize("suffix", [".tif", ".avif", ".heic"])
def test_other_formats_of_photos(tmp_path, suffix):
    assert can(suffix)
    image = seascape(0, size=(240, 160))
    saved = save_photo(image, tmp_path / f"a{suffix}")
    again = open_photo(saved)
    assert again.format == picture_format(saved)
    difference = np.asarray(again, float) - np.asarray(image, float)
    assert np.sqrt(np.mean(difference**2)) <= 4
    assert turn(again, 0.1).format == again.format
    assert open_photo(saved, preview=100).size == (240, 160)
    whole = saved.read_bytes()
    (tmp_path / f"cut{suffix}").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(PictureError, match=r"cut short|is not a"):
        open_photo(tmp_path / f"cut{suffix}")
    if suffix != ".tif":
        with pytest.raises(PictureError, match="CMYK"):
            save_photo(image.convert("CMYK"), tmp_path / f"c{suffix}")


def test_a_format_that_needs_an_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("geoduel.pictures.files._openers", lambda pil: ["JPEG", "PNG"])
    for brand, kind in ((b"heic", "HEIF"), (b"avif", "AVIF")):
        box = b"\0\0\0\x18ftyp" + brand + b"\0\0\0\0mif1miaf"
        (tmp_path / "phone").write_bytes(box + b"\0" * 99)
        with pytest.raises(MissingExtraError, match=rf"phone is {kind}.*geoduel\[photos\]"):
            open_photo(tmp_path / "phone")


@pytest.mark.parametrize("colour", [2, 4, 6])
def test_sixteen_bits_a_colour_are_refused(tmp_path, colour):
    """Pillow opens them with 8, without a word; grey keeps its 16."""
    (tmp_path / "deep.png").write_bytes(bomb(2, 2, bits=16, colour=colour))
    with pytest.raises(PictureError, match=r"deep\.png has 16 bits a colour"):
        open_photo(tmp_path / "deep.png")


def test_modes_of_tiffs(tmp_path):
    picture, grey = half_plane((60, 40)), np.full((40, 60), 40_000, np.uint16)
    for mode, opened in {"1": "L", "P": "RGB", "CMYK": "CMYK", "LA": "LA"}.items():
        picture.convert(mode).save(tmp_path / "a.tif")
        assert open_photo(tmp_path / "a.tif").mode == opened
    for order in "<>":
        Image.fromarray(grey.astype(f"{order}u2")).save(tmp_path / "16.tif")
        photo = open_photo(tmp_path / "16.tif")
        assert photo.mode == "I;16"
        save_photo(turn(photo, 0.1), tmp_path / "16.tif", overwrite=True)
        assert np.asarray(open_photo(tmp_path / "16.tif")).max() == 40_000
    for kind, says in ((np.float32, "32 bits"), (np.int32, "32 bits")):
        Image.fromarray(grey.astype(kind)).save(tmp_path / "b.tif")
        with pytest.raises(PictureError, match=says):
            open_photo(tmp_path / "b.tif")
    picture.convert("LAB").save(tmp_path / "lab.tif")
    with pytest.raises(PictureError, match="mode LAB"):
        open_photo(tmp_path / "lab.tif")
    picture.save(tmp_path / "two.tif", save_all=True, append_images=[picture])
    with pytest.raises(PictureError, match="several pages"):
        open_photo(tmp_path / "two.tif")
