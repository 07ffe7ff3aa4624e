"""What describes the deposit, made from ``replication/about.yml`` and the records of the tables.

CITATION.cff, codemeta.json, codecheck.yml    in the repository; a test keeps them current
metadata.yaml (ReScience C), ro-crate-metadata.json (RO-Crate 1.1)    in the deposit alone
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

import lpsvdd
from replication.about import ROOT, about, address, doi_url, full_name
from replication.codecheck import CHECKS
from replication.source import Source
from replication.wording import fill

CONTEXT = ["https://w3id.org/ro/crate/1.1/context", {"sha256": "http://schema.org/sha256"}]
PROFILE = "https://w3id.org/ro/crate/1.1"
KINDS = {"csv": "text/csv", "json": "application/json", "pdf": "application/pdf"}
Json = dict[str, Any]


def known(entries: Mapping[str, Any]) -> Json:
    """Without what is not known yet."""
    return {name: value for name, value in entries.items() if value not in (None, "", [], {})}


def as_yaml(content: Json, head: str = "") -> str:
    """YAML in the order of the entries; by way of JSON, so that no part is another one's alias."""
    plain = json.loads(json.dumps(content))
    return head + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=110)


def single(values: list[Any]) -> Any:
    """One value stands alone, as RO-Crate recommends."""
    return values if len(values) > 1 else values[0]


def sha256(body: bytes) -> str:
    """The checksum of a file."""
    return hashlib.sha256(body).hexdigest()


def as_json(content: Json) -> str:
    """JSON for people and machines."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


# -- in the repository -----------------------------------------------------------------------------


def citation_cff(entry: Json) -> str:
    """CITATION.cff: the software, the report as what to cite, the replicated work as references."""
    authors = [{k: v for k, v in a.items() if k != "email"} for a in entry["authors"]]
    report = {"type": "report", "title": entry["title"], "authors": authors, "year": entry["year"]}
    replicated = [
        known({
            "type": "article" if one.get("doi") else "generic", "title": one["title"],
            "authors": one["authors"], "year": one["year"], "notes": one["where"],
            "doi": one.get("doi"), "url": one["url"],
        })
        for one in entry["replicated"]
    ]  # fmt: skip
    return as_yaml(known({
        "cff-version": "1.2.0",
        "message": "Please cite the report, and the paper that introduced the method.",
        "title": entry["software"],
        "abstract": entry["summary"],
        "type": "software",
        "authors": authors,
        "version": lpsvdd.__version__,
        "license": entry["licences"]["code"],
        "doi": entry["doi"],
        "repository-code": entry["repository"],
        "keywords": entry["keywords"],
        "preferred-citation": known(report | {"doi": entry["doi"], "url": address(entry)}),
        "references": replicated,
    }))  # fmt: skip


def person(author: Mapping[str, str]) -> Json:
    """An author in the words of schema.org."""
    return known({
        "@type": "Organization" if "name" in author else "Person",
        "name": full_name(dict(author)),
        "@id": author.get("orcid"),
        "affiliation": author.get("affiliation"),
    })  # fmt: skip


def codemeta(entry: Json) -> str:
    """codemeta.json: the software for catalogues."""
    return as_json(known({
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": entry["software"],
        "description": entry["summary"],
        "author": [person(author) for author in entry["authors"]],
        "version": lpsvdd.__version__,
        "license": f"https://spdx.org/licenses/{entry['licences']['code']}",
        "identifier": doi_url(entry["doi"]),
        "codeRepository": entry["repository"],
        "keywords": entry["keywords"],
        "programmingLanguage": "Python",
        "runtimePlatform": "Python 3.11 or newer",
        "referencePublication": [one["url"] for one in entry["replicated"]],
    }))  # fmt: skip


def codecheck_yml(entry: Json, folder: str = "") -> str:
    """codecheck.yml: what ``make codecheck`` makes again; the checker adds who, when and report."""
    authors = [
        known({"name": full_name(a), "ORCID": (a.get("orcid") or "").rpartition("/")[2]})
        for a in entry["authors"]
    ]
    return as_yaml({
        "version": "https://codecheck.org.uk/spec/config/1.0/",
        "paper": known({"title": entry["title"], "authors": authors, "reference": address(entry)}),
        "manifest": [
            {"file": f"{folder}{check.file}", "comment": check.comment} for check in CHECKS
        ],
    }, head="---\n")  # fmt: skip


def tracked() -> dict[str, str]:
    """The files of the repository that are made from ``about.yml``, by name."""
    entry = about()
    return {
        "CITATION.cff": citation_cff(entry),
        "codemeta.json": codemeta(entry),
        "codecheck.yml": codecheck_yml(entry),
    }


# -- in the deposit --------------------------------------------------------------------------------


def rescience(entry: Json, code: Source, quoted: Mapping[str, Any]) -> str:
    """metadata.yaml as the template of ReScience C has it; what an editor fills stays empty."""
    first, journal = entry["replicated"]
    works = (f"{one['title']}. {one['where']}." for one in (first, journal))
    return as_yaml({
        "title": entry["title"],
        "authors": [
            {"name": full_name(a), "orcid": a.get("orcid"), "email": a.get("email"),
             "affiliations": "1,*" if number == 0 else "1"}
            for number, a in enumerate(entry["authors"])
        ],
        "affiliations": [
            {"code": 1, "name": entry["authors"][0].get("affiliation"), "address": None}
        ],
        "keywords": ", ".join(entry["keywords"]),
        "code": [{"url": entry["repository"]}, {"doi": entry["doi"]}, {"swh": code.directory_id}],
        "data": [{"url": entry["repository"]}, {"doi": entry["doi"]}],
        "replication": [
            {"cite": f"{full_name(first['authors'][0])} ({first['year']}). {' '.join(works)}"},
            {"bib": first["key"]},
            {"url": first["url"]},
            {"doi": journal["doi"]},
        ],
        "abstract": fill(entry["abstract"], quoted),
        "bibliography": "source/book/references.bib",
        "type": "Replication",
        "domain": entry["domain"],
        "language": "Python",
        "review": [{"url": None}],
        "contributors": [],
        "dates": [{"received": None}, {"accepted": None}, {"published": None}],
        "article": [{"number": None}, {"doi": None}, {"url": None}],
        "journal": [{"name": "ReScience C"}, {"issn": "2430-3658"}, {"volume": None},
                    {"issue": None}],
    })  # fmt: skip


def file_entity(path: str, content: bytes, **more: Any) -> Json:
    """A file of the deposit with its size and checksum."""
    return known({
        "@id": path, "@type": "File", "contentSize": str(len(content)),
        "encodingFormat": KINDS.get(path.rpartition(".")[2], "text/plain"),
        "sha256": sha256(content), **more,
    })  # fmt: skip


def table_entities(name: str, files: Mapping[str, bytes]) -> list[Json]:
    """A stored table, its record, the run that made it and the code of that run."""
    path, record_path = f"source/results/{name}.csv", f"source/results/{name}.provenance.json"
    record = json.loads(files[record_path])
    commit = record["git_commit"]
    run, code = f"#run-{name}", f"#code-{commit}"
    return [
        file_entity(path, files[path], name=f"{name}.csv", description=record.get("question")),
        file_entity(record_path, files[record_path], about={"@id": path}),
        {
            "@id": run, "@type": "CreateAction", "name": record["command"],
            "instrument": {"@id": code}, "result": {"@id": path}, "endTime": record["date"],
            "description": f"Python {record['python']}, {record['processor']}",
        },
        # Not every commit of a run is in the history that is published, so none gets an identifier.
        {"@id": code, "@type": "SoftwareSourceCode", "name": f"lpsvdd at {commit[:12]}",
         "version": commit},
    ]  # fmt: skip


def crate(entry: Json, code: Source, files: Mapping[str, bytes]) -> Json:
    """RO-Crate metadata of the deposit, whose files are given by path."""
    authors = [{"@id": f"#author-{n}"} | person(a) for n, a in enumerate(entry["authors"], 1)]
    licences = [
        {"@id": f"https://spdx.org/licenses/{name}", "@type": "CreativeWork", "name": name}
        for name in entry["licences"].values()
    ]
    works = [
        known({
            "@id": one["url"], "@type": "ScholarlyArticle", "name": one["title"],
            "author": full_name(one["authors"][0]), "datePublished": str(one["year"]),
        })
        for one in entry["replicated"]
    ]  # fmt: skip
    tables = [
        entity
        for path in files
        if (found := re.fullmatch(r"source/results/(\w+)\.csv", path))
        for entity in table_entities(found[1], files)
    ]
    described = {one["@id"] for one in tables}
    rest = [file_entity(p, body) for p, body in files.items() if p not in described]
    main = {"@id": "source/", "@type": ["Dataset", "SoftwareSourceCode"], "name": entry["software"],
            "description": entry["summary"], "version": lpsvdd.__version__,
            "identifier": code.directory_id, "license": {"@id": licences[0]["@id"]},
            "author": single([{"@id": one["@id"]} for one in authors])}  # fmt: skip
    root = known({
        "@id": "./", "@type": "Dataset", "name": entry["title"], "description": entry["summary"],
        "datePublished": code.date, "license": {"@id": licences[1]["@id"]},
        "author": main["author"], "keywords": ", ".join(entry["keywords"]),
        "identifier": single([*filter(None, [doi_url(entry["doi"])]), code.revision_id]),
        "citation": [{"@id": one["@id"]} for one in works],
        "hasPart": [{"@id": "source/"}, *({"@id": path} for path in files)],
        "mentions": [{"@id": one["@id"]} for one in tables if one["@type"] == "CreateAction"],
    })  # fmt: skip
    descriptor = {"@id": "ro-crate-metadata.json", "@type": "CreativeWork",
                  "conformsTo": {"@id": PROFILE}, "about": {"@id": "./"}}  # fmt: skip
    graph = [descriptor, root, main, *authors, *licences, *works, *tables, *rest]
    return {"@context": CONTEXT, "@graph": list({one["@id"]: one for one in graph}.values())}


def refresh() -> list[str]:
    """Write the files of the repository anew; the names of those that changed."""
    texts = {ROOT / name: text for name, text in tracked().items()}
    old = {path: path.read_text(encoding="utf-8") if path.exists() else None for path in texts}
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return [path.name for path, text in texts.items() if text != old[path]]
