"""User-facing text is plain English: complete docstrings, and none of the words that only we would understand."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import re
import tokenize
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import prismap

SOURCE = Path(prismap.__file__).parent
ROOT = SOURCE.parents[1]
#: Records of what was measured and decided, each in the words of its day, are left alone.
RECORDS = {"_build", "gallery", "reference", "results", "decisions"}
PAGES = [
    page for page in (ROOT / "docs").rglob("*.md") if not RECORDS & set(page.relative_to(ROOT / "docs").parts[:-1])
]
PAGES = sorted(page for page in PAGES if page.name != "results.md") + [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "examples").glob("*.py")),
]
#: Patterns of a private language, and what to write instead.
HOUSE_WORDS = {
    r"(?<!`)\b00[0-4]_(?!\d)": "authors and year",
    r"took no part": "held-out samples",
    r"asks? nobody": "makes no network requests",
    r"\blonely\b": "isolated",
    r"sure stranger": "a sample far from all others",
    r"\bislands?\b": "clusters",
    r"\bin the sea\b": "between the clusters",
    r"permuted twins?\b": "baseline with permuted labels",
    r"whose class is any": "whose class is arbitrary",
    r"outlives its dead": "survives the death of a worker",
    r"nothing of its inside": "no access to the inside of the model",
    r"[.:;] (It is|it is) said\.": "say what the message says",
    r"\btold right\b": "predicted correctly",
    r"\btells? (the|a|its) target\b": "predict the target",
    r"nothing (here )?rests\b": "about which nothing can be said",
    r"nineteen in twenty": "95 %",
    r"\bare sensible\b": "are feasible",
    r"\bby heart\b": "memorised",
    r"\bpermuted twins?\b|\bits twins\b": "baseline maps",
    r"(?<!Schulz \(2017\), )\bthesis,? (sec\. |section |eq\. )?\d": "Schulz (2017), sec.",
    r"\b(page|idea|file|function|thread|entry|value|position|picture|weight|number|one|factor|evaluations|prototypes) "
    r"an? (row|pair|class|method|file|process|step|feature|iteration|measure|room|decision|endpoint)\b": "per",
}
#: Patterns that comments and docstrings of the source do not have either, and what to write instead.
LITERARY = {
    r"\(00[0-4]\b|\b00[0-4],? (section|sec\.|eq\.)": "authors, year and section",
    r"\bnobody\b|\bsomebody else\b": "say who: the user, another library, a program",
    r"\bof kin\b": "nearest neighbours",
    r"\bin the water\b": "between the clusters",
    r"\boutlives?\b": "survives",
    r"\bamong strangers\b": "among rows of other classes",
    r"\bhonest\b": "cross-fitted, on held-out rows",
    r"(?<!there )\b(is|are) (?-i:none)\b(?! of\b)": "repeat the noun: if the text is no time",
    r"\b(do|does) without(?=[.:;]|$)": "does not need it",
    r"\btold\b|\bsaid\b": "determined, predicted, stated, described",
    r"\b(one|two|codes?|figures?|margins?|masses|methods?|posteriors?|trees?|values?|votes?) "
    r"an? (row|column|class|pair|cell|block|line|fold|group|cluster|part|anchor|object|target|label|segment)\b": "per",
}
#: Words that are no names: an identifier is a noun that says what its value is.
NO_NAMES = {"found", "told", "said", "lot"}
#: Files that may have one of these words: "told" is a documented key of `Trust.parts`, and the figure behind it.
ALLOWED = {"told": {"quality/_trust.py", "judging/_trust.py"}}
#: Sections of a complete docstring of an estimator, and of an options object, which is a parameter of one.
SECTIONS = ("Parameters", "Attributes", "See Also", "Notes", "References", "Examples")
OPTIONS = ("Parameters", "See Also", "Examples")
ROOMS = ("", ".embeddings", ".mappings", ".learners", ".relevance", ".transfer")
#: Packages whose functions users call by themselves: their docstrings name all parameters and the result, and have an
#: example. (Those of tables, pages and the explorer serve `PrisMap` and the command line.)
TOOLS = ("", ".quality", ".metrics", ".relevance", ".transfer", ".comparisons", ".neighbors", ".judging")


def estimators():
    """The estimators of the packages that users meet first, by full name, without their contracts."""
    found = {}
    for room in ROOMS:
        module = importlib.import_module(f"prismap{room}")
        for name in module.__all__:
            value = getattr(module, name)
            is_estimator = inspect.isclass(value) and issubclass(value, BaseEstimator)
            if is_estimator and not value.__module__.endswith("._base"):
                found[f"prismap{room}.{name}"] = value
    found["prismap.metrics.MixtureMetric"] = prismap.metrics.MixtureMetric
    return found


ESTIMATORS = estimators()


def functions():
    """The functions of the packages of tools, by full name."""
    found = {}
    for room in TOOLS:
        module = importlib.import_module(f"prismap{room}")
        for name in module.__all__:
            if inspect.isfunction(value := getattr(module, name)):
                found[f"prismap{room}.{name}"] = value
    return found


FUNCTIONS = functions()


def public_docstrings():
    """The docstrings of public names and of their public methods."""
    for room in ["", *(f".{name}" for name in prismap._ROOMS)]:
        module = importlib.import_module(f"prismap{room}")
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                yield f"prismap{room}.{name}", inspect.getdoc(value) or ""
            for method, member in vars(value).items() if inspect.isclass(value) else ():
                if inspect.isfunction(member) and not method.startswith("_"):
                    yield f"prismap{room}.{name}.{method}", inspect.getdoc(member) or ""


def messages():
    """The texts of errors, warnings and help, by file and line; what is filled in is left out."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).rsplit(".", 1)[-1]
            texts = node.args if name in {"InputError", "warn", "FileFormatError"} else []
            texts = [*texts, *(one.value for one in node.keywords if one.arg in {"help", "description"})]
            for text in texts:
                parts = [one.value for one in ast.walk(text) if isinstance(one, ast.Constant)]
                yield f"{path.relative_to(SOURCE)}:{text.lineno}", " ".join(p for p in parts if isinstance(p, str))


def house_words(text):
    """What to write instead of the words of a text that are on the list."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [
        f"{found[0]!r} (write: {instead})"
        for pattern, instead in HOUSE_WORDS.items()
        for found in re.finditer(pattern, text, re.IGNORECASE)
    ]


def prose(path):
    """The comments and docstrings of a file, each with its line; comments on consecutive lines are one text."""
    code = path.read_text("utf-8")
    comments = [one for one in tokenize.generate_tokens(io.StringIO(code).readline) if one.type == tokenize.COMMENT]
    blocks = []
    for one in comments:
        line, text = one.start[0], one.string.lstrip("#: ")
        if blocks and blocks[-1][1] == line - 1:
            blocks[-1] = (blocks[-1][0], line, f"{blocks[-1][2]} {text}")
        else:
            blocks.append((line, line, text))
    yield from ((first, text) for first, _, text in blocks)
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield getattr(node, "lineno", 1), " ".join((ast.get_docstring(node) or "").split())


def identifiers(path):
    """The names that a file gives to values, parameters, attributes, functions and classes, each with its line."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg | ast.keyword) and node.arg:
            yield node.lineno, node.arg
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name


def literary_words(path):
    """What to write instead of the words of a source file's comments and docstrings that are on one of the lists."""
    name = path.relative_to(SOURCE).as_posix()
    for line, text in prose(path):
        yield from (f"{name}:{line}: {word}" for word in house_words(text))
        for pattern, instead in LITERARY.items():
            for match in re.finditer(pattern, text, re.IGNORECASE):
                if name not in ALLOWED.get(match[0].lower(), ()):
                    yield f"{name}:{line}: {match[0]!r} (write: {instead})"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_docstrings_of_estimators_are_complete(name):
    text = inspect.getdoc(ESTIMATORS[name])
    sections = SECTIONS if hasattr(ESTIMATORS[name], "fit") else OPTIONS
    missing = [section for section in sections if not re.search(rf"^{section}\n-+$", text, re.MULTILINE)]
    assert not missing
    assert ">>> " in text.partition("Examples\n")[2]
    signature = inspect.signature(ESTIMATORS[name]).parameters
    bare = [p for p in signature if not re.search(rf"^(\w+, )*{p}(, \w+)* :.*default=", text, re.MULTILINE)]
    assert not bare, f"no default= for {bare}"


def test_docstrings_of_functions_are_complete():
    assert len(FUNCTIONS) > 45
    missing = []
    for name, value in FUNCTIONS.items():
        text = inspect.getdoc(value)
        signature = inspect.signature(value)
        sections = ["Parameters"] if signature.parameters else []
        sections += [] if name.endswith("register_dissimilarity") else ["Returns"]
        missing += [f"{name}: {one}" for one in sections if not re.search(rf"^{one}\n-+$", text, re.MULTILINE)]
        missing += [f"{name}: an example"] if ">>> " not in text else []
        described = text.partition("Parameters\n")[2]
        missing += [f"{name}({p})" for p in signature.parameters if not re.search(rf"\b{p}\b", described)]
    assert not missing, "\n".join(missing)


def test_house_words_do_not_come_back_in_verdicts():
    # The sentences of verdicts and notes are put together from pieces.
    for name in ("verdict", "report"):
        tree = ast.parse((SOURCE / "quality" / f"_{name}.py").read_text("utf-8"))
        pieces = [one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        assert not [word for one in pieces for word in house_words(one)], name


def test_house_words_do_not_come_back_on_pages():
    assert len(PAGES) > 50
    assert not [f"{page.relative_to(ROOT)}: {word}" for page in PAGES for word in house_words(page.read_text("utf-8"))]


def test_house_words_do_not_come_back_in_docstrings():
    texts = list(public_docstrings())
    assert len(texts) > 150
    assert not [f"{name}: {word}" for name, text in texts for word in house_words(text)]


def test_house_words_do_not_come_back_in_messages():
    texts = list(messages())
    assert len(texts) > 250
    assert not [f"{place}: {word}" for place, text in texts for word in house_words(text)]


def test_comments_and_docstrings_of_the_source_are_plain():
    files = sorted(SOURCE.rglob("*.py"))
    assert sum(1 for path in files for _ in prose(path)) > 3000
    words = [word for path in files for word in literary_words(path)]
    assert not words, "\n".join(words)


def test_identifiers_of_the_source_are_nouns():
    words = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        for line, identifier in identifiers(path):
            parts = NO_NAMES & set(identifier.lower().split("_"))
            words += [f"{name}:{line}: {identifier}" for part in parts if name not in ALLOWED.get(part, ())]
    assert not words, "\n".join(words)


def test_messages_on_the_page_of_troubles_exist():
    # Texts that are split over lines of code are joined first.
    code = "".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py"))
    code = re.sub(r'"\s*\n\s*f?"', "", code)
    page = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8").partition("## On Windows")[0]
    quoted = [
        one
        for line in page.splitlines()
        if line.startswith("| `")
        for one in re.findall("`([^`]+)`", line.split("|")[1])
    ]
    assert len(quoted) > 30
    assert not [text for text in quoted if text not in code]
