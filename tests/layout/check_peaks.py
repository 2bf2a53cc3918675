# SPDX-License-Identifier: MIT
"""Every figure behind a peak has a source: the tables in the code against docs/peaks.md.

Usage: check_peaks.py ROOT. Prints one line for each finding and exits 1 if there is any.
"""
import pathlib
import re
import sys


def rows_of(document):
    """First cell -> other cells, of all tables."""
    rows = {}
    for line in document.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) > 1 and not set(cells[0]) <= set("-"):
            rows.setdefault(cells[0], []).append(cells[1:])
    return rows


def tags_of(text):
    return re.findall(r"\[(\w+)\]", text)


def check(root):
    document = (root / "docs/peaks.md").read_text(encoding="utf-8")
    rates = (root / "src/measure/kernel/rates.cpp").read_text(encoding="utf-8")
    peaks = (root / "src/measure/peak.cpp").read_text(encoding="utf-8")
    board_table = (root / "src/measure/boards.cpp").read_text(encoding="utf-8")
    xgmi = (root / "src/measure/copy/xgmi.cpp").read_text(encoding="utf-8")
    rows = rows_of(document)
    known = set(re.findall(r"^\[(\w+)\]: https?://\S+$", document, re.M))
    described = set(re.findall(r"^\* \[(\w+)\]:", document, re.M))
    seen = set()

    def row_of(name, figures):
        seen.add(name)
        for cells in rows.get(name, []):
            if cells[:len(figures)] == figures and tags_of(cells[-1]):
                return
        yield f"{name}: {figures} with a source is missing in docs/peaks.md"

    archs = re.findall(r'\{"((?:sm_|gfx)\w+)",((?: ?\d+,?){5})\}', rates)
    boards = re.findall(r'Board\{\w+,\s*"([^"]+)",([^}]+)\}', board_table)
    named = {name: float(figure) for name, figure in
             re.findall(r"constexpr double (pcie\d) = ([\d.e]+);", board_table)}
    nvlinks = re.findall(r'NvlinkRate\{"(\w+)",\s*([\d.e]+)\}', board_table)
    matrix = re.findall(r'name == "(\w+)"\) return (\d+);', rates)
    links = re.findall(r'LinkRate\{"(\w+)",\s*([\d.e]+)\}', xgmi)
    transfers = re.findall(r'Transfers\{"(\w+)",\s*(\d+)\}', peaks)
    tables = (archs, boards, matrix, links, transfers, named, nvlinks)
    if min(len(table) for table in tables) == 0:
        yield "a table was not found in the code"
    for name, figures in archs:
        numbers = [number or "0" for number in re.findall(r"\d+", figures)]
        yield from row_of(name, ["–" if number == "0" else number for number in numbers])
    for name, list_of_figures in boards:
        figures = [named[word] if word in named else float(word)
                   for word in re.split(r",\s*", list_of_figures.strip())]
        units = [1e9] * 5 + [1e12, 1]   # GB/s, TFLOP/s, a number of compute units
        if len(figures) != len(units):
            yield f"{name}: {len(figures)} figures"
            continue
        yield from row_of(name, ["–" if figure == 0 else f"{figure / unit:g}"
                                 for figure, unit in zip(figures, units)])
    for name, figure in matrix:
        yield from row_of(name, [figure])
    for name, figure in links + nvlinks:
        yield from row_of(name, [f"{float(figure) / 1e9:g} GB/s"])
    for name, factor in transfers:
        found = [cells for first, all_cells in rows.items() for cells in all_cells
                 if re.search(rf"\b{name}\b", first) and cells[0].startswith(f"{factor} x clock")]
        seen.update(first for first in rows if re.search(rf"\b{name}\b", first))
        if not found or not tags_of(found[0][-1]):
            yield f"{name}: {factor} transfers with a source are missing in docs/peaks.md"
    headers = {"arch", "device", "NVIDIA", "board"}
    for name in set(rows) - seen - headers:
        yield f"docs/peaks.md lists {name}, which the code has not"
    for tag in set(tags_of(document)) | described:
        if tag not in known:
            yield f"docs/peaks.md: [{tag}] has no address"
        if tag not in described:
            yield f"docs/peaks.md: [{tag}] is not described"


def main():
    findings = list(check(pathlib.Path(sys.argv[1])))
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
