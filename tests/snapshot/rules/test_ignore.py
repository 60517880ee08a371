from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import rewind
from rewind.snapshot.rules.ignore import MAX_BYTES, Chain, IgnoreFile, is_ignored

SRC = os.path.dirname(os.path.dirname(os.path.abspath(rewind.__file__)))

# REWIND_EXAMPLES=20000 for a long run
EXAMPLES = int(os.environ.get("REWIND_EXAMPLES", "150"))

DIR, FILE = True, False


def path_ignored(chain_for_dir: Callable[[bytes], Chain], rel: bytes, is_dir: bool) -> bool:
    """As a walk from the top finds it: nothing below an ignored directory can be re-included."""
    parts = rel.split(b"/")
    folders = [b"/".join(parts[:depth]) for depth in range(len(parts))]
    return (any(is_ignored(chain_for_dir(above), folder, DIR) for above, folder in zip(folders, folders[1:]))
            or is_ignored(chain_for_dir(folders[-1]), rel, is_dir))


CASES: list[tuple[bytes, bytes, bool, bool | None]] = [
    # plain names, at any depth
    (b"foo", b"foo", FILE, True),
    (b"foo", b"a/b/foo", FILE, True),
    (b"foo", b"foo/bar", FILE, None),
    (b"foo", b"Foo", FILE, None),
    # comments, escapes, empty lines
    (b"#foo", b"#foo", FILE, None),
    (b"\\#foo", b"#foo", FILE, True),
    (b"\\!foo", b"!foo", FILE, True),
    (b"a\\bc", b"abc", FILE, True),
    (b"a\\\\", b"a\\", FILE, True),
    (b"\n\n \n!\n/\n!/\n", b"a", DIR, None),
    (b" foo", b"foo", FILE, None),
    # the last match wins
    (b"*.log\n!keep.log", b"keep.log", FILE, False),
    (b"!keep.log\n*.log", b"keep.log", FILE, True),
    (b"foo\n!f*", b"foo", FILE, False),
    (b"!f*\n*o\n!foo\nfoo", b"foo", FILE, True),
    # trailing blanks: spaces go, tabs stay, a carriage return goes
    (b"foo   ", b"foo", FILE, True),
    (b"foo\\ ", b"foo ", FILE, True),
    (b"foo\\   ", b"foo ", FILE, True),
    (b"foo\\\\ ", b"foo\\", FILE, True),
    (b"foo\t", b"foo", FILE, None),
    (b"foo\t", b"foo\t", FILE, True),
    (b"foo\r\n", b"foo", FILE, True),
    (b"foo\r", b"foo", FILE, True),
    (b"foo\r\r\n", b"foo\r", FILE, True),
    (b"foo \r\n", b"foo", FILE, True),
    # start of file, and NUL as the end of a C string
    (b"\xef\xbb\xbffoo", b"foo", FILE, True),
    (b"foo\0bar", b"foo", FILE, True),
    # directories only
    (b"foo/", b"foo", FILE, None),
    (b"foo/", b"a/foo", DIR, True),
    (b"*/", b"foo", DIR, True),
    (b"foo//", b"foo", DIR, None),
    # anchored by a slash at the start or in the middle
    (b"/foo", b"foo", FILE, True),
    (b"/foo", b"a/foo", FILE, None),
    (b"a/foo", b"a/foo", FILE, True),
    (b"a/foo", b"b/a/foo", FILE, None),
    (b"a/*.c", b"a/b.c", FILE, True),
    (b"a/*.c", b"a/b/b.c", FILE, None),
    (b"//foo", b"foo", FILE, None),
    # * and ? stay within a name
    (b"a*b", b"axxb", FILE, True),
    (b"a?b/c", b"a/b/c", FILE, None),
    (b"/a*c", b"a/c", FILE, None),
    (b"*", b".hidden", FILE, True),
    # two stars
    (b"**/foo", b"foo", FILE, True),
    (b"**/foo", b"a/b/foo", FILE, True),
    (b"**/a/foo", b"b/c/a/foo", FILE, True),
    (b"**/a/foo", b"a/foo", FILE, True),
    (b"**/a/foo", b"xa/foo", FILE, None),
    (b"**/a/foo", b"b/xa/foo", FILE, None),
    (b"x**/a/foo", b"xa/foo", FILE, True),
    (b"x**/a/foo", b"x/a/foo", FILE, True),
    (b"x**/a/foo", b"xy/a/foo", FILE, True),
    (b"x**/a/foo", b"xya/foo", FILE, None),
    (b"a/**", b"a/b/c", FILE, True),
    (b"a/**", b"a", DIR, None),
    (b"a/**/b", b"a/b", FILE, True),
    (b"a/**/b", b"a/x/y/b", FILE, True),
    (b"a/**/b", b"ab", FILE, None),
    (b"a/***/b", b"a/x/y/b", FILE, True),
    (b"?/x**y/b", b"a/x/y/b", FILE, None),
    (b"?/x**y/b", b"a/x-y/b", FILE, True),
    (b"**\\/b", b"b", FILE, None),
    (b"**\\/b", b"a/b", FILE, True),
    (b"a/**/*x*/**/b", b"a/1/axb/2/b", FILE, True),
    # brackets
    (b"[ab]", b"b", FILE, True),
    (b"[!ab]", b"b", FILE, None),
    (b"[^ab]", b"c", FILE, True),
    (b"[a-c]x", b"bx", FILE, True),
    (b"[c-a]x", b"bx", FILE, None),
    (b"[]-]x", b"]x", FILE, True),
    (b"[!]]x", b"ax", FILE, True),
    (b"[--0]", b".", FILE, True),
    (b"[a\\]]x", b"]x", FILE, True),
    (b"[a-]x", b"-x", FILE, True),
    (b"[\\a-\\c]x", b"bx", FILE, True),
    (b"[a-c-e]x", b"-x", FILE, True),
    (b"[a-c-e]x", b"dx", FILE, None),
    (b"[[:digit:][:upper:]]", b"7", FILE, True),
    (b"[[:nonsense:]]", b"n", FILE, None),
    (b"[[:]x", b":x", FILE, True),
    (b"[[:a]x", b"[x", FILE, True),
    (b"a[/]b", b"a/b", FILE, None),
    (b"a/[!b]c", b"a//c", FILE, None),
    (b"[*]x", b"*x", FILE, True),
    (b"[*]x", b"yx", FILE, None),
    # malformed patterns match nothing
    (b"[ab", b"[ab", FILE, None),
    (b"[]", b"[]", FILE, None),
    (b"[[:alpha:]", b"a", FILE, None),
    (b"foo\\", b"foo\\", FILE, None),
    (b"*\\", b"a\\", FILE, None),
    (b"foo\\/", b"foo", DIR, None),
    # any byte is a name
    (b"*\xff", b"a\xff", FILE, True),
    (b"[\xfe-\xff]", b"\xff", FILE, True),
    (b"a?b", b"a\nb", FILE, True),
    (b"/a*b", b"a\n\nb", FILE, True),
    (b"a/**", b"a/\n", FILE, True),
]


@pytest.mark.parametrize(("text", "rel", "is_dir", "verdict"), CASES)
def test_a_pattern_means_what_it_means_to_git(
    text: bytes, rel: bytes, is_dir: bool, verdict: bool | None
) -> None:
    assert IgnoreFile(text).match(rel, is_dir) is verdict


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# only a comment\n", b"  \n!\n/\n"])
def test_a_file_without_patterns_is_falsy(text: bytes) -> None:
    assert not IgnoreFile(text)
    assert IgnoreFile(text).patterns_count == 0


def test_a_file_that_is_too_large_has_no_effect() -> None:
    assert IgnoreFile(b"a\n" + b"#" * (MAX_BYTES - 2)).match(b"a", FILE)
    assert not IgnoreFile(b"a\n" + b"#" * (MAX_BYTES - 1))


def test_a_file_above_the_project_sees_the_project_as_a_prefix() -> None:
    above = IgnoreFile(b"/sub/dir/out\n!/keep\nlog\n", prefix=b"sub/dir/")
    assert above.match(b"out", DIR) is True
    assert above.match(b"keep", FILE) is None
    assert above.match(b"a/log", FILE) is True


def test_the_nearest_file_with_an_opinion_decides() -> None:
    chain: Chain = ((0, IgnoreFile(b"*.log\nb\n")), (2, IgnoreFile(b"!/x.log\n")))
    assert is_ignored(chain, b"a/x.log", FILE) is False
    assert is_ignored(chain, b"a/y.log", FILE) is True
    assert is_ignored(chain, b"a/other", FILE) is False


def test_nothing_below_an_ignored_directory_is_reincluded() -> None:
    chain: Chain = ((0, IgnoreFile(b"build/\n!build/keep\n")),)
    assert is_ignored(chain, b"build/keep", FILE) is False
    assert path_ignored(lambda _: chain, b"build/keep", FILE) is True
    assert path_ignored(lambda _: chain, b"other/keep", FILE) is False


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("'a*' * 30 + 'b'", "'a' * 200"),
        ("'/' + 'a*' * 30 + 'b'", "'a' * 200"),
        ("'*?' * 100 + '[b]'", "'a' * 250"),
        ("'**/a/' * 30 + 'b'", "'a/' * 200 + 'c'"),
        ("'**/*a*a*/' * 30 + 'b'", "'aaaa/' * 200 + 'c'"),
        ("'*/**/' * 60 + 'b'", "'a/' * 100 + 'c'"),
        ("'*a' * 500_000", "'a' * 4000"),
    ],
)
def test_a_hostile_pattern_finishes(pattern: str, path: str) -> None:
    code = f"""
from rewind.snapshot.rules.ignore import IgnoreFile
assert IgnoreFile(({pattern}).encode()).match(({path}).encode(), False) is None
"""
    env = {**os.environ, "PYTHONPATH": SRC}
    subprocess.run([sys.executable, "-c", code], env=env, check=True, timeout=60)


def test_everyday_patterns_do_not_import_the_regex_module() -> None:
    code = """
import sys
from rewind.snapshot.rules.ignore import IgnoreFile
text = b"node_modules/\\n*.py[cod]\\n/dist\\n.env.*\\n!.env.example\\n**/.idea/\\n[Dd]ebug/\\n"
text += b".vscode/*\\n!.vscode/settings.json\\ndocs/_build/\\nlogs/**\\n/*.tmp\\n*~\\n\\\\#*#\\n"
file = IgnoreFile(text)
assert file.match(b"a/x.pyc", False) and file.match(b".vscode/x", False)
assert file.match(b"a/.env.local", False) and file.match(b"src/debug", True)
assert file.match(b"logs/a/b", False) and file.match(b"src/.idea", True)
assert file.match(b"src/main.py", False) is None and file.match(b"a/b.tmp", False) is None
assert file.match(b".env.example", False) is False
assert "re" not in sys.modules
"""
    env = {**os.environ, "PYTHONPATH": SRC}
    subprocess.run([sys.executable, "-S", "-c", code], env=env, check=True)


# What real git says


GLOBAL, INFO = b"~/", b".git/"  # the ignore files that lie in no directory of the tree


class Tree:
    """A work tree on disk, with ignore files by the directory they lie in."""

    def __init__(self, root: bytes, paths: dict[bytes, bool], files: dict[bytes, bytes]) -> None:
        self.top = os.path.join(root, b"top")
        self.paths = paths
        self._home = os.path.join(root, b"home")
        for name in (b"home/.config/git", b"top/.git/objects", b"top/.git/refs", b"top/.git/info"):
            os.makedirs(os.path.join(root, name))
        _write(os.path.join(self.top, b".git/HEAD"), b"ref: refs/heads/main\n")
        for path, is_dir in sorted(paths.items()):
            full = os.path.join(self.top, path)
            if is_dir:
                os.mkdir(full)
            else:
                _write(full, b"")
        for where, text in files.items():
            _write(self._file(where), text)

    def _file(self, where: bytes) -> bytes:
        if where == GLOBAL:
            return os.path.join(self._home, b".config/git/ignore")
        if where == INFO:
            return os.path.join(self.top, b".git/info/exclude")
        return os.path.join(self.top, where, b".gitignore")

    def ignored(self) -> set[bytes]:
        env = {"PATH": os.environ["PATH"], "HOME": os.fsdecode(self._home)}
        done = subprocess.run(
            ["git", "check-ignore", "--no-index", "-z", "--stdin"],
            input=b"".join(path + b"\0" for path in self.paths),
            cwd=self.top,
            env={**env, "GIT_CONFIG_NOSYSTEM": "1"},
            capture_output=True,
        )
        assert done.returncode in (0, 1), done.stderr
        return {path for path in done.stdout.split(b"\0") if path}


def _write(path: bytes, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def _ours(paths: dict[bytes, bool], files: dict[bytes, bytes], project: bytes) -> set[bytes]:
    """What we ignore when the project is the directory `project` of the work tree."""
    inside = project + b"/" if project else b""
    parse = functools.cache(IgnoreFile)

    def chain_for_dir(rel: bytes) -> Chain:
        chain = []
        for where in sorted(files, key=lambda w: (w != GLOBAL, w != INFO, len(w))):
            base = b"" if where in (GLOBAL, INFO) else where + b"/" if where else b""
            if inside.startswith(base):
                chain.append((0, parse(files[where], inside[len(base) :])))
            elif (inside + rel + b"/").startswith(base):
                chain.append((len(base) - len(inside), parse(files[where])))
        return tuple(chain)

    below = {path[len(inside) :]: d for path, d in paths.items() if path.startswith(inside)}
    return {inside + rel for rel, d in below.items() if path_ignored(chain_for_dir, rel, d)}


@functools.cache
def git_counts_stars_after_a_literal_head_as_leading() -> bool:
    """Git 2.39 takes `ab**/c` for `ab` and then `**/c`, against its manual; later ones may not."""
    with tempfile.TemporaryDirectory() as root:
        tree = Tree(os.fsencode(root), {b"abc": FILE}, {b"": b"/ab**/c\n"})
        return bool(tree.ignored())


STARS_AFTER_HEAD = re.compile(rb"^!?/?[^*?\[\\\n]*[^/*?\[\\\n!]\*\*", re.MULTILINE)

PIECES = [b"a", b"b", b"a", b"b", b"c", b".", b" ", b"-", b"!", b"#", b"\\", b"\xff", b"\t", b"\r"]
PIECES += [b"*", b"*", b"?", b"**", b"**/", b"/**", b"/**/", b"/", b"/", b"\\/", b"***", b"[", b"]"]
PIECES += [b"[ab]", b"[!a]", b"[^b]", b"[a-c]", b"[]a]", b"[a\\]]", b"[[:alpha:]]", b"[[:punct:]-]"]

patterns = st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map(b"".join)
texts = st.lists(patterns, min_size=1, max_size=4).map(b"\n".join)
characters = st.sampled_from(b"abc. -!#\\\xff\t\r\n*[]")
odd_names = st.lists(characters, min_size=1, max_size=3).map(bytes)
names = st.one_of(
    st.sampled_from([b"a", b"b", b"ab", b"a.b", b"abc"]),
    odd_names.filter(lambda name: name not in (b".", b"..")),
)


@st.composite
def trees(draw: st.DrawFn) -> dict[bytes, bool]:
    paths: dict[bytes, bool] = {}
    for parts in draw(st.lists(st.lists(names, min_size=1, max_size=4), min_size=1, max_size=12)):
        for depth in range(1, len(parts)):
            paths[b"/".join(parts[:depth])] = DIR
        paths.setdefault(b"/".join(parts), draw(st.booleans()))
    return paths


@pytest.mark.slow
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees(), st.data())
def test_our_rules_agree_with_git_check_ignore(
    paths: dict[bytes, bool], data: st.DataObject
) -> None:
    dirs = [b"", *sorted(path for path, is_dir in paths.items() if is_dir)]
    places = st.sampled_from([b"", INFO, GLOBAL, *dirs])
    files = data.draw(st.dictionaries(places, texts, min_size=1, max_size=4), label="ignore files")
    project = data.draw(st.sampled_from(dirs), label="project")
    if any(STARS_AFTER_HEAD.search(text) for text in files.values()):
        assume(git_counts_stars_after_a_literal_head_as_leading())
    with tempfile.TemporaryDirectory() as root:
        theirs = Tree(os.fsencode(root), paths, files).ignored()
    assert _ours(paths, files, b"") == theirs
    if project not in theirs and not any(project.startswith(path + b"/") for path in theirs):
        below = {path for path in theirs if path.startswith(project + b"/" if project else b"")}
        assert _ours(paths, files, project) == below


def test_every_character_class_holds_the_bytes_it_holds_for_git(tmp_path: os.PathLike[str]) -> None:
    classes = [b"alnum", b"alpha", b"blank", b"cntrl", b"digit", b"graph"]
    classes += [b"lower", b"print", b"punct", b"space", b"upper", b"xdigit"]
    paths = dict.fromkeys(classes, DIR)
    for char in set(range(1, 256)) - set(b"/"):
        paths.update((b"%s/-%c" % (name, char), FILE) for name in classes)
    files = {b"": b"".join(b"/%s/-[[:%s:]]\n" % (name, name) for name in classes)}
    assert _ours(paths, files, b"") == Tree(os.fsencode(tmp_path), paths, files).ignored()
