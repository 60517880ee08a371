"""`rewind diff`: patches that git takes, one line for what has no lines, and a safe terminal."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from chat_scene import Turns
from cli.conftest import InProcess
from rewind.cli.output.patch import for_terminal
from rewind.snapshot.diff.patch import quoted
from rewind_cli import Rewind, differences, paths_of, tree_state


def test_diff_shows_what_changed_since_the_last_checkpoint(two: Rewind) -> None:
    app = two.project / "src/app.py"
    app.write_text(app.read_text().replace("line 10\n", "LINE 10\n"))
    assert two.ok("diff").out.splitlines() == [
        "diff --git a/src/app.py b/src/app.py", "--- a/src/app.py", "+++ b/src/app.py",
        "@@ -7,7 +7,7 @@", " line 7", " line 8", " line 9", "-line 10", "+LINE 10", " line 11",
        " line 12", " line 13"]


def test_diff_between_two_checkpoints(two: Rewind) -> None:
    text = two.ok("diff", "prev", "last").out
    assert "-# one\n+# two\n" in text
    assert "new file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n" in text
    back = two.ok("diff", "last", "prev").out
    assert "deleted file mode 100644\n--- a/new.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-new\n" in back


def test_a_range_of_checkpoints_is_what_changed_between_them(two: Rewind) -> None:
    assert two.ok("diff", "prev..last").out == two.ok("diff", "prev", "last").out
    assert "Not a range: prev.." in two.fails(2, "diff", "prev..")


def test_a_range_of_turns_is_what_they_did(cli: InProcess) -> None:
    turns = Turns(cli)
    for number in range(1, 5):
        turns.turn(f"task {number}", work=f"{number}\n")
    turns.write(work="by hand\n")
    patch = cli.ok("diff", "t2..t3").out.splitlines()
    assert [line for line in patch if line in ("-1", "+3")] == ["-1", "+3"]
    assert "+by hand" not in patch


def test_diff_of_nothing_prints_nothing(two: Rewind) -> None:
    done = two.ok("diff")
    assert done.out == "" and "Nothing differs" in done.err
    answer = two.json("diff")
    assert answer["added"] == answer["modified"] == answer["deleted"] == []


def test_diff_of_named_paths_only(two: Rewind) -> None:
    assert paths_of(two.json("diff", "prev", "--", "new.txt")["added"]) == {b"new.txt"}
    assert two.json("diff", "prev", "--", "new.txt")["modified"] == []
    assert "README" not in two.ok("diff", "prev", "last", "--", "new.txt").out
    two.fails(12, "diff", "--", "no-such-file")


def test_diff_marks_a_missing_newline_at_the_end(two: Rewind) -> None:
    (two.project / "new.txt").write_text("new")
    assert two.ok("diff").out.endswith("-new\n+new\n\\ No newline at end of file\n")


def test_a_binary_file_is_one_line_with_its_sizes(two: Rewind) -> None:
    (two.project / "logo").write_bytes(b"\0" * 1200)
    assert two.ok("diff").out.splitlines()[-1] == "Binary file logo added (1.2 KB)"
    two.ok("save")
    (two.project / "logo").write_bytes(b"\0" * 3072)
    assert two.ok("diff").out == "Binary file logo changed (1.2 KB -> 3.0 KB)\n"
    (two.project / "logo").unlink()
    assert two.ok("diff").out.splitlines()[-1] == "Binary file logo deleted (1.2 KB)"


def test_a_large_file_is_one_line(two: Rewind) -> None:
    (two.project / "large.txt").write_bytes(b"a line\n" * 400_000)
    (two.project / "long.txt").write_bytes(b"\n" * 60_000)
    two.ok("save")
    (two.project / "large.txt").write_bytes(b"a line\n" * 400_001)
    (two.project / "long.txt").write_bytes(b"\n" * 60_001)
    lines = two.ok("diff").out.splitlines()
    assert len(lines) == 2 and all("too large to be shown" in line for line in lines)


def test_modes_links_and_empty_directories_are_told(two: Rewind) -> None:
    (two.project / "link").symlink_to("README.md")
    (two.project / "gone").mkdir()
    two.ok("save")
    (two.project / "new.txt").chmod(0o755)
    (two.project / "link").unlink()
    (two.project / "link").symlink_to("new.txt")
    (two.project / "gone").rmdir()
    (two.project / "fresh").mkdir()
    (two.project / "src").chmod(0o700)
    text = two.ok("diff").out
    assert "diff --git a/new.txt b/new.txt\nold mode 100644\nnew mode 100755\n" in text
    assert "-README.md\n\\ No newline at end of file\n+new.txt\n\\ No newline" in text
    assert "Empty directory gone/ deleted\n" in text
    assert "Empty directory fresh/ added\n" in text
    assert "Directory src/ changed its mode (755 -> 700)\n" in text


def test_a_file_that_became_a_link_is_gone_and_new(two: Rewind) -> None:
    (two.project / "new.txt").unlink()
    (two.project / "new.txt").symlink_to("README.md")
    text = two.ok("diff").out
    assert "deleted file mode 100644" in text and "new file mode 120000" in text
    assert paths_of(two.json("diff")["modified"]) == {b"new.txt"}


def test_git_apply_takes_the_patch(rewind: Rewind, tmp_path: Path) -> None:
    """A real process, for the patch is bytes."""
    top = os.fsencode(rewind.project)
    (rewind.project / "src").mkdir()
    (rewind.project / "src/app.py").write_text("".join(f"{n}\n" for n in range(100)))
    (rewind.project / "gone").write_text("gone\n")
    (rewind.project / "latin1").write_bytes(b"gr\xfc\xdfe\n")
    (rewind.project / "link").symlink_to("gone")
    rewind.init()
    rewind.ok("restore", "last", "--to", str(tmp_path / "copy"))
    text = (rewind.project / "src/app.py").read_text()
    (rewind.project / "src/app.py").write_text(text.replace("40\n", "forty\n").replace("90\n", ""))
    (rewind.project / "gone").unlink()
    (rewind.project / "latin1").write_bytes(b"gr\xfc\xdfe\r\n\x1b[31mred")
    (rewind.project / "link").unlink()
    (rewind.project / "link").symlink_to("src")
    for name in (b"with space", b'tab\tand "quote"', b"new\nline", b"bad\xff", "grün".encode(), b"-x"):
        with open(os.path.join(top, name), "wb") as file:
            file.write(b"content\n")
    (rewind.project / "empty-file").touch()
    done = subprocess.run([*rewind.command, "diff"], cwd=rewind.project, env=rewind.env,
                          capture_output=True, check=True)
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], cwd=tmp_path / "copy",
                   input=done.stdout, env=rewind.env, check=True)
    assert differences(tree_state(rewind.project), tree_state(tmp_path / "copy")) == {}


def test_stat_draws_bars_and_counts(two: Rewind) -> None:
    app = two.project / "src/app.py"
    app.write_text("line 1\n" * 2 + app.read_text().replace("line 9\n", ""))
    (two.project / "logo").write_bytes(b"\0\0")
    (two.project / "new.txt").chmod(0o700)
    (two.project / "d").mkdir()
    assert two.ok("diff", "--stat").out.splitlines() == [
        " d/         | empty directory added",
        " logo       | Bin 2 B",
        " new.txt    | mode 644 -> 700",
        " src/app.py | 3 ++-",
        " 4 paths changed, 2 insertions(+), 1 deletion(-)"]


def test_stat_fits_into_80_columns(two: Rewind) -> None:
    deep = two.project / ("a-long-name-for-a-directory/" * 5)
    deep.mkdir(parents=True)
    (deep / "file.txt").write_text("x\n" * 5000)
    (two.project / "small.txt").write_text("x\n")
    lines = two.ok("diff", "--stat").out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "…" in lines[0] and "file.txt" in lines[0] and "5000 ++++" in lines[0]
    assert lines[1].endswith("|    1 +")


def test_json_has_the_fields_of_the_contract_and_stat_adds_counts(two: Rewind) -> None:
    answer = two.json("diff", "prev")
    assert paths_of(answer["added"]) == {b"new.txt"} and answer["deleted"] == []
    (item,) = answer["modified"]
    assert (item["path"], item["kind"], item["oldSize"], item["newMode"]) == (
        "README.md", "file", 6, "0644")
    assert "insertions" not in item and answer["new"] is None
    answer = two.json("diff", "prev", "--stat")
    assert (answer["insertions"], answer["deletions"]) == (2, 1)
    assert answer["modified"][0]["insertions"] == 1


def test_a_file_that_is_replaced_by_a_link_while_we_look_is_not_read_through(
        two: Rewind, monkeypatch: pytest.MonkeyPatch) -> None:
    import rewind.cli.look.diff as command

    secret = two.project.parent / "secret"
    secret.write_text("secret\n")
    (two.project / "new.txt").write_text("changed\n")
    write = command._print_patch

    def later(difference: object) -> None:
        (two.project / "new.txt").unlink()
        (two.project / "new.txt").symlink_to(secret)
        write(difference)  # type: ignore[arg-type]

    monkeypatch.setattr(command, "_print_patch", later)
    text = two.ok("diff").out
    assert "secret\n" not in text and "cannot be read now" in text


def test_nothing_in_a_line_can_steer_a_terminal() -> None:
    assert for_terminal(("+", b"+\x1b]0;x\x07\tb\xff\r")) == "+\\x1b]0;x\\x07\tb\\xff\\r"
    assert for_terminal(("", "+\u202egnp".encode())) == "+\\u202egnp"
    assert for_terminal(("", b" context\r")) == " context"


def test_names_are_quoted_as_git_does() -> None:
    assert quoted("grün x".encode()) == "grün x".encode()
    assert quoted(b'a"b\n\xff\x01') == b'"a\\"b\\n\\377\\001"'
