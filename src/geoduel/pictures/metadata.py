"""What a photo file carries beside its pixels: read when it is opened, written when it is saved."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["deep", "keep", "options", "plain_exif"]

# EXIF tags
_ORIENTATION, _WIDTH, _HEIGHT = 0x0112, (0x0100, 0xA002), (0x0101, 0xA003)
_EXIF_IFD, _GPS_IFD = 0x8769, 0x8825
# TIFF tags that say how pixels are stored, or that have an option of their own.
_STORAGE = {*range(254, 270), *range(273, 282), 284, 290, 291, 292, 293, 297, 301, 317, 318, 319}
_STORAGE |= {*range(320, 328), *range(330, 348), *range(512, 533), 34675}
_SEGMENTS = "geoduel segments"  # key of `info`: segments of a JPEG to be written as they are
_PHOTOSHOP, _MORE_XMP = b"Photoshop 3.0\0", b"http://ns.adobe.com/xmp/extension/\0"
_THUMBNAILS = (0x0409, 0x040C)  # resources of Photoshop: they show the photo as it was
_SEGMENT = 65_533  # most bytes of a JPEG segment, beside its length
_LOSSLESS = {"tiff_lzw", "tiff_adobe_deflate", "packbits", "raw"}  # compressions of TIFF to keep


def keep(image: Image) -> None:
    """Put into ``info`` what a plain picture would lose of the file it was opened from."""
    if image.format in ("JPEG", "MPO"):
        image.info[_SEGMENTS] = b"".join(_segments(getattr(image, "applist", [])))
    elif image.format == "TIFF":
        exif = image.getexif()
        for tag in [tag for tag in exif if tag in _STORAGE]:
            del exif[tag]
        data = plain_exif(image)
        if data is not None:
            image.info["exif"] = data


def deep(image: Image, head: bytes) -> int:
    """Bits of each colour as the file holds them; ``head`` is how the file begins."""
    if image.format == "PNG":
        return head[24] if head[25] != 3 else 8  # in a palette they are indices
    if image.format == "TIFF":
        bits = image.tag_v2.get(258, (1,))  # pyright: ignore[reportAttributeAccessIssue]
        return max(bits) if isinstance(bits, tuple) else bits
    if image.format in ("HEIF", "AVIF"):
        return max(_pixi(head), default=8)
    return 8


def options(image: Image, kind: str, lossless: bool) -> dict[str, Any]:
    """Arguments of Pillow's ``save``: quality and metadata."""
    info = image.info
    found: dict[str, Any] = {"icc_profile": info.get("icc_profile"), "exif": plain_exif(image)}

    def also(*keys: str) -> dict[str, Any]:
        return {key: info[key] for key in keys if key in info}

    if kind == "JPEG":
        found |= {"quality": 95, "subsampling": 0, "extra": info.get(_SEGMENTS, b"")}
        found |= also("dpi", "xmp", "comment")
    elif kind == "WEBP":
        found |= {"quality": 95, "method": 4, "lossless": lossless, "exact": lossless}
        found |= also("xmp")
    elif kind == "AVIF":
        found |= {"quality": 90, "subsampling": "4:4:4"} | also("xmp")
    elif kind == "HEIF":
        found |= {"quality": 92, "chroma": 444} | also("xmp")
    elif kind == "TIFF":
        how = info.get("compression")
        nested = {_EXIF_IFD, _GPS_IFD} & set(image.getexif())
        # Pillow compresses by libtiff, and can give it no nested tags.
        how = "raw" if nested else how if how in _LOSSLESS else "tiff_adobe_deflate"
        found |= {"compression": how} | also("dpi")
    else:
        found |= {"pnginfo": _png_chunks(info)} | also("dpi")
    return {key: value for key, value in found.items() if value is not None}


def plain_exif(image: Image) -> bytes | None:
    """The picture's EXIF for its pixels as they are now."""
    try:
        exif = image.getexif()
        if not exif:
            return None
        exif[_ORIENTATION] = 1
        nested = [exif.get_ifd(_EXIF_IFD)] if _EXIF_IFD in exif else []  # which makes one if not
        for tags in (exif, *nested):
            for names, value in ((_WIDTH, image.width), (_HEIGHT, image.height)):
                for tag in names:
                    if tag in tags:
                        tags[tag] = value
        data = exif.tobytes()
    except Exception:  # damaged metadata is no reason to lose the picture
        return None
    # What one segment holds, where the file is made of segments.
    return data if len(data) < 65_500 or image.format not in ("JPEG", "MPO") else None


# -- private ---------------------------------------------------------------------------------------


def _segments(found: list[tuple[str, bytes]]) -> Iterator[bytes]:
    """The segments of a JPEG that Pillow does not write: IPTC, paths and more, long XMP."""
    whole = b"".join(
        data[len(_PHOTOSHOP) :]
        for name, data in found
        if name == "APP13" and data.startswith(_PHOTOSHOP)
    )
    rest, room = b"".join(_resources(whole)), _SEGMENT - len(_PHOTOSHOP)
    for start in range(0, len(rest), room):
        yield _segment(0xED, _PHOTOSHOP + rest[start : start + room])
    for name, data in found:
        if name == "APP1" and data.startswith(_MORE_XMP):
            yield _segment(0xE1, data)


def _segment(marker: int, data: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


def _resources(whole: bytes) -> Iterator[bytes]:
    """The resources of Photoshop but for thumbnails; what cannot be understood as it is."""
    at = 0
    while whole[at : at + 4] == b"8BIM" and at + 12 <= len(whole):
        name = at + 6  # of an even length with the byte that counts it
        size_at = name + 1 + whole[name] + (whole[name] + 1) % 2
        if size_at + 4 > len(whole):
            break
        (size,) = struct.unpack(">I", whole[size_at : size_at + 4])
        end = size_at + 4 + size + size % 2
        if int.from_bytes(whole[at + 4 : at + 6]) not in _THUMBNAILS:
            yield whole[at:end]
        at = end
    yield whole[at:]


def _png_chunks(info: dict[Any, Any]) -> Any:
    """Texts of a PNG, IPTC among them, and what its numbers mean as colours."""
    from PIL.PngImagePlugin import PngInfo

    chunks = PngInfo()
    if "icc_profile" not in info:
        if isinstance(info.get("srgb"), int):
            chunks.add(b"sRGB", bytes([info["srgb"] & 3]))
        if isinstance(info.get("gamma"), float):
            chunks.add(b"gAMA", struct.pack(">I", round(1e5 * info["gamma"])))
        whites = info.get("chromaticity")
        if isinstance(whites, tuple) and len(whites) == 8:
            chunks.add(b"cHRM", struct.pack(">8I", *(round(1e5 * value) for value in whites)))
    for key, value in info.items():
        if not isinstance(value, str) or not isinstance(key, str):
            continue
        if key in ("Raw profile type exif", "Raw profile type APP1"):  # are in the EXIF
            continue
        if key.startswith("Raw profile"):
            chunks.add_text(key, value, zip=True)
        else:
            chunks.add_itxt(key, value, zip=len(value) > 1000)
    if isinstance(info.get("xmp"), bytes) and "XML:com.adobe.xmp" not in info:
        chunks.add_itxt("XML:com.adobe.xmp", info["xmp"].decode("utf-8", "replace"))
    return chunks


def _pixi(head: bytes) -> Iterator[int]:
    """Bits a channel of the pictures in a HEIF or AVIF file, by its "pixi" boxes."""
    at = head.find(b"pixi")
    while at >= 0 and at + 9 <= len(head):
        yield from head[at + 9 : at + 9 + min(head[at + 8], 4)]
        at = head.find(b"pixi", at + 4)
