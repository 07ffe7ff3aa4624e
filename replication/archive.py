"""``make archive``: one ZIP file by ``git archive``, the same bytes from the same commit.

    source/      the files of the commit: code, data, results and their records, lock file
    article.pdf  the article
    book/        the rendered book, if it was built

Nothing is compressed, because compressed bytes depend on the version of a library. The pages of the
book show the times of their own build, so only a deposit without the book is the same everywhere.
"""

from __future__ import annotations

from pathlib import Path

import lpsvdd
from replication import article
from replication.about import ROOT, commit, git_output


class ArchiveError(ValueError):
    """The deposit would not be what its name says."""


def make_deposit(folder: Path, root: Path = ROOT) -> Path:
    """Write the deposit of the commit of a checkout into a folder."""
    code = commit(root)
    if not code.name:
        raise ArchiveError("this folder is no git checkout: a deposit is made from a commit")
    if code.changed:
        names = ", ".join(code.changed[:3])
        raise ArchiveError(f"a deposit is made from a commit; commit or undo first: {names}")
    pdf, book = article.write_pdf(root / "_build/article"), root / "_build/html"
    name = f"lpsvdd-{lpsvdd.__version__}-{code.name[:10]}"
    words = [f"--prefix={name}/", f"--add-file={pdf.resolve()}"]
    if (book / "index.html").exists():
        held = book / "_static/article.pdf"  # it names its commit
        if not held.is_file() or held.read_bytes() != pdf.read_bytes():
            raise ArchiveError(f"{book} is not of this commit: run make book again, or remove it")
        for path in sorted(path for path in book.rglob("*") if path.is_file()):
            inside = Path(name, "book", path.relative_to(book)).parent.as_posix()
            words += [f"--prefix={inside}/", f"--add-file={path}"]
    folder.mkdir(parents=True, exist_ok=True)
    output = (folder / f"{name}.zip").resolve()
    words += [f"--prefix={name}/source/", f"--output={output}", code.name]
    git_output("-c", "core.autocrlf=false", "archive", "--format=zip", "-0", *words, root=root)
    return output
