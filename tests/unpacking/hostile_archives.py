"""A corpus of archives that must not be unpacked, each built here: a name, the archive, and what must be said of it."""

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib

import zstandard

MARK = "owned-by-a-hostile-archive"


def info(name, kind=tarfile.REGTYPE, target="", size=0):
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, target, size
    return made


def tar(*members, mode="w", **options):
    """A member is a TarInfo, or a name whose content is `MARK`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode, **options) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member, io.BytesIO(b"x" * member.size))
            else:
                archive.addfile(info(member, size=len(MARK)), io.BytesIO(MARK.encode()))
    return buffer.getvalue()


def zipped(*members, compression=zipfile.ZIP_DEFLATED):
    """A member is a name, or a name with the mode of a file and its content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for member in members:
            name, mode, content = (member, 0, MARK) if isinstance(member, str) else member
            entry = zipfile.ZipInfo(name)
            entry.external_attr = mode << 16
            entry.compress_type = compression
            archive.writestr(entry, content)
    return buffer.getvalue()


def with_size(archive, field):
    """The tar archive with the size of its first member overwritten, and the header's checksum made right."""
    header = bytearray(archive[:512])
    header[124:136] = field
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + archive[512:]


def with_dictionary(xz, code):
    """The xz archive with the ``code`` of another size of dictionary in its first block: 36 is one of 1 GiB."""
    header = bytearray(xz[12 : 12 + 4 * (xz[12] + 1)])
    header[4] = code
    header[-4:] = zlib.crc32(header[:-4]).to_bytes(4, "little")
    return xz[:12] + bytes(header) + xz[12 + len(header) :]


def encrypted():
    data = bytearray(zipped("f"))
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(signature) + offset] |= 1
    return bytes(data)


def with_nul():
    return zipped("fXevil").replace(b"fXevil", b"f\0evil")


def damaged_zip():
    data = bytearray(zipped(("f", 0, "abc" * 1000)))
    data[45] ^= 0xFF
    return bytes(data)


def damaged(data):
    middle = len(data) // 2
    return data[:middle] + bytes(byte ^ 0xFF for byte in data[middle : middle + 20]) + data[middle + 20 :]


SYM, HARD, DIR = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE
OUT = "holds a path that leads out of its directory"
LEADS = "leads out of its directory"
TWICE = "twice"
NO_FILE = "which is not a file before it"
NEITHER = "neither file, directory nor link"
BROKEN = "damaged|not a usable"
NOISE = bytes(range(256)) * 400

TARS = {
    "traversal": (tar("../evil"), OUT),
    "traversal inside": (tar("a/../../evil"), OUT),
    "traversal that stays": (tar("a/../evil"), OUT),
    "traversal of a directory": (tar(info("../evil", DIR)), OUT),
    "absolute": (tar("/tmp/evil"), OUT),
    "absolute with slashes": (tar("//tmp/evil"), OUT),
    "absolute symlink": (tar(info("link", SYM, "/etc")), LEADS),
    "symlink up": (tar(info("link", SYM, "..")), LEADS),
    "symlink up from below": (tar(info("a/link", SYM, "../../evil")), LEADS),
    "symlink up, hidden": (tar(info("a/link", SYM, "./.././../evil")), LEADS),
    "symlink down and up": (tar(info("a/link", SYM, "b/../../../evil")), LEADS),
    "symlink to nothing": (tar(info("link", SYM, "")), LEADS),
    "symlink chain": (tar(info("a/b/up", SYM, ".."), info("a/b/out", SYM, "up/../../../evil")), LEADS),
    "symlink, then written through": (tar(info("link", SYM, "."), "link/evil"), TWICE),
    "symlink, then a file of its name": (tar(info("link", SYM, "evil"), "link"), TWICE),
    "symlink, then a directory of its name": (tar(info("link", SYM, "."), info("link", DIR)), TWICE),
    "file, then a symlink of its name": (tar("f", info("f", SYM, "g")), TWICE),
    "file, then a hard link of its name": (tar("g", "f", info("f", HARD, "g")), TWICE),
    "directory, then a symlink of its name": (tar("d/f", info("d", SYM, ".")), TWICE),
    "directory, then a file of its name": (tar("d/f", "d"), TWICE),
    "file, then a directory of its name": (tar("d", "d/f"), TWICE),
    "a name twice": (tar("f", "f"), TWICE),
    "a name twice, spelt otherwise": (tar("a/f", "./a//f"), TWICE),
    "hard link out": (tar(info("link", HARD, "../../etc/passwd")), OUT),
    "absolute hard link": (tar(info("link", HARD, "/etc/passwd")), OUT),
    "hard link to nothing": (tar(info("link", HARD, "missing")), NO_FILE),
    "hard link to nothing below": (tar(info("link", HARD, "missing/f")), NO_FILE),
    "hard link to a symlink": (tar(info("s", SYM, "x"), info("link", HARD, "s")), NO_FILE),
    "hard link through a symlink": (tar("d/f", info("s", SYM, "d"), info("link", HARD, "s/f")), TWICE),
    "hard link to a directory": (tar("d/f", info("link", HARD, "d")), NO_FILE),
    "hard link to the root": (tar(info("link", HARD, ".")), NO_FILE),
    "character device": (tar(info("null", tarfile.CHRTYPE)), NEITHER),
    "block device": (tar(info("disk", tarfile.BLKTYPE)), NEITHER),
    "FIFO": (tar(info("pipe", tarfile.FIFOTYPE)), NEITHER),
    "a file without a name": (tar(info("./", tarfile.REGTYPE)), "without a name|reaches|neither"),
    "too deep": (tar("a/" * 120 + "f"), "directories deep"),
    "a header that is too large": (
        tar(info("f"), format=tarfile.PAX_FORMAT, pax_headers={"comment": "x" * (2 << 20)}),
        "header of it is far too large",
    ),
    "headers without end": (
        b"".join(
            tar(format=tarfile.PAX_FORMAT, pax_headers={f"a{n}": "x" * 900_000})[:-10240].rstrip(b"\0").ljust(901_120, b"\0")
            for n in range(4)
        ),
        "header",
    ),
    "negative size": (with_size(tar("f"), b"\xff" * 8 + struct.pack(">i", -4096)), f"points back|{BROKEN}"),
    "cut in a file": (tar(info("f", size=5000))[:2000], BROKEN),
    "cut between members": (tar("f", "g")[:1024], "its end is missing"),
    "cut in a header": (tar("f", "g")[:1200], "its end is missing"),
    "broken second header": (tar("f", "g")[:1024] + b"x" * 512 + bytes(1024), "its end is missing"),
    "empty": (b"", BROKEN),
    "nonsense": (b"\x01nonsense" * 1000, BROKEN),
    "a web page": (b"<html>" * 1000, BROKEN),
}  # fmt: skip

PACKED = {
    "tar.gz": gzip.compress,
    "tar.bz2": bz2.compress,
    "tar.xz": lzma.compress,
    "tar.zst": zstandard.ZstdCompressor().compress,
}

GOOD = tar(info("f", size=0), "g", info("noise", size=200_000))

OTHERS = {
    **{f"{form}, cut short": (form, pack(GOOD)[:-30], BROKEN) for form, pack in PACKED.items() if form != "tar.zst"},
    **{f"{form}, cut in the middle": (form, pack(GOOD)[: len(pack(GOOD)) // 2], BROKEN) for form, pack in PACKED.items()},
    **{f"{form}, empty": (form, b"", BROKEN) for form in PACKED},
    **{f"{form}, plain": (form, GOOD, BROKEN) for form in PACKED},
    **{f"{form}, damaged": (form, damaged(pack(NOISE + GOOD)), BROKEN) for form, pack in PACKED.items()},
    "xz that wants too much memory": (
        "tar.xz",
        with_dictionary(lzma.compress(GOOD), 36),
        "emory",
    ),
    "zip, traversal": ("zip", zipped("../evil"), OUT),
    "zip, absolute": ("zip", zipped("/tmp/evil"), OUT),
    "zip, NUL": ("zip", with_nul(), OUT),
    "zip, symlink out": ("zip", zipped(("link", stat.S_IFLNK | 0o777, "../evil")), LEADS),
    "zip, absolute symlink": ("zip", zipped(("link", stat.S_IFLNK | 0o777, "/etc/passwd")), LEADS),
    "zip, symlink, then written through": (
        "zip", zipped(("link", stat.S_IFLNK | 0o777, "sub"), "link/evil"), TWICE,
    ),
    "zip, device": ("zip", zipped(("null", stat.S_IFCHR | 0o666, "")), NEITHER),
    "zip, FIFO": ("zip", zipped(("pipe", stat.S_IFIFO | 0o666, "")), NEITHER),
    "zip, encrypted": ("zip", encrypted(), "encrypted"),
    "zip, lzma": ("zip", zipped("f", compression=zipfile.ZIP_LZMA), "unusual way"),
    "zip, damaged": ("zip", damaged_zip(), BROKEN),
    "zip, cut short": ("zip", zipped("f", "g")[:-30], BROKEN),
    "zip, a tar": ("zip", GOOD, BROKEN),
    "zip, empty": ("zip", b"", BROKEN),
}  # fmt: skip

CORPUS = {**{name: ("tar", *rest) for name, rest in TARS.items()}, **OTHERS}
"""By name: the format, the archive, and a pattern of the error."""
