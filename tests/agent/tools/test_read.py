"""Read, asked what 2.1.325 was asked: words and shapes are those of that client, unless a comment says otherwise."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from tests.agent.tools.desk import Desk

from stenograph.agent.tools.base import Json, ToolFailed
from stenograph.agent.tools.media import dimensions
from stenograph.agent.tools.read import ReadTool, human_size

READ = ReadTool()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    (desk.project / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    return desk


def read(desk: Desk, name: str, **given: object) -> tuple[str, Json]:
    output = asyncio.run(desk.call(READ, file_path=str(desk.project / name), **given))
    assert isinstance(output.content, str)
    assert output.is_error is None
    return output.content, output.structured["file"]


def blocks(desk: Desk, name: str, **given: object) -> tuple[list[Json], Json]:
    output = asyncio.run(desk.call(READ, file_path=str(desk.project / name), **given))
    assert isinstance(output.content, list)
    return output.content, output.structured


def fail(desk: Desk, name: str, **given: object) -> str:
    return asyncio.run(desk.fail(READ, file_path=str(desk.project / name), **given))


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"\1\2\3" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_a_text_comes_with_line_numbers(desk: Desk) -> None:
    words, file = read(desk, "a.txt")
    assert words == "1\tone\n2\ttwo\n3\tthree\n4\tfour\n5\tfive\n6\t"
    assert file == {
        "filePath": str(desk.project / "a.txt"),
        "content": "one\ntwo\nthree\nfour\nfive\n",
        "numLines": 6,
        "startLine": 1,
        "totalLines": 6,
    }


@pytest.mark.parametrize(
    ("given", "words", "content", "lines", "start"),
    [
        ({"offset": 2, "limit": 2}, "2\ttwo\n3\tthree", "two\nthree", 2, 2),
        ({"offset": "3"}, "3\tthree\n4\tfour\n5\tfive\n6\t", "three\nfour\nfive\n", 4, 3),
        ({"offset": 6}, "6\t", "", 1, 6),
        ({"limit": 0}, "1\tone\n2\ttwo\n3\tthree\n4\tfour\n5\tfive\n6\t", "one\ntwo\nthree\nfour\nfive\n", 6, 1),
        ({"offset": -2}, "1\tone\n2\ttwo\n3\tthree\n4\tfour\n5\tfive\n6\t", "one\ntwo\nthree\nfour\nfive\n", 6, 1),
        (
            {"offset": 100},
            "<system-reminder>Warning: the file exists but is shorter than the provided offset (100). The file has 6"
            " lines.</system-reminder>",
            "",
            0,
            100,
        ),
    ],
)
def test_a_range_of_lines(desk: Desk, given: Json, words: str, content: str, lines: int, start: int) -> None:
    said, file = read(desk, "a.txt", **given)
    assert said == words
    assert (file["content"], file["numLines"], file["startLine"], file["totalLines"]) == (content, lines, start, 6)


@pytest.mark.parametrize(
    ("data", "words", "content", "total"),
    [
        (b"alpha\nbeta", "1\talpha\n2\tbeta", "alpha\nbeta", 2),
        (b"one\r\ntwo\r\n", "1\tone\n2\ttwo\n3\t", "one\ntwo\n", 3),
        ("hello\nwörld\n".encode("utf-16"), "1\thello\n2\twörld\n3\t", "hello\nwörld\n", 3),
        (b"\xef\xbb\xbfone\n", "1\tone\n2\t", "one\n", 2),
        (b"\n", "1\t\n2\t", "\n", 2),
        (b"", "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>", "", 1),
        ("a\u2028b\x0cc\n".encode(), "1\ta\u2028b\x0cc\n2\t", "a\u2028b\x0cc\n", 2),
        (
            "café\n".encode("latin-1"),
            "1\tcaf\ufffd\n2\t\n\n[This file is not valid UTF-8: it uses a legacy encoding such as Windows-1252,"
            " Shift-JIS or GBK,"
            " or it is binary. Its undecodable bytes show above as U+FFFD. Edit and Write will refuse it: change it with a shell"
            " command that keeps its encoding, or ask the user whether to convert it to UTF-8.]",
            "caf\ufffd\n",
            2,
        ),
        (
            b"a\0b\n",
            "1\ta\0b\n2\t\n\n[This file has NUL bytes in its first 8 KB: binary data, UTF-16/UTF-32 without a byte-order mark, or"
            " text with embedded NULs. Edit and Write will refuse it: change it with a shell command that keeps its encoding, or"
            " ask the user whether to convert it to UTF-8.]",
            "a\0b\n",
            2,
        ),
    ],
)
def test_texts_of_every_form(desk: Desk, data: bytes, words: str, content: str, total: int) -> None:
    (desk.project / "b.txt").write_bytes(data)
    said, file = read(desk, "b.txt")
    assert said == words
    assert (file["content"], file["totalLines"]) == (content, total)


@pytest.mark.parametrize(
    ("name", "data", "given", "words"),
    [
        ("missing.txt", None, {}, "File does not exist. Note: your current working directory is {cwd}."),
        ("a.tx", None, {}, "File does not exist. Note: your current working directory is {cwd}. Did you mean a.txt?"),
        (".", None, {}, "EISDIR: illegal operation on a directory, read '{cwd}'"),
        ("a.txt/b", None, {}, "ENOTDIR: not a directory, open '{cwd}/a.txt/b'"),
        (
            "../nobody/\0",
            None,
            {},
            "<tool_use_error>Read file_path cannot contain null bytes (\\0). Remove the null byte and try"
            " again.</tool_use_error>",
        ),
        (
            "p.exe",
            b"MZ",
            {},
            "<tool_use_error>This tool cannot read binary files. The file appears to be a binary .exe file. Use"
            " a skill for this file type if one is available, or a shell command or script that can read the"
            " format.</tool_use_error>",
        ),
        ("e.png", b"", {}, "Image file is empty: {cwd}/e.png"),
        (
            "bad.png",
            b"not a picture",
            {},
            "File has an image extension but its content is not a valid PNG/JPEG/GIF/WebP. Detected:"
            " unrecognized bytes (hex: 6e 6f 74 20 61 20 70 69). This usually means a download saved an error/login"
            " page instead of"
            ' the image. Use `file "{cwd}/bad.png"` to confirm, or read it as text with Bash (e.g. `head -c 500`).',
        ),
        ("e.pdf", b"", {}, "PDF file is empty: {cwd}/e.pdf"),
        ("bad.pdf", b"not a pdf", {}, "File is not a valid PDF (missing %PDF- header): {cwd}/bad.pdf"),
        (
            "x.pdf",
            b"%PDF-1",
            {"pages": "x"},
            '<tool_use_error>Invalid pages parameter: "x". Give one page ("3") or one range'
            ' ("1-5"), not a list. To read several pages or ranges, read each one separately. Pages are'
            " 1-indexed.</tool_use_error>",
        ),
        (
            "x.pdf",
            b"%PDF-1",
            {"pages": "1-50"},
            '<tool_use_error>Page range "1-50" exceeds maximum of 20 pages per request. Please'
            " use a smaller range.</tool_use_error>",
        ),
        # Ours: the client needs another program for pages.
        ("x.pdf", b"%PDF-1", {"pages": "1"}, "The pages of this PDF cannot be read: it is damaged or encrypted."),
        ("bad.ipynb", b'{"cells": 1}', {}, "Notebook file has no cells: it is JSON, but not of a notebook."),
        (
            "big.txt",
            b"y" * 300_000,
            {},
            "File content (293KB) exceeds maximum allowed size (256KB). Use offset and limit parameters"
            " to read specific portions of the file, or search for specific content instead of reading the whole file. To read it"
            " anyway, up to what still fits in your context, call Read again with allow_large: true — only if you"
            " genuinely need all"
            " of it or the user asked for the whole file.",
        ),
        # 300,000 characters at four a token; the client asks its endpoint.
        (
            "big.txt",
            b"y" * 300_000,
            {"limit": 1},
            "File content (75000 tokens) exceeds maximum allowed tokens (25000). Use offset"
            " and limit parameters to read specific portions of the file, or search for specific content instead of reading the"
            " whole file. To read it anyway, up to what still fits in your context, call Read again with allow_large:"
            " true — only if"
            " you genuinely need all of it or the user asked for the whole file.",
        ),
    ],
)
def test_what_can_not_be_read_is_said(desk: Desk, name: str, data: bytes | None, given: Json, words: str) -> None:
    if data is not None:
        (desk.project / name).write_bytes(data)
    assert fail(desk, name, **given) == words.replace("{cwd}", str(desk.project))


def test_a_notebook_that_is_no_json(desk: Desk) -> None:
    (desk.project / "bad.ipynb").write_text("{nope")
    assert fail(desk, "bad.ipynb").startswith(
        "Notebook file is not valid JSON (it may be truncated, corrupted, or still being written)"
    )


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null"])
def test_devices_are_not_read(desk: Desk, name: str) -> None:
    said = asyncio.run(desk.fail(READ, file_path=name))
    assert said == (
        f"<tool_use_error>Cannot read '{name}': this path names a device or process file that this tool does not"
        " read.</tool_use_error>"
    )


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="this system shows no processes as files")
@pytest.mark.parametrize("name", ["environ", "task/{pid}/environ", "mem", "cmdline"])
def test_the_environment_and_memory_of_processes_are_not_read(desk: Desk, name: str) -> None:
    name = name.replace("{pid}", str(os.getpid()))
    (desk.project / "link").symlink_to(f"/proc/self/{name}")
    paths = [f"/proc/self/{name}", f"/proc/{os.getpid()}/{name}", f"/proc/self/root/proc/self/{name}", "link"]
    for path in paths:
        for part in ({}, {"offset": 1}):
            said = asyncio.run(desk.fail(READ, file_path=path, **part))
            assert "this path names a device or process file" in said
    assert "Name:" in str(asyncio.run(desk.call(READ, file_path="/proc/self/status")).content)


def test_a_pipe_that_nobody_writes_does_not_hold_us(desk: Desk) -> None:
    os.mkfifo(desk.project / "pipe")
    assert "this path names a device or process file" in fail(desk, "pipe")
    assert "this path names a device or process file" in fail(desk, "pipe", offset=3)


def test_a_link_that_leads_nowhere_is_a_missing_file(desk: Desk) -> None:
    (desk.project / "dangling").symlink_to("nowhere")
    assert fail(desk, "dangling") == f"File does not exist. Note: your current working directory is {desk.project}."


def test_a_link_is_read_through_and_relative_names_are_taken(desk: Desk) -> None:
    (desk.project / "link.txt").symlink_to("a.txt")
    output = asyncio.run(desk.call(READ, file_path="link.txt", limit=1))
    assert output.content == "1\tone"
    assert output.structured["file"]["filePath"] == "link.txt"


def test_a_file_without_rights_says_so(desk: Desk) -> None:
    closed = desk.project / "closed"
    closed.mkdir()
    (closed / "f.txt").write_text("x")
    closed.chmod(0)
    user = os.geteuid()
    if user == 0:  # who may read everything: be somebody else for a moment
        os.seteuid(65534)
    try:
        assert fail(desk, "closed/f.txt") == f"EACCES: permission denied, open '{closed}/f.txt'"
    finally:
        os.seteuid(user)
        closed.chmod(0o700)


def test_an_input_that_lacks_the_path_is_refused(desk: Desk) -> None:
    assert "file_path" in asyncio.run(desk.fail(READ))
    assert "limit" in asyncio.run(desk.fail(READ, file_path="a.txt", limit="abc"))


def test_a_text_beyond_the_limit_of_tokens_is_cut_after_a_line(desk: Desk) -> None:
    # 150,000 characters in lines of 100: at four a token, 25,000 tokens are 1,000 lines, whose last newline goes.
    (desk.project / "mid.txt").write_text(("x" * 99 + "\n") * 1500)
    words, file = read(desk, "mid.txt")
    assert (file["numLines"], file["totalLines"], file["truncatedByTokenCap"]) == (1000, 1501, True)
    assert words.endswith("[This is a part of the file: lines 1 to 1000 of 1501. Read on with offset 1001.]")
    _, whole = read(desk, "mid.txt", allow_large=True)
    assert (whole["numLines"], "truncatedByTokenCap" in whole) == (1501, False)


def test_lines_of_a_file_of_many_blocks(desk: Desk) -> None:
    # 3 MB, so that lines lie on the borders of blocks of 1 MiB.
    (desk.project / "huge.txt").write_text("".join(f"line {number:06d}\r\n" for number in range(1, 230_001)))
    words, file = read(desk, "huge.txt", offset=80_659, limit=3)
    assert words == "80659\tline 080659\n80660\tline 080660\n80661\tline 080661"
    assert file["totalLines"] == 230_001
    words, _ = read(desk, "huge.txt", offset=229_999)
    assert words == "229999\tline 229999\n230000\tline 230000\n230001\t"
    assert "more than" in fail(desk, "huge.txt", offset=2)


def test_every_line_of_a_long_file_can_be_asked_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stenograph.agent.tools.texts._BLOCK", 7)
    text = "a\n\nbb\nccc\n\n\ndddddddddddd\ne"
    (desk.project / "b.txt").write_text(text)
    lines = text.split("\n")
    for start in range(1, len(lines) + 1):
        for count in range(1, len(lines) - start + 2):
            _, file = read(desk, "b.txt", offset=start, limit=count)
            assert file["content"] == "\n".join(lines[start - 1 : start - 1 + count])


def test_a_picture_is_shown(desk: Desk) -> None:
    data = png(20, 10)
    (desk.project / "pic.jpg").write_bytes(data)  # the bytes say what it is, not the name
    text = base64.b64encode(data).decode()
    content, structured = blocks(desk, "pic.jpg")
    assert content == [{"type": "image", "source": {"type": "base64", "data": text, "media_type": "image/png"}}]
    size = {"originalWidth": 20, "originalHeight": 10, "displayWidth": 20, "displayHeight": 10}
    file = {"base64": text, "type": "image/png", "originalSize": len(data), "dimensions": size}
    assert structured == {"type": "image", "file": file}


@pytest.mark.parametrize("data", [png(8001, 1), png(1, 1) + b"\0" * 4_000_000])
def test_a_picture_that_endpoints_refuse_is_not_sent(desk: Desk, data: bytes) -> None:
    (desk.project / "pic.png").write_bytes(data)
    assert fail(desk, "pic.png").startswith("Image is too large to be sent (")


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b"GIF89a\x40\x01\xc8\x00", (320, 200)),
        (b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc2\x00\x0b\x08\x00\xc8\x01\x40\x01", (320, 200)),
        (b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x3f\x01\0\xc7\0\0", (320, 200)),
        (b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + (319 | 199 << 14).to_bytes(4, "little"), (320, 200)),
        (b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x40\x01\xc8\0", (320, 200)),
        (b"\x89PNG\r\n\x1a\n\0\0", None),
        (b"\xff\xd8\xff\xe0\xff\xff", None),
        (b"words", None),
    ],
)
def test_sizes_of_pictures(data: bytes, size: tuple[int, int] | None) -> None:
    assert dimensions(data) == size


NOTEBOOK: Json = {
    "cells": [
        {"cell_type": "markdown", "id": "m1", "metadata": {}, "source": ["# T\n", "words"]},
        {
            "cell_type": "code",
            "id": "c1",
            "execution_count": 3,
            "source": ["print(1)\n", "1+1"],
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
                {"output_type": "execute_result", "data": {"text/plain": ["2"]}},
                {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["t1", "t2"]},
                {"output_type": "display_data", "data": {"image/png": "aGk=", "text/plain": ["<Figure>"]}},
            ],
        },
        {"cell_type": "code", "execution_count": None, "source": "", "outputs": []},
    ],
    "metadata": {"language_info": {"name": "python"}},
}


@pytest.mark.parametrize("depth", [400, 990, 100_000])
@pytest.mark.parametrize("member", ["source", "execution_count", "id", "outputs"])
def test_a_notebook_that_is_nested_deep_is_read_or_refused(desk: Desk, depth: int, member: str) -> None:
    value = "[" * depth + "]" * depth
    (desk.project / "deep.ipynb").write_text(f'{{"cells": [{{"cell_type": "code", "{member}": {value}}}]}}')
    try:
        output = asyncio.run(desk.call(READ, file_path=str(desk.project / "deep.ipynb")))
        words, size = "", len(json.dumps(output.structured))
    except ToolFailed as failure:
        words, size = failure.words, 0
    assert words in ("", "Notebook file is nested too deep to be one.")
    assert size < 3000


def test_a_notebook_comes_as_cells(desk: Desk) -> None:
    (desk.project / "nb.ipynb").write_text(json.dumps(NOTEBOOK))
    content, structured = blocks(desk, "nb.ipynb")
    text = (
        '<cell id="m1"><cell_type>markdown</cell_type># T\nwords</cell id="m1">\n<cell id="c1">print(1)\n1+1</cell'
        ' id="c1">\n\n1\n'
        '\n\n2\n\nE: v\nt1\nt2\n\n<Figure>\n<cell id="cell-2"></cell id="cell-2">'
    )
    assert content == [{"text": text, "type": "text"}]
    outputs = [
        {"output_type": "stream", "text": "1\n"},
        {"output_type": "execute_result", "text": "2"},
        {"output_type": "error", "text": "E: v\nt1\nt2"},
        {"output_type": "display_data", "text": "<Figure>"},
    ]
    assert structured["file"]["cells"] == [
        {"cellType": "markdown", "source": "# T\nwords", "cell_id": "m1"},
        {
            "cellType": "code",
            "source": "print(1)\n1+1",
            "execution_count": 3,
            "cell_id": "c1",
            "language": "python",
            "outputs": outputs,
        },
        {"cellType": "code", "source": "", "cell_id": "cell-2", "language": "python"},
    ]


def test_pictures_of_a_notebook_stand_between_its_texts(desk: Desk) -> None:
    picture = base64.b64encode(png(1, 1)).decode()
    cells = [
        {
            "cell_type": "code",
            "id": "c",
            "source": "plot()",
            "outputs": [{"output_type": "display_data", "data": {"image/png": picture}}],
        },
        {"cell_type": "raw", "id": "d", "source": "end"},
    ]
    (desk.project / "nb.ipynb").write_text(json.dumps({"cells": cells}))
    content, _ = blocks(desk, "nb.ipynb")
    assert content == [
        {"text": '<cell id="c">plot()</cell id="c">', "type": "text"},
        {"type": "image", "source": {"data": picture, "media_type": "image/png", "type": "base64"}},
        {"text": '<cell id="d"><cell_type>raw</cell_type>end</cell id="d">', "type": "text"},
    ]


def pdf(pages: int) -> bytes:
    import io

    from pypdf import PdfWriter

    writer = PdfWriter()
    for number in range(pages):
        writer.add_blank_page(100 + number, 200)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_pdf_is_a_document(desk: Desk) -> None:
    data = pdf(3)
    (desk.project / "three.pdf").write_bytes(data)
    content, structured = blocks(desk, "three.pdf")
    text = base64.b64encode(data).decode()
    name = str(desk.project / "three.pdf")
    assert content == [
        {"type": "text", "text": f"PDF file read: {name} ({len(data)} bytes)"},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": text}},
    ]
    assert structured == {"type": "pdf", "file": {"filePath": name, "base64": text, "originalSize": len(data)}}


def test_damage_in_a_pdf_is_not_logged_to_the_terminal(desk: Desk) -> None:
    damaged = pdf(2).replace(b"startxref\n", b"startxref\n9")
    (desk.project / "damaged.pdf").write_bytes(damaged)
    call = [sys.executable, "-c", "import sys; from stenograph.agent.tools.media import take_pages\n"
            "try: take_pages(open(sys.argv[1], 'rb').read(), 1, 1)\nexcept Exception as e: print(type(e))",
            str(desk.project / "damaged.pdf")]  # fmt: skip
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_pages_of_a_pdf_are_a_document_of_their_own(desk: Desk) -> None:
    import io

    from pypdf import PdfReader

    (desk.project / "five.pdf").write_bytes(pdf(5))
    content, _ = blocks(desk, "five.pdf", pages="2-3")
    sent = PdfReader(io.BytesIO(base64.b64decode(content[1]["source"]["data"])))
    assert [float(page.mediabox.width) for page in sent.pages] == [101, 102]
    assert "There is no page 9: the PDF has 5 pages." in fail(desk, "five.pdf", pages="9")


def test_pages_without_the_package_say_what_to_install(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.project / "x.pdf").write_bytes(b"%PDF-1")
    monkeypatch.setitem(__import__("sys").modules, "pypdf", None)
    assert "install stenograph[agent]" in fail(desk, "x.pdf", pages="1")


@pytest.mark.parametrize(
    ("count", "words"), [(671, "671 bytes"), (1741, "1.7KB"), (300_001, "293KB"), (310_893, "303.6KB"), (5 * 2**20, "5MB")]
)
def test_sizes_are_said_as_the_client_says_them(count: int, words: str) -> None:
    assert human_size(count) == words


def test_what_was_read_is_known_and_a_part_is_known_as_a_part(desk: Desk) -> None:
    state = desk.context.read_state
    read(desk, "a.txt", offset=2, limit=2)
    seen = state.seen(desk.project / "a.txt")
    assert seen is not None
    assert seen.is_partial
    read(desk, "a.txt")
    read(desk, "a.txt", offset=2, limit=2)  # a part of what is known takes nothing away
    seen = state.seen(desk.project / "a.txt")
    assert seen is not None
    assert (seen.is_partial, seen.text) == (False, "one\ntwo\nthree\nfour\nfive\n")


def test_a_failure_is_told_in_the_record_without_its_wrapping(desk: Desk) -> None:
    (desk.project / "p.exe").write_bytes(b"MZ")
    with pytest.raises(ToolFailed) as caught:
        asyncio.run(desk.call(READ, file_path=str(desk.project / "p.exe")))
    assert str(caught.value.structured).startswith("Error: This tool cannot read binary files.")
